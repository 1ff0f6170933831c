#include "formats/text_profile.h"

#include "base/clock.h"

#define ADAPTER "pyroscopeIngesterAdapter failed to "

/* What a suffix of the application's name means. */
struct suffix {
	const char *suffix;
	const char *metric;
	const char *type;
	const char *unit;
};

static const struct suffix suffixes[] = {
	{ "cpu", "process_cpu", "samples", "count" },
	{ "itimer", "process_cpu", "samples", "count" },
	{ "wall", "wall", "samples", "count" },
	{ "seconds", "wall", "samples", "count" },
	{ "milliseconds", "wall", "samples", "count" },
	{ "microseconds", "wall", "samples", "count" },
	{ "nanoseconds", "wall", "samples", "count" },
	{ "inuse_objects", "memory", "inuse_objects", "count" },
	{ "alloc_objects", "memory", "alloc_objects", "count" },
	{ "inuse_space", "memory", "inuse_space", "bytes" },
	{ "alloc_space", "memory", "alloc_space", "bytes" },
	{ "alloc_in_new_tlab_objects", "memory", "alloc_in_new_tlab_objects", "count" },
	{ "alloc_outside_tlab_objects", "memory", "alloc_outside_tlab_objects", "count" },
	{ "alloc_in_new_tlab_bytes", "memory", "alloc_in_new_tlab_bytes", "bytes" },
	{ "alloc_outside_tlab_bytes", "memory", "alloc_outside_tlab_bytes", "bytes" },
	{ "live", "memory", "live", "count" },
	{ "bytes", "memory", "samples", "bytes" },
	{ "goroutines", "goroutine", "goroutines", "count" },
	{ "mutex_count", "mutex", "contentions", "count" },
	{ "mutex_duration", "mutex", "delay", "nanoseconds" },
	{ "block_count", "block", "contentions", "count" },
	{ "block_duration", "block", "delay", "nanoseconds" },
	{ "lock_count", "block", "contentions", "count" },
	{ "lock_duration", "block", "delay", "nanoseconds" },
	{ "exceptions", "exceptions", "samples", "count" },
};

/* Metrics whose samples are ticks of a clock, and the sample type that they become. */
static const struct {
	const char *metric;
	const char *type;
} timed_metrics[] = {
	{ "process_cpu", "cpu" },
	{ "wall", "wall" },
};

static const struct suffix *find_suffix(struct str text)
{
	for (size_t i = 0; i < ARRAY_LENGTH(suffixes); i++)
		if (str_equals(text, suffixes[i].suffix))
			return &suffixes[i];
	return NULL;
}

/* Takes the suffix off *app. NULL with *err filled when it is none. */
static const struct suffix *take_suffix(struct str *app, struct error *err)
{
	const ptrdiff_t dot = str_last_index(*app, '.');
	const struct str text = dot < 0 ? STR("cpu") : str_skip(*app, (size_t)dot + 1);
	const struct suffix *suffix = find_suffix(text);

	if (!suffix) {
		(void)error_set(err, ERROR_INVALID,
		                ADAPTER "convert metadata: unknown profile type: %.*s",
		                STR_ARGS(str_first(text, 200)));
		return NULL;
	}
	if (dot >= 0)
		*app = str_first(*app, (size_t)dot);
	return suffix;
}

static struct profile_builder_type type_of(const struct suffix *suffix, uint32_t sample_rate)
{
	struct profile_builder_type type = { .type = suffix->type,
		                             .unit = suffix->unit,
		                             .scale = 1 };

	if (sample_rate == 0)
		return type;
	for (size_t i = 0; i < ARRAY_LENGTH(timed_metrics); i++) {
		if (strcmp(suffix->metric, timed_metrics[i].metric) != 0)
			continue;
		type.type = timed_metrics[i].type;
		type.unit = "nanoseconds";
		type.period_type = "cpu";
		type.period_unit = "nanoseconds";
		type.period = NS_PER_S / sample_rate;
		type.scale = (uint64_t)type.period;
	}
	return type;
}

/* Old clients upload exemplars one by one, in the label profile_id. */
static bool is_exemplar(const struct ingest_params *params)
{
	const struct str *id = ingest_params_label(params, "profile_id");

	return id && id->length > 0;
}

/* The application has two names when the sender gave the service one of its own. */
static void name_app(const struct ingest_params *params, struct str app, struct label_set *labels)
{
	if (ingest_params_label(params, "service_name") && !ingest_params_label(params, "app_name"))
		labels->labels[labels->count++] = (struct label){ STR("app_name"), app };
}

int text_profile_make(const struct profile_builder *builder, const struct format_input *input,
                      struct str payload, struct format_output *out, struct error *err)
{
	const struct ingest_params *params = input->params;
	struct arena *arena = input->arena;
	struct ingest_profile *made = arena_alloc(arena, sizeof(*made));
	struct pprof_input *pprof = arena_alloc(arena, sizeof(*pprof));
	struct str app = params->name.app;
	const struct suffix *suffix;
	struct profile_builder_type type;

	out->stage = FORMAT_STORING;
	if (!made || !pprof)
		return arena_error(arena, err);
	if (profile_builder_is_empty(builder))
		return 0;
	suffix = take_suffix(&app, err);
	if (!suffix)
		return -1;
	if (is_exemplar(params))
		return 0;
	if (!profile_builder_is_utf8(builder))
		return error_set(err, ERROR_INVALID,
		                 ADAPTER "marshal pprof: string field contains invalid UTF-8");

	type = type_of(suffix, params->sample_rate);
	if (profile_builder_finish(builder, &type, pprof, err) < 0 ||
	    ingest_params_labels(params, str_of(suffix->metric), app, arena, &made->labels, err) <
	            0)
		return -1;
	name_app(params, app, &made->labels);
	pprof->profile.time_unix_ns = params->from_unix_ns;
	made->input = pprof;
	made->payload = payload;
	/* Equal bytes that are read otherwise are another profile, not a retry. */
	made->sender_id = arena_printf(arena, "%.*s %.*s %u", STR_ARGS(params->name.app),
	                               STR_ARGS(params->format), params->sample_rate);
	if (!made->sender_id.data)
		return arena_error(arena, err);
	out->profiles = made;
	out->count = 1;
	return 0;
}
