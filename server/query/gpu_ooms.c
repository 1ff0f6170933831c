#include "server/query/gpu_ooms.h"

#include <inttypes.h>
#include <stdlib.h>

#include "server/query/gpu_moments.h"
#include "server/query/gpu_place.h"
#include "server/query/gpu_starts.h"

#define DEVICE_USED  "gpu_memory_oom:device_used_space:bytes:space:bytes"
#define DEVICE_TOTAL "gpu_memory_oom:device_total_space:bytes:space:bytes"

struct event {
	struct gpu_place place;
	struct gpu_role role;
	struct label_set labels; /* all of its series */
	int64_t requested_bytes;
};

struct ooms {
	const struct gpu_question *question;
	struct arena *arena;
	struct gpu_roster roster;
	struct gpu_stacks stacks;
	struct gpu_held held; /* of the event at hand */

	bool has_cursor;
	struct gpu_place cursor;
	struct event *events; /* in order; the last one only says that there are more */
	size_t count;
	size_t most;
};

/* ---- which events ---- */

/* The event of a point; its labels are those of the point. */
static struct event event_of(const struct gpu_role *role, const struct store_point *point)
{
	return (struct event){
		.place = gpu_place_of(point->time_unix_ns, point->labels),
		.role = *role,
		.labels = *point->labels,
		.requested_bytes = point->total,
	};
}

/* Keeps the first ones of those that come in any order, with copies of their labels. */
static int keep(struct ooms *run, const struct event *event, struct error *err)
{
	size_t at = run->count;

	if (run->has_cursor && gpu_place_compare(&event->place, &run->cursor) <= 0)
		return 0;
	while (at > 0 && gpu_place_compare(&event->place, &run->events[at - 1].place) < 0)
		at--;
	if (at == run->most)
		return 0;
	if (run->count < run->most)
		run->count++;
	memmove(&run->events[at + 1], &run->events[at],
	        (run->count - at - 1) * sizeof(*run->events));
	run->events[at] = *event;
	return label_set_copy(&event->labels, run->arena, &run->events[at].labels)
	               ? 0
	               : arena_error(run->arena, err);
}

static int add_point(void *context, const struct store_point *point, struct error *err)
{
	struct ooms *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);

	if (!role)
		return -1;
	if (role->measure == GPU_OOM_BYTES && role->is_asked) {
		const struct event event = event_of(role, point);

		return keep(run, &event, err);
	}
	return 0;
}

static int begin(struct ooms *run, const struct gpu_question *question, size_t most,
                 struct error *err)
{
	*run = (struct ooms){
		.question = question,
		.arena = question->query.context.arena,
		.most = most,
	};
	gpu_roster_init(&run->roster, question, GPU_WHOLE_NODES);
	run->events = arena_array(run->arena, most + 1, sizeof(*run->events));
	if (!run->events)
		return arena_error(run->arena, err);
	run->held.stacks = &run->stacks;
	return gpu_stacks_init(&run->stacks, run->arena, err);
}

static int scan_events(struct ooms *run, enum gpu_scope scope, struct store_range range,
                       store_point_visitor visit, void *context, struct error *err)
{
	const struct gpu_read read = {
		.measures = GPU_MEASURE_BIT(GPU_OOM_BYTES),
		.scope = scope,
		.range = range,
	};

	gpu_roster_begin_scan(&run->roster);
	return gpu_question_scan(run->question, &read, visit, context, err);
}

/* ---- what belongs to an event ---- */

/* Profiles of a type at the event's moment; which others is what the labels say. */
static int read_moment(struct ooms *run, const struct event *event, struct str type,
                       const struct label_set *labels, store_samples_visitor visit, void *context,
                       struct error *err)
{
	const struct read_query_context *asked = &run->question->query.context;
	CLEANUP(arena_freep) struct arena *moment = arena_branch(run->arena);
	struct selector selector;
	const struct store_query query = {
		.tenant = asked->tenant,
		.selector = &selector,
		.range = { event->place.time_ns, event->place.time_ns },
		.cancel = asked->cancel,
		.arena = moment,
	};
	int status;

