#include "formats/jfr_profiles.h"

#include "base/clock.h"
#include "base/varint.h"

#define TYPES_MAX 2

/* What becomes of a profile's samples. */
static const struct jfr_shape {
	const char *metric;
	struct {
		const char *type;
		const char *unit;
	} types[TYPES_MAX];
	const char *period_type; /* or NULL: none */
	const char *period_unit;
	bool is_ticks; /* of the sample rate: a value is a period */
} shapes[JFR_PROFILES] = {
	[JFR_CPU] = { "process_cpu", { { "cpu", "nanoseconds" } }, "cpu", "nanoseconds", true },
	[JFR_WALL] = { "wall", { { "wall", "nanoseconds" } }, "wall", "nanoseconds", true },
	[JFR_ALLOC_IN_TLAB] = { "memory",
	                        { { "alloc_in_new_tlab_objects", "count" },
	                          { "alloc_in_new_tlab_bytes", "bytes" } },
	                        "space",
	                        "bytes",
	                        false },
	[JFR_ALLOC_OUTSIDE_TLAB] = { "memory",
	                             { { "alloc_outside_tlab_objects", "count" },
	                               { "alloc_outside_tlab_bytes", "bytes" } },
	                             "space",
	                             "bytes",
	                             false },
	[JFR_ALLOC_SAMPLE] = { "memory",
	                       { { "alloc_sample_objects", "count" },
	                         { "alloc_sample_bytes", "bytes" } },
	                       "space",
	                       "bytes",
	                       false },
	[JFR_MUTEX] = { "mutex",
	                { { "contentions", "count" }, { "delay", "nanoseconds" } },
	                "mutex",
	                "count",
	                false },
	[JFR_BLOCK] = { "block",
	                { { "contentions", "count" }, { "delay", "nanoseconds" } },
	                "block",
	                "count",
	                false },
	[JFR_LIVE] = { "memory", { { "live", "count" } }, "objects", "count", false },
	[JFR_MALLOC] = { "memory",
	                 { { "malloc_objects", "count" }, { "malloc_bytes", "bytes" } },
	                 NULL,
	                 NULL,
	                 false },
};

/* Strings in their order: "", those of each shape, texts of labels, names of functions. */
#define SHAPE_STRINGS (2 * TYPES_MAX + 2)
#define FIRST_TEXT    (1 + JFR_PROFILES * SHAPE_STRINGS)

/* What is common to the pairs, and what they are made for. */
struct pairs {
	const struct jfr_stacks *stacks;
	const struct jfr_samples *samples;
	const struct format_input *input;
	struct str recording;
	struct profile common;
};

static void put_string(struct profile *profile, const char *text)
{
	profile->strings[profile->string_count++] = text ? str_of(text) : STR("");
}

static bool make_strings(const struct pairs *pairs, struct profile *profile)
{
	const size_t texts = pairs->samples->text_ids.count;
	const size_t names = pairs->stacks->name_ids.count;

	profile->strings = arena_array_raw(profile->arena, FIRST_TEXT + texts + names,
	                                   sizeof(*profile->strings));
	if (!profile->strings)
		return false;
	put_string(profile, "");
	for (size_t i = 0; i < JFR_PROFILES; i++) {
		for (size_t type = 0; type < TYPES_MAX; type++) {
			put_string(profile, shapes[i].types[type].type);
			put_string(profile, shapes[i].types[type].unit);
		}
		put_string(profile, shapes[i].period_type);
		put_string(profile, shapes[i].period_unit);
	}
	for (size_t i = 0; i < texts; i++)
		profile->strings[profile->string_count++] = pairs->samples->texts[i];
	for (size_t i = 0; i < names; i++)
		profile->strings[profile->string_count++] = pairs->stacks->names[i];
	return true;
}

static bool make_frames(const struct pairs *pairs, struct profile *profile)
{
	const struct jfr_stacks *stacks = pairs->stacks;
	const size_t functions = stacks->name_ids.count;
	const size_t frames = stacks->frame_count;

	profile->functions =
		arena_array_raw(profile->arena, functions, sizeof(*profile->functions));
	profile->lines = arena_array_raw(profile->arena, frames, sizeof(*profile->lines));
	profile->locations = arena_array_raw(profile->arena, frames, sizeof(*profile->locations));
	if (!profile->functions || !profile->lines || !profile->locations)
		return false;
	for (size_t i = 0; i < functions; i++)
		profile->functions[i] = (struct profile_function){
			.name = (uint32_t)(profile->string_count - functions + i),
		};
	for (uint32_t i = 0; i < frames; i++) {
		profile->lines[i] =
			(struct profile_line){ stacks->frames[i].function, stacks->frames[i].line };
		profile->locations[i] =
			(struct profile_location){ .first_line = i, .line_count = 1 };
	}
	profile->function_count = functions;
	profile->line_count = profile->location_count = frames;
	return true;
}

