#include "server/query/gpu_roster.h"

#include "base/uuid.h"

/* Labels that tell the series of one process apart. */
static const char *const of_series[] = { "cuda_class", "cuda_error", "gpu",
	                                 "reason",     "recovered",  "state" };

void gpu_roster_init(struct gpu_roster *roster, const struct gpu_question *question)
{
	const struct uuid random = uuid_random();

	*roster = (struct gpu_roster){
		.question = question,
		.arena = question->query.context.arena,
		.names_class = gpu_question_names_class(question),
	};
	memcpy(&roster->secret, random.bytes, sizeof(roster->secret));
}

void gpu_roster_begin_scan(struct gpu_roster *roster)
{
	if (roster->role_capacity > 0)
		memset(roster->roles, 0, roster->role_capacity * sizeof(struct gpu_role *));
}

static struct hash128 process_key(const struct gpu_roster *roster, const struct label_set *labels)
{
	const struct hash128 parts[] = {
		hash128_str(roster->secret, label_set_value(labels, STR("hostname"))),
		hash128_str(roster->secret, label_set_value(labels, STR("pid"))),
		hash128_str(roster->secret, label_set_value(labels, STR("service_name"))),
	};

	return hash128(roster->secret, parts, sizeof(parts));
}

uint32_t gpu_roster_find(const struct gpu_roster *roster, const struct label_set *labels)
{
	return intern_find(&roster->process_ids, process_key(roster, labels));
}

static bool is_of_series(struct str name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(of_series); i++)
		if (str_equals(name, of_series[i]))
			return true;
	return str_starts_with(name, STR("__"));
}

/* A deep copy of the labels that all series of a process share. */
static bool copy_process_labels(struct arena *arena, const struct label_set *labels,
                                struct label_set *out)
{
	struct label_set kept = { arena_array(arena, labels->count + 1, sizeof(struct label)), 0 };

	if (!kept.labels)
		return false;
	for (size_t i = 0; i < labels->count; i++)
		if (!is_of_series(labels->labels[i].name))
			kept.labels[kept.count++] = labels->labels[i];
	return label_set_copy(&kept, arena, out);
}

static int add_node(struct gpu_roster *roster, const struct label_set *labels, uint32_t *out,
                    struct error *err)
{
	const struct str hostname = label_set_value(labels, STR("hostname"));
	bool is_new;
	const uint32_t node = intern_add(&roster->node_ids, roster->arena,
	                                 hash128_str(roster->secret, hostname), &is_new);

	if (node == INTERN_NONE)
		return arena_error(roster->arena, err);
	if (is_new) {
		if (!ARENA_GROW(roster->arena, roster->nodes, node, roster->node_capacity))
			return arena_error(roster->arena, err);
		roster->nodes[node].hostname = arena_copy(roster->arena, hostname);
		if (!roster->nodes[node].hostname.data)
			return arena_error(roster->arena, err);
	}
	*out = node;
	return 0;
}

static int add_process(struct gpu_roster *roster, const struct label_set *labels, uint32_t node,
                       uint32_t *out, struct error *err)
{
	bool is_new;
	const uint32_t number = intern_add(&roster->process_ids, roster->arena,
	                                   process_key(roster, labels), &is_new);
	struct gpu_process *process;

	if (number == INTERN_NONE)
		return arena_error(roster->arena, err);
	*out = number;
	if (!is_new)
		return 0;
	if (!ARENA_GROW(roster->arena, roster->processes, number, roster->process_capacity))
		return arena_error(roster->arena, err);
	process = &roster->processes[number];
	*process =
		(struct gpu_process){ .node = node, .first_ns = INT64_MAX, .last_ns = INT64_MIN };
	if (!copy_process_labels(roster->arena, labels, &process->labels))
		return arena_error(roster->arena, err);
	process->pid = label_set_value(&process->labels, STR("pid"));
	return 0;
}

/* Learns what a series is. */
static int make_role(struct gpu_roster *roster, const struct label_set *labels,
                     struct gpu_role *role, struct error *err)
{
	role->measure = gpu_measure_of(labels);
	role->process = GPU_NOBODY;
	if (role->measure == GPU_MEASURE_COUNT)
		return 0;
	if (!label_set_copy(labels, roster->arena, &role->labels))
		return arena_error(roster->arena, err);
	labels = &role->labels;
	role->memory_class = label_set_value(labels, STR("cuda_class"));
	role->gpu = label_set_value(labels, STR("gpu"));
	role->is_asked = gpu_question_asks(roster->question, labels);
	role->is_counted = role->is_asked &&
	                   (roster->names_class || gpu_class_is_on_device(role->memory_class));
	if (add_node(roster, labels, &role->node, err) < 0)
		return -1;
	if (gpu_measure_is_of_device(role->measure) || gpu_is_heartbeat(labels))
		return 0;
	if (add_process(roster, labels, role->node, &role->process, err) < 0)
		return -1;
	roster->processes[role->process].is_asked |= role->is_asked;
	return 0;
}

const struct gpu_role *gpu_roster_role(struct gpu_roster *roster, const struct store_point *point,
                                       struct error *err)
{
	struct gpu_role *role;

	while (point->series >= roster->role_capacity) {
		const size_t before = roster->role_capacity;

		if (!arena_grow(roster->arena, (void **)&roster->roles, sizeof(*roster->roles),
		                &roster->role_capacity)) {
			(void)arena_error(roster->arena, err);
			return NULL;
		}
		memset(roster->roles + before, 0,
		       (roster->role_capacity - before) * sizeof(*roster->roles));
	}
	role = roster->roles[point->series];
	if (role)
		return role;
	role = arena_alloc(roster->arena, sizeof(*role));
	if (!role) {
		(void)arena_error(roster->arena, err);
		return NULL;
	}
	if (make_role(roster, point->labels, role, err) < 0)
		return NULL;
	roster->roles[point->series] = role;
	return role;
}

struct str gpu_roster_process_id(const struct gpu_roster *roster, uint32_t process)
{
	const struct gpu_process *it = &roster->processes[process];
	const struct str hostname = roster->nodes[it->node].hostname;
	const struct str name =
		it->pid.length > 0 ? it->pid : label_set_value(&it->labels, STR("service_name"));

	const int64_t first_ns = it->first_ns == INT64_MAX ? 0 : it->first_ns; /* no tick yet */

	return arena_printf(roster->arena, "%.*s:%.*s:%lld", STR_ARGS(hostname), STR_ARGS(name),
	                    (long long)(first_ns / NS_PER_MS));
}