	selector_init(&selector, moment);
	status = selector_add_equal(&selector, STR("__profile_type__"), type, err);
	for (size_t i = 0; status == 0 && i < labels->count; i++)
		if (!str_starts_with(labels->labels[i].name, STR("__")))
			status = selector_add_equal(&selector, labels->labels[i].name,
			                            labels->labels[i].value, err);
	gpu_stacks_begin_scan(&run->stacks);
	if (status == 0)
		status = store_scan_samples(asked->store, &query, visit, context, err);
	selector_fini(&selector);
	return status;
}

static int add_held(void *context, const struct store_samples *samples, struct error *err)
{
	struct ooms *run = context;

	return gpu_held_add(&run->held, samples, err);
}

struct found_value {
	int64_t value;
	bool is_found;
};

static int find_value(void *context, const struct store_samples *samples, struct error *err)
{
	struct found_value *found = context;

	(void)err;
	for (size_t i = 0; i < samples->count; i++) {
		found->value = gpu_bytes_add(found->value, samples->values[i]);
		found->is_found = true;
	}
	return 0;
}

/* It may be any of the node's devices: then what was held on all of them counts. */
static bool is_unknown_gpu(const char *name, struct str value)
{
	return strcmp(name, "gpu") == 0 && str_equals(value, "unknown");
}

/* The labels that what was held at the event's moment has in common. */
static void holder_labels(const struct event *event, struct label labels[static 3],
                          struct label_set *out)
{
	static const char *const shared[] = { "hostname", "gpu" };

	*out = (struct label_set){ labels, 0 };
	for (size_t i = 0; i < ARRAY_LENGTH(shared); i++) {
		const struct str *value = label_set_find(&event->labels, str_of(shared[i]));

		if (value && !is_unknown_gpu(shared[i], *value))
			labels[out->count++] = (struct label){ str_of(shared[i]), *value };
	}
	labels[out->count++] = (struct label){ STR("reason"), STR("oom") };
}

static int read_stack(struct ooms *run, const struct event *event, struct gpu_oom *out,
                      struct error *err)
{
	struct gpu_held_top top;

	gpu_held_clear(&run->held);
	if (read_moment(run, event, gpu_measure_type(GPU_OOM_BYTES), &event->labels, add_held, run,
	                err) < 0 ||
	    gpu_held_take_top(&run->held, 1, &top, err) < 0)
		return -1;
	if (top.count > 0)
		out->stack = top.rows[0].stack;
	return 0;
}

static int read_held(struct ooms *run, const struct event *event, struct gpu_oom *out,
                     struct error *err)
{
	struct label labels[3];
	struct label_set set;

	holder_labels(event, labels, &set);
	gpu_held_clear(&run->held);
	if (read_moment(run, event, gpu_measure_type(GPU_PEAK_BYTES), &set, add_held, run, err) < 0)
		return -1;
	out->knows_live = run->held.count > 0;
	out->live_bytes = run->held.total;
	return gpu_held_take_top(&run->held, GPU_OOM_TOP_MAX, &out->top, err);
}

static int read_device(struct ooms *run, const struct event *event, struct gpu_oom *out,
                       struct error *err)
{
	struct found_value used = { 0 };
	struct found_value total = { 0 };

	if (read_moment(run, event, STR(DEVICE_TOTAL), &event->labels, find_value, &total, err) < 0)
		return -1;
	if (!total.is_found)
		return 0;
	if (read_moment(run, event, STR(DEVICE_USED), &event->labels, find_value, &used, err) < 0)
		return -1;
	out->knows_device = true;
	out->device_used_bytes = used.value;
	out->device_total_bytes = total.value;
	return 0;
}

static struct str event_id(const struct ooms *run, const struct event *event)
{
	const struct label_set *labels = &event->labels;
	const struct str hostname = label_set_value(labels, STR("hostname"));
	const struct str *pid = label_set_find(labels, STR("pid"));
	const struct str name = pid ? *pid : label_set_value(labels, STR("service_name"));

	return arena_printf(run->arena, "%.*s:%.*s:%" PRId64, STR_ARGS(hostname), STR_ARGS(name),
	                    event->place.time_ns / NS_PER_MS);
}

static enum gpu_oom_recovery recovery_of(const struct label_set *labels)
{
	const struct str value = label_set_value(labels, STR("recovered"));

	if (str_equals(value, "true"))
		return GPU_OOM_RECOVERED;
	return str_equals(value, "false") ? GPU_OOM_NOT_RECOVERED : GPU_OOM_RECOVERY_UNKNOWN;
}