static bool make_labels(const struct pairs *pairs, struct profile *profile)
{
	const struct jfr_samples *samples = pairs->samples;

	profile->labels =
		arena_array_raw(profile->arena, samples->label_count, sizeof(*profile->labels));
	if (!profile->labels)
		return false;
	for (size_t i = 0; i < samples->label_count; i++)
		profile->labels[i] = (struct profile_label){
			.key = FIRST_TEXT + samples->labels[i].key,
			.value = FIRST_TEXT + samples->labels[i].value,
		};
	profile->label_count = samples->label_count;
	return true;
}

static int make_common(struct pairs *pairs, struct error *err)
{
	const struct ingest_params *params = pairs->input->params;
	struct profile *profile = &pairs->common;
	int64_t duration_ns;

	*profile = (struct profile){
		.arena = pairs->input->arena,
		.stacks = pairs->stacks->runs,
		.stack_length = pairs->stacks->run_length,
		.time_unix_ns = params->from_unix_ns,
	};
	if (!__builtin_sub_overflow(params->until_unix_ns, params->from_unix_ns, &duration_ns) &&
	    duration_ns > 0)
		profile->duration_ns = duration_ns;
	if (!make_strings(pairs, profile) || !make_frames(pairs, profile) ||
	    !make_labels(pairs, profile))
		return arena_error(profile->arena, err);
	return 0;
}

/* ---- one profile ---- */

static uint64_t period_of(const struct pairs *pairs, enum jfr_profile which)
{
	const uint32_t rate = pairs->input->params->sample_rate;

	if (!shapes[which].is_ticks)
		return 1;
	return rate > 0 ? NS_PER_S / rate : 0;
}

static void name_types(enum jfr_profile which, uint64_t period, struct profile *profile)
{
	const struct jfr_shape *shape = &shapes[which];
	const uint32_t first = 1 + (uint32_t)which * SHAPE_STRINGS;
	uint32_t type = 0;

	for (; type < TYPES_MAX && shape->types[type].type; type++)
		profile->sample_types[type] = (struct profile_value_type){
			first + 2 * type,
			first + 2 * type + 1,
		};
	profile->sample_type_count = type;
	if (!shape->period_type)
		return;
	profile->has_period_type = true;
	profile->period_type =
		(struct profile_value_type){ first + 2 * TYPES_MAX, first + 2 * TYPES_MAX + 1 };
	if (shape->is_ticks)
		profile->period = (int64_t)period;
}

static void put_sample(const struct pairs *pairs, const struct jfr_sample *sample, uint64_t period,
                       struct profile *profile)
{
	const struct jfr_stack stack = pairs->stacks->stacks[sample->stack];
	const struct jfr_label_set set = pairs->samples->sets[sample->set];
	const uint64_t values[TYPES_MAX] = { sample->count * period, sample->amount };
	const size_t types = profile->sample_type_count;

	for (size_t i = 0; i < types; i++)
		profile->values[profile->sample_count * types + i] = (int64_t)values[i];
	profile->samples[profile->sample_count++] = (struct profile_sample){
		.first_frame = stack.first_frame,
		.depth = stack.depth,
		.first_label = set.first_label,
		.label_count = set.label_count,
	};
}

static bool make_samples(const struct pairs *pairs, enum jfr_profile which, struct profile *profile)
{
	const struct jfr_samples *samples = pairs->samples;
	const size_t count = samples->kept[which];
	const uint64_t period = period_of(pairs, which);

	profile->mappings = arena_array(profile->arena, 1, sizeof(*profile->mappings));
	profile->sample_types =
		arena_array_raw(profile->arena, TYPES_MAX, sizeof(*profile->sample_types));
	profile->samples = arena_array_raw(profile->arena, count, sizeof(*profile->samples));
	profile->values =
		arena_array_raw(profile->arena, TYPES_MAX * count, sizeof(*profile->values));
	if (!profile->mappings || !profile->sample_types || !profile->samples || !profile->values)
		return false;
	profile->mappings[0].flags = PROFILE_HAS_FUNCTIONS;
	profile->mapping_count = 1;
	name_types(which, period, profile);
	for (size_t i = 0; i < samples->sample_count; i++)
		if (samples->samples[i].profile == which)
			put_sample(pairs, &samples->samples[i], period, profile);
	return true;
}

