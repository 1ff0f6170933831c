#include "formats/jfr_events.h"

#define NO_KIND UINT8_MAX

enum event_slot {
	EVENT_STACK_TRACE,
	EVENT_STATE,
	EVENT_CONTEXT,
	EVENT_SPAN,
	EVENT_SPAN_NAME,
	EVENT_SAMPLES,
	EVENT_DURATION,
	EVENT_TLAB_SIZE,
	EVENT_ALLOCATION_SIZE,
	EVENT_WEIGHT,
	EVENT_SIZE,
	EVENT_NAME,
	EVENT_VALUE,
	EVENT_NOTHING, /* always 0 */
	EVENT_SLOTS = EVENT_NOTHING,
};

_Static_assert(EVENT_SLOTS <= JFR_SLOTS_MAX, "every field has a slot");

static const struct jfr_wanted wanted[EVENT_SLOTS] = {
	[EVENT_STACK_TRACE] = { "stackTrace", JFR_WANT_KEY },
	[EVENT_STATE] = { "state", JFR_WANT_KEY },
	[EVENT_CONTEXT] = { "contextId", JFR_WANT_NUMBER },
	[EVENT_SPAN] = { "spanId", JFR_WANT_NUMBER },
	[EVENT_SPAN_NAME] = { "spanName", JFR_WANT_NUMBER },
	[EVENT_SAMPLES] = { "samples", JFR_WANT_NUMBER },
	[EVENT_DURATION] = { "duration", JFR_WANT_NUMBER },
	[EVENT_TLAB_SIZE] = { "tlabSize", JFR_WANT_NUMBER },
	[EVENT_ALLOCATION_SIZE] = { "allocationSize", JFR_WANT_NUMBER },
	[EVENT_WEIGHT] = { "weight", JFR_WANT_NUMBER },
	[EVENT_SIZE] = { "size", JFR_WANT_NUMBER },
	[EVENT_NAME] = { "name", JFR_WANT_STRING },
	[EVENT_VALUE] = { "value", JFR_WANT_STRING },
};

enum thread_state {
	STATE_UNSEEN = 0,
	STATE_OTHER,
	STATE_RUNNABLE,
	STATE_SLEEPING,
};

/* An event as it was read: its fields by slot. */
struct event {
	const struct event_kind *kind;
	uint64_t fields[EVENT_SLOTS + 1];
};

typedef int (*event_taker)(struct jfr_events *events, const struct event *event, struct error *err);

static int take_one(struct jfr_events *events, const struct event *event, struct error *err);
static int take_execution(struct jfr_events *events, const struct event *event, struct error *err);
static int take_wall_clock(struct jfr_events *events, const struct event *event, struct error *err);
static int take_setting(struct jfr_events *events, const struct event *event, struct error *err);

static const struct event_kind {
	const char *class;
	event_taker take;
	enum jfr_profile profile;
	enum event_slot amount;
	bool has_context; /* others name none, even when their types have the fields */
} kinds[] = {
	{ "jdk.ExecutionSample", take_execution, JFR_CPU, EVENT_NOTHING, true },
	{ "profiler.WallClockSample", take_wall_clock, JFR_WALL, EVENT_NOTHING, true },
	{ "jdk.ObjectAllocationInNewTLAB", take_one, JFR_ALLOC_IN_TLAB, EVENT_TLAB_SIZE, true },
	{ "jdk.ObjectAllocationOutsideTLAB", take_one, JFR_ALLOC_OUTSIDE_TLAB,
	  EVENT_ALLOCATION_SIZE, true },
	{ "jdk.ObjectAllocationSample", take_one, JFR_ALLOC_SAMPLE, EVENT_WEIGHT, false },
	{ "jdk.JavaMonitorEnter", take_one, JFR_MUTEX, EVENT_DURATION, true },
	{ "jdk.ThreadPark", take_one, JFR_BLOCK, EVENT_DURATION, false },
	{ "profiler.LiveObject", take_one, JFR_LIVE, EVENT_NOTHING, false },
	{ "profiler.Malloc", take_one, JFR_MALLOC, EVENT_SIZE, false },
	{ "jdk.ActiveSetting", take_setting, JFR_PROFILES, EVENT_NOTHING, false },
};

_Static_assert(ARRAY_LENGTH(kinds) < NO_KIND, "every kind has a number");

/* ---- what events mean ---- */

static int add(struct jfr_events *events, const struct event *event, enum jfr_profile profile,
               uint64_t count, struct error *err)
{
	const uint64_t values[2] = { count, event->fields[event->kind->amount] };
	struct jfr_context context = { 0 };
	uint32_t stack;

	if (jfr_stacks_find(events->stacks, event->fields[EVENT_STACK_TRACE], &stack, err) < 0)
		return -1;
	if (stack == JFR_STACK_NONE)
		return 0;
	if (event->kind->has_context)
		context = (struct jfr_context){
			.context = event->fields[EVENT_CONTEXT],
			.span = event->fields[EVENT_SPAN],
			.span_name = event->fields[EVENT_SPAN_NAME],
		};
	return jfr_samples_add(events->samples, profile, stack, &context, values, err);
}

static int take_one(struct jfr_events *events, const struct event *event, struct error *err)
{
	return add(events, event, event->kind->profile, 1, err);
}

/* What the name of a thread's state means; a state without one is no special one. */
static int read_state(const struct jfr_events *events, uint32_t entry, enum thread_state *out,
                      struct error *err)
{
	uint64_t slots[JFR_POOL_SLOTS];
	struct str name;

