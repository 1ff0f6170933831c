#include "server/query/gpu_roster.h"

#include "base/uuid.h"

void gpu_roster_init(struct gpu_roster *roster, const struct gpu_question *question,
                     enum gpu_scope scope)
{
	const struct uuid random = uuid_random();

	*roster = (struct gpu_roster){
		.question = question,
		.scope = scope,
		.arena = question->query.context.arena,
		.names_class = gpu_question_names_class(question),
	};
	memcpy(&roster->secret, random.bytes, sizeof(roster->secret));
}

void gpu_roster_begin_scan(struct gpu_roster *roster)
{
	if (roster->role_capacity > 0)
		memset(roster->roles, 0, roster->role_capacity * sizeof(*roster->roles));
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

/* A deep copy of the labels that all series of a process share. */
static bool copy_process_labels(struct arena *arena, const struct label_set *labels,
                                struct label_set *out)
{
	struct label_set kept = { arena_array(arena, labels->count + 1, sizeof(struct label)), 0 };

	if (!kept.labels)
		return false;
	for (size_t i = 0; i < labels->count; i++)
		if (!gpu_label_is_of_series(labels->labels[i].name))
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

/* One copy of a name that many series have. */
static int share_text(struct gpu_roster *roster, struct str text, struct str *out,
                      struct error *err)
{
	bool is_new;
	const uint32_t number = intern_add(&roster->text_ids, roster->arena,
	                                   hash128_str(roster->secret, text), &is_new);

	if (number == INTERN_NONE)
		return arena_error(roster->arena, err);
	if (is_new) {
		if (!ARENA_GROW(roster->arena, roster->texts, number, roster->text_capacity))
			return arena_error(roster->arena, err);
		roster->texts[number] = arena_copy(roster->arena, text);
		if (!roster->texts[number].data)
			return arena_error(roster->arena, err);
	}
	*out = roster->texts[number];
	return 0;
}

static bool is_in_scope(const struct gpu_roster *roster, const struct gpu_role *role,
                        const struct label_set *labels)
{
	return roster->scope == GPU_WHOLE_NODES || role->is_asked ||
	       gpu_question_asks_process(roster->question, labels);
}

/* Learns what a series is. */
static int make_role(struct gpu_roster *roster, const struct label_set *labels,
                     struct gpu_role *role, struct error *err)
{
	role->measure = gpu_measure_of(labels);
	role->process = GPU_NOBODY;
	if (role->measure == GPU_MEASURE_COUNT)
		return 0;
	if (share_text(roster, label_set_value(labels, STR("cuda_class")), &role->memory_class,
	               err) < 0 ||
	    share_text(roster, label_set_value(labels, STR("gpu")), &role->gpu, err) < 0)
		return -1;
	role->is_asked = gpu_question_asks(roster->question, labels);
	role->is_counted = role->is_asked &&
	                   (roster->names_class || gpu_class_is_on_device(role->memory_class));
	if (add_node(roster, labels, &role->node, err) < 0)
		return -1;
	if (gpu_measure_is_of_device(role->measure) ||
	    (gpu_role_ticks(role) && gpu_is_heartbeat(labels)) ||
	    !is_in_scope(roster, role, labels))
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
	role = &roster->roles[point->series];
	if (role->is_known)
		return role;
	if (make_role(roster, point->labels, role, err) < 0)
		return NULL;
	role->is_known = true;
	return role;
}

const uint32_t *gpu_roster_asked(const struct gpu_roster *roster, size_t *out_count)
{
	const size_t count = gpu_roster_process_count(roster);
	uint32_t *asked = arena_array_raw(roster->arena, count + 1, sizeof(*asked));

	*out_count = 0;
	for (uint32_t i = 0; asked && i < count; i++)
		if (roster->processes[i].is_asked)
			asked[(*out_count)++] = i;
	return asked;
}

struct str gpu_roster_process_name(const struct gpu_roster *roster, uint32_t process)
{
	const struct gpu_process *it = &roster->processes[process];

	return it->pid.length > 0 ? it->pid : label_set_value(&it->labels, STR("service_name"));
}

struct str gpu_roster_process_id(const struct gpu_roster *roster, uint32_t process)
{
	const struct gpu_process *it = &roster->processes[process];
	const struct str hostname = roster->nodes[it->node].hostname;
	const struct str name = gpu_roster_process_name(roster, process);
	const int64_t first_ns = it->first_ns == INT64_MAX ? 0 : it->first_ns; /* no tick yet */

	return arena_printf(roster->arena, "%.*s:%.*s:%lld", STR_ARGS(hostname), STR_ARGS(name),
	                    (long long)(first_ns / NS_PER_MS));
}