/* ---- what it would take as a message ---- */

/* Of a location with its function and its name, each once for all samples. */
static size_t frame_bytes(const struct jfr_stacks *stacks, uint32_t frame, uint8_t *seen_functions)
{
	const struct jfr_frame at = stacks->frames[frame];
	const size_t id = varint_length((uint64_t)at.function + 1);
	const size_t name = stacks->names[at.function].length;
	/* location: id, mapping, line (function, number) */
	size_t bytes = 9 + varint_length((uint64_t)frame + 1) + id +
	               varint_length((uint64_t)(int64_t)at.line);

	/* function: id, name; string */
	if (!seen_functions[at.function])
		bytes += 5 + 2 * id + varint_length(name) + name;
	seen_functions[at.function] = 1;
	return bytes;
}

/* False when the arena is full. */
static bool count_bytes(const struct jfr_stacks *stacks, const struct profile *profile, size_t *out)
{
	uint8_t *seen = arena_alloc(profile->arena, profile->location_count);
	uint8_t *seen_functions = arena_alloc(profile->arena, profile->function_count);
	size_t bytes = 64; /* types, mapping, times */

	if (!seen || !seen_functions)
		return false;
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		bytes += 6 + 6 * sample->label_count;
		for (size_t type = 0; type < profile->sample_type_count; type++)
			bytes += varint_length(
				(uint64_t)profile->values[i * profile->sample_type_count + type]);
		for (uint32_t frame = 0; frame < sample->depth; frame++) {
			const uint32_t location = profile->stacks[sample->first_frame + frame];

			bytes += varint_length((uint64_t)location + 1);
			if (!seen[location])
				bytes += frame_bytes(stacks, location, seen_functions);
			seen[location] = 1;
		}
	}
	arena_undo(profile->arena, seen_functions, profile->function_count);
	arena_undo(profile->arena, seen, profile->location_count);
	*out = bytes;
	return true;
}

/* ---- pairs ---- */

static int make_pair(const struct pairs *pairs, enum jfr_profile which, struct str sent,
                     struct ingest_profile *out, struct error *err)
{
	const struct ingest_params *params = pairs->input->params;
	struct arena *arena = pairs->input->arena;
	struct pprof_input *made = arena_alloc(arena, sizeof(*made));

	if (!made)
		return arena_error(arena, err);
	made->profile = pairs->common;
	if (!make_samples(pairs, which, &made->profile) ||
	    !count_bytes(pairs->stacks, &made->profile, &made->encoded_bytes))
		return arena_error(arena, err);
	made->samples_sent = pairs->samples->sent[which];
	made->most_labels = pairs->samples->most_labels;
	if (ingest_params_labels(params, str_of(shapes[which].metric), params->name.app, arena,
	                         &out->labels, err) < 0)
		return -1;
	ingest_params_set_label(&out->labels, STR("jfr_event"), pairs->recording);
	ingest_params_name_app(params, params->name.app, &out->labels);
	out->input = made;
	out->payload = sent;
	/* Equal bytes that are read otherwise are another profile, not a retry. */
	out->sender_id =
		arena_printf(arena, "%.*s %u", STR_ARGS(params->name.app), params->sample_rate);
	return out->sender_id.data ? 0 : arena_error(arena, err);
}

int jfr_profiles_make(const struct jfr_stacks *stacks, const struct jfr_samples *samples,
                      struct str recording, const struct format_input *input, struct str sent,
                      struct format_output *out, struct error *err)
{
	struct pairs pairs = {
		.stacks = stacks,
		.samples = samples,
		.input = input,
		.recording = recording,
	};
	struct ingest_profile *made = arena_array(input->arena, JFR_PROFILES, sizeof(*made));
	size_t count = 0;

	if (!made)
		return arena_error(input->arena, err);
	if (samples->sample_count == 0)
		return 0;
	if (make_common(&pairs, err) < 0)
		return -1;
	for (unsigned which = 0; which < JFR_PROFILES; which++)
		if (samples->kept[which] > 0 &&
		    make_pair(&pairs, (enum jfr_profile)which, sent, &made[count++], err) < 0)
			return -1;
	out->profiles = made;
	out->count = count;
	return 0;
}