static int describe(struct ooms *run, const struct event *event, struct gpu_oom *out,
                    struct error *err)
{
	const struct label_set *labels = &event->labels;

	*out = (struct gpu_oom){
		.id = event_id(run, event),
		.time_ms = event->place.time_ns / NS_PER_MS,
		.labels = run->roster.processes[event->role.process].labels,
		.gpu = event->role.gpu,
		.cuda_error = label_set_value(labels, STR("cuda_error")),
		.requested_bytes = event->requested_bytes,
		.recovery = recovery_of(labels),
	};
	if (!out->id.data)
		return arena_error(run->arena, err);
	if (read_stack(run, event, out, err) < 0 || read_held(run, event, out, err) < 0)
		return -1;
	return read_device(run, event, out, err);
}

int gpu_ooms_list(const struct gpu_question *question, struct str cursor, size_t limit,
                  struct gpu_oom_list *out, struct error *err)
{
	struct ooms run;

	*out = (struct gpu_oom_list){ 0 };
	if (begin(&run, question, limit + 1, err) < 0)
		return -1;
	run.has_cursor = cursor.length > 0;
	if (run.has_cursor && gpu_place_parse(cursor, &run.cursor, err) < 0)
		return -1;
	if (scan_events(&run, GPU_PROCESSES, question->query.range, add_point, &run, err) < 0)
		return -1;
	out->events = arena_array(run.arena, run.count + 1, sizeof(*out->events));
	if (!out->events)
		return arena_error(run.arena, err);
	out->count = run.count < limit ? run.count : limit;
	for (size_t i = 0; i < out->count; i++)
		if (describe(&run, &run.events[i], &out->events[i], err) < 0)
			return -1;
	if (run.count <= limit)
		return 0;
	out->next = gpu_place_format(&run.events[limit - 1].place, run.arena);
	return out->next.data ? 0 : arena_error(run.arena, err);
}

/* ---- one event, with its processes ---- */

/* What one process held, in series by class or GPU. */
struct holder {
	struct gpu_held held;
	uint32_t process; /* of the roster; GPU_NOBODY: not told */
};

struct holders {
	struct ooms *run;
	struct holder *items;
	size_t count;
	size_t capacity;
};

static int add_holder(void *context, const struct store_samples *samples, struct error *err)
{
	struct holders *holders = context;
	struct ooms *run = holders->run;
	const uint32_t process = gpu_roster_find(&run->roster, samples->labels);
	size_t at = 0;

	while (at < holders->count && holders->items[at].process != process)
		at++;
	if (at == holders->count) {
		if (!ARENA_GROW(run->arena, holders->items, holders->count, holders->capacity))
			return arena_error(run->arena, err);
		holders->items[holders->count++] =
			(struct holder){ { .stacks = &run->stacks }, process };
	}
	return gpu_held_add(&holders->items[at].held, samples, err);
}

static int compare_holders(const void *left, const void *right)
{
	const struct holder *a = left;
	const struct holder *b = right;
	const int order = (b->held.total > a->held.total) - (b->held.total < a->held.total);

	return order ? order : (a->process > b->process) - (a->process < b->process);
}

/* Since when a process is there is part of its id. */
static int add_tick(void *context, const struct store_point *point, struct error *err)
{
	struct ooms *run = context;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);

	if (!role)
		return -1;
	if (role->process != GPU_NOBODY && gpu_role_ticks(role))
		gpu_process_see(&run->roster.processes[role->process], point->time_unix_ns);
	return 0;
}

static int see_ticks(struct ooms *run, int64_t time_ns, struct error *err)
{
	const struct gpu_read read = {
		.measures = GPU_TICKING | GPU_MEASURE_BIT(GPU_PEAK_BYTES),
		.scope = GPU_WHOLE_NODES,
		/* the tick of what came and went within one stands behind its OOM */
		.range = { time_ns - GPU_TICK_SLACK_NS, time_ns + GPU_TICK_SLACK_NS },
	};

	gpu_roster_begin_scan(&run->roster);
	return gpu_question_scan(run->question, &read, add_tick, run, err);
}

