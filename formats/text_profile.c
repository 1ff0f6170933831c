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

static bool is_timed(const struct suffix *suffix, const char **out_type)
{
	for (size_t i = 0; i < ARRAY_LENGTH(timed_metrics); i++) {
		if (strcmp(suffix->metric, timed_metrics[i].metric) != 0)
			continue;
		*out_type = timed_metrics[i].type;
		return true;
	}
	return false;
}

const char *text_type_suffix(size_t index)
{
	return index < ARRAY_LENGTH(suffixes) ? suffixes[index].suffix : NULL;
}

int text_type_of(struct str app, uint32_t sample_rate, struct text_type *out, struct error *err)
{
	const ptrdiff_t dot = str_last_index(app, '.');
	const struct str text = dot < 0 ? STR("cpu") : str_skip(app, (size_t)dot + 1);
	const struct suffix *suffix = find_suffix(text);
	const char *timed_type;

	if (!suffix)
		return error_set(err, ERROR_INVALID,
		                 ADAPTER "convert metadata: unknown profile type: %.*s",
		                 STR_ARGS(str_first(text, 200)));
	*out = (struct text_type){
		.app = dot < 0 ? app : str_first(app, (size_t)dot),
		.metric = suffix->metric,
		.type = { .type = suffix->type, .unit = suffix->unit, .scale = 1 },
	};
	if (sample_rate == 0 || !is_timed(suffix, &timed_type))
		return 0;
	out->is_timed = true;
	out->type = (struct profile_builder_type){
		.type = timed_type,
		.unit = "nanoseconds",
		.period_type = "cpu",
		.period_unit = "nanoseconds",
		.period = NS_PER_S / sample_rate,
		.scale = (uint64_t)(NS_PER_S / sample_rate),
	};
	return 0;
}

/* Old clients upload exemplars one by one, in the label profile_id. */
static bool is_exemplar(const struct ingest_params *params)
{
	const struct str *id = ingest_params_label(params, "profile_id");

	return id && id->length > 0;
}

int text_profiles_reserve(size_t count, const struct format_input *input, struct format_output *out,
                          struct error *err)
{
	out->profiles = arena_array(input->arena, count, sizeof(*out->profiles));
	return out->profiles ? 0 : arena_error(input->arena, err);
}

int text_profiles_add(const struct text_profile *profile, const struct format_input *input,
                      struct format_output *out, struct error *err)
{
	const struct ingest_params *params = input->params;
	const struct text_type *type = profile->type;
	struct ingest_profile *made = &out->profiles[out->count];
	struct pprof_input *pprof;

	if (profile_builder_is_empty(profile->builder) || is_exemplar(params))
		return 0;
	if (!profile_builder_is_utf8(profile->builder))
		return error_set(err, ERROR_INVALID,
		                 ADAPTER "marshal pprof: string field contains invalid UTF-8");
	pprof = arena_alloc(input->arena, sizeof(*pprof));
	if (!pprof)
		return arena_error(input->arena, err);
	if (profile_builder_finish(profile->builder, &type->type, pprof, err) < 0 ||
	    ingest_params_labels(params, str_of(type->metric), type->app, input->arena,
	                         &made->labels, err) < 0)
		return -1;
	ingest_params_name_app(params, type->app, &made->labels);
	if (profile->name.data)
		ingest_params_set_label(&made->labels, STR("profile_name"), profile->name);
	pprof->profile.time_unix_ns = params->from_unix_ns;
	made->input = pprof;
	made->payload = input->body;
	made->sender_id = profile->sender_id;
	out->count++;
	return 0;
}

int text_profile_make(const struct profile_builder *builder, const struct format_input *input,
                      struct format_output *out, struct error *err)
{
	const struct ingest_params *params = input->params;
	const struct str app = params->name.app;
	struct text_type type;
	struct str id;

	out->stage = FORMAT_STORING;
	if (profile_builder_is_empty(builder))
		return 0;
	/* Equal bytes that are read otherwise are another profile, not a retry. */
	id = arena_printf(input->arena, "%.*s %.*s %u", STR_ARGS(app), STR_ARGS(params->format),
	                  params->sample_rate);
	if (!id.data)
		return arena_error(input->arena, err);
	if (text_type_of(app, params->sample_rate, &type, err) < 0 ||
	    text_profiles_reserve(1, input, out, err) < 0)
		return -1;
	return text_profiles_add(
		&(struct text_profile){ .builder = builder, .type = &type, .sender_id = id }, input,
		out, err);
}