	jfr_pools_get(events->pools, JFR_POOL_THREAD_STATE, entry, slots);
	if (!jfr_pools_text(events->pools, slots[JFR_STATE_NAME], &name))
		return arena_error(events->arena, err);
	*out = str_equals(name, "STATE_SLEEPING")   ? STATE_SLEEPING
	       : str_equals(name, "STATE_RUNNABLE") ? STATE_RUNNABLE
	                                            : STATE_OTHER;
	return 0;
}

static int state_of(struct jfr_events *events, const struct event *event, enum thread_state *out,
                    struct error *err)
{
	const uint32_t entry =
		jfr_pools_find(events->pools, JFR_POOL_THREAD_STATE, event->fields[EVENT_STATE]);

	*out = STATE_OTHER;
	if (entry == JFR_POOL_NONE)
		return 0;
	*out = (enum thread_state)events->states[entry];
	if (*out == STATE_UNSEEN && read_state(events, entry, out, err) < 0)
		return -1;
	events->states[entry] = (uint8_t)*out;
	return 0;
}

static bool is_wall_recording(const struct jfr_events *events)
{
	return str_equals(events->recording, "wall");
}

/* A thread that sleeps takes no CPU; in a recording of the wall clock it counts there. */
static int take_execution(struct jfr_events *events, const struct event *event, struct error *err)
{
	enum thread_state state;

	if (state_of(events, event, &state, err) < 0)
		return -1;
	if (state != STATE_SLEEPING && add(events, event, JFR_CPU, 1, err) < 0)
		return -1;
	return is_wall_recording(events) ? add(events, event, JFR_WALL, 1, err) : 0;
}

static int take_wall_clock(struct jfr_events *events, const struct event *event, struct error *err)
{
	const uint64_t samples = event->fields[EVENT_SAMPLES];
	enum thread_state state;

	if (state_of(events, event, &state, err) < 0 ||
	    add(events, event, JFR_WALL, samples, err) < 0)
		return -1;
	if (!is_wall_recording(events) || state != STATE_RUNNABLE)
		return 0;
	return add(events, event, JFR_CPU, samples, err);
}

static int take_setting(struct jfr_events *events, const struct event *event, struct error *err)
{
	struct str name;
	struct str value;

	if (!jfr_pools_text(events->pools, event->fields[EVENT_NAME], &name) ||
	    !jfr_pools_text(events->pools, event->fields[EVENT_VALUE], &value))
		return arena_error(events->arena, err);
	if (str_equals(name, "event"))
		events->recording = value;
	return 0;
}

/* ---- reading ---- */

static uint8_t kind_of(const struct jfr_class *class)
{
	for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++)
		if (str_equals(class->name, kinds[i].class))
			return (uint8_t)i;
	return NO_KIND;
}

static int begin(struct jfr_events *events, struct jfr_layouts *layouts, struct error *err)
{
	const struct jfr_metadata *metadata = layouts->metadata;
	const size_t states = events->pools->pools[JFR_POOL_THREAD_STATE].count;

	events->states = arena_array(events->arena, states, sizeof(uint8_t));
	events->kinds = arena_array_raw(events->arena, metadata->class_count, sizeof(uint8_t));
	events->layouts = arena_array_raw(events->arena, metadata->class_count, sizeof(uint32_t));
	if (!events->states || !events->kinds || !events->layouts)
		return arena_error(events->arena, err);
	for (uint32_t i = 0; i < metadata->class_count; i++) {
		events->kinds[i] = kind_of(&metadata->classes[i]);
		events->layouts[i] = JFR_LAYOUT_NONE;
	}
	return 0;
}

static bool read_fields(const struct jfr_layouts *layouts, uint32_t layout, struct jfr_reader *body,
                        const uint8_t *base, uint64_t *fields)
{
	if (jfr_layout_is_numbers(layouts, layout))
		return jfr_layout_read_numbers(layouts, layout, body, fields);
	return jfr_layout_read(layouts, layout, body, base, fields);
}

static int read_event(struct jfr_events *events, struct jfr_layouts *layouts, uint32_t class,
                      struct jfr_reader *body, struct error *err)
{
	struct event event = { .kind = &kinds[events->kinds[class]] };

	if (events->layouts[class] == JFR_LAYOUT_NONE &&
	    jfr_layout_make(layouts, class, wanted, EVENT_SLOTS, &events->layouts[class], err) < 0)
		return -1;
	if (!read_fields(layouts, events->layouts[class], body, events->pools->chunk->bytes,
	                 event.fields))
		return error_set(err, ERROR_INVALID, "JFR: an event %s is shorter than its type",
		                 event.kind->class);
	return event.kind->take(events, &event, err);
}

int jfr_events_read(struct jfr_events *events, const struct jfr_chunk *chunk,
                    struct jfr_layouts *layouts, const struct jfr_pools *pools, struct error *err)
{
	struct jfr_reader records = jfr_chunk_records(chunk);
	struct jfr_reader body;
	uint64_t type;
	int more;

	events->pools = pools;
	if (begin(events, layouts, err) < 0 || jfr_stacks_begin(events->stacks, pools, err) < 0)
		return -1;
	while ((more = jfr_record_next(&records, &type, &body)) > 0) {
		const uint32_t class = jfr_metadata_find(layouts->metadata, type);

		if (class == PROFILE_NONE || events->kinds[class] == NO_KIND)
			continue;
		if (read_event(events, layouts, class, &body, err) < 0)
			return -1;
	}
	if (more < 0)
		return error_set(err, ERROR_INVALID,
		                 "JFR: the record at byte %zu of a chunk has a size that does not "
		                 "fit",
		                 (size_t)(records.at - chunk->bytes));
	return 0;
}