static int find_starts(const struct holders *holders, int64_t time_ns, struct error *err)
{
	struct ooms *run = holders->run;
	uint32_t *wanted = arena_array_raw(run->arena, holders->count + 1, sizeof(*wanted));
	size_t count = 0;

	if (!wanted)
		return arena_error(run->arena, err);
	for (size_t i = 0; i < holders->count; i++)
		if (holders->items[i].process != GPU_NOBODY)
			wanted[count++] = holders->items[i].process;
	return gpu_starts_find(&run->roster, wanted, count, time_ns - GPU_TICK_SLACK_NS, err);
}

static int make_process(struct ooms *run, struct holder *holder, struct gpu_oom_process *out,
                        struct error *err)
{
	*out = (struct gpu_oom_process){ .live_bytes = holder->held.total };
	if (holder->process == GPU_NOBODY)
		return gpu_held_take_top(&holder->held, GPU_OOM_TOP_MAX, &out->top, err);
	out->id = gpu_roster_process_id(&run->roster, holder->process);
	out->labels = run->roster.processes[holder->process].labels;
	if (!out->id.data)
		return arena_error(run->arena, err);
	return gpu_held_take_top(&holder->held, GPU_OOM_TOP_MAX, &out->top, err);
}

static int read_processes(struct ooms *run, const struct event *event, struct gpu_oom *out,
                          struct error *err)
{
	struct holders holders = { .run = run };
	struct label labels[3];
	struct label_set set;

	if (see_ticks(run, event->place.time_ns, err) < 0)
		return -1;
	holder_labels(event, labels, &set);
	if (read_moment(run, event, gpu_measure_type(GPU_PEAK_BYTES), &set, add_holder, &holders,
	                err) < 0 ||
	    find_starts(&holders, event->place.time_ns, err) < 0)
		return -1;
	out->processes = arena_array(run->arena, holders.count + 1, sizeof(*out->processes));
	if (!out->processes)
		return arena_error(run->arena, err);
	if (holders.count > 1)
		qsort(holders.items, holders.count, sizeof(*holders.items), compare_holders);
	for (size_t i = 0; i < holders.count; i++)
		if (make_process(run, &holders.items[i], &out->processes[i], err) < 0)
			return -1;
	out->process_count = holders.count;
	return 0;
}

struct named_event {
	struct ooms *run;
	struct str id;
};

static int match_point(void *context, const struct store_point *point, struct error *err)
{
	struct named_event *named = context;
	struct ooms *run = named->run;
	const struct gpu_role *role = gpu_roster_role(&run->roster, point, err);
	struct event event;
	struct str id;

	if (!role)
		return -1;
	if (role->measure != GPU_OOM_BYTES)
		return 0;
	event = event_of(role, point);
	id = event_id(run, &event);
	if (!id.data)
		return arena_error(run->arena, err);
	return str_equal(id, named->id) ? keep(run, &event, err) : 0;
}

static int refuse_id(struct str id, struct error *err)
{
	return error_set(err, ERROR_NOT_FOUND, "there is no OOM '%.*s'",
	                 STR_ARGS(str_first(id, 128)));
}

/* The time at the end of an id. */
static int time_of(struct str id, int64_t *out_ms, struct error *err)
{
	size_t digits = 0;

	while (digits < id.length && id.data[id.length - 1 - digits] != ':')
		digits++;
	if (digits == id.length || !str_to_i64(str_skip(id, id.length - digits), out_ms) ||
	    *out_ms <= 0 || *out_ms > INT64_MAX / NS_PER_MS - 1)
		return refuse_id(id, err);
	return 0;
}

int gpu_ooms_find(struct gpu_question *question, struct str id, struct gpu_oom *out,
                  struct error *err)
{
	struct named_event named = { .id = id };
	struct store_range range;
	struct ooms run;
	int64_t time_ms = 0;

	if (time_of(id, &time_ms, err) < 0 ||
	    gpu_question_set_range(question, time_ms, time_ms, err) < 0 ||
	    begin(&run, question, 1, err) < 0)
		return -1;
	named.run = &run;
	range = (struct store_range){ time_ms * NS_PER_MS, time_ms * NS_PER_MS + NS_PER_MS - 1 };
	if (scan_events(&run, GPU_WHOLE_NODES, range, match_point, &named, err) < 0)
		return -1;
	if (run.count == 0)
		return refuse_id(id, err);
	if (describe(&run, &run.events[0], out, err) < 0)
		return -1;
	return read_processes(&run, &run.events[0], out, err);
}
