/*
 * Runs a format's decoder and tells what came out as text, for tables of cases.
 */
#pragma once

#include <assert.h>
#include <string.h>

#include "formats/format.h"

#define DECODED_NOW_NS INT64_C(1700000000000000000)

static const struct ingest_limits decoded_limits = {
	.max_profile_size_bytes = 4194304,
	.max_samples = 16000,
};

static inline int decoded_run(struct arena *arena, const char *query, struct str content_type,
                              struct str body, struct format_output *out, struct error *err)
{
	struct ingest_params *params = arena_alloc(arena, sizeof(*params));
	struct format_input input = {
		.body = body,
		.content_type = content_type,
		.params = params,
		.limits = &decoded_limits,
		.arena = arena,
	};

	assert(params);
	if (ingest_params_parse(str_of(query), DECODED_NOW_NS, arena, params, err) < 0)
		return -1;
	return format_select(params->format, content_type)->decode(&input, out, err);
}

static inline struct str decoded_label(const struct format_output *out, const char *name)
{
	const struct label_set *labels = &out->profiles[0].labels;

	for (size_t i = 0; i < labels->count; i++)
		if (str_equals(labels->labels[i].name, name))
			return labels->labels[i].value;
	return (struct str){ 0 };
}

/* metric:type:unit:period_type:period_unit of one sample type. */
static inline void decoded_type(const struct format_output *out, size_t index, struct strbuf *text)
{
	const struct profile *profile = &out->profiles[0].input->profile;
	const struct profile_value_type type = profile->sample_types[index];

	strbuf_add_str(text, decoded_label(out, "__name__"));
	strbuf_printf(text, ":%.*s:%.*s:", STR_ARGS(profile_string(profile, type.type)),
	              STR_ARGS(profile_string(profile, type.unit)));
	if (profile->has_period_type)
		strbuf_printf(text, "%.*s:%.*s",
		              STR_ARGS(profile_string(profile, profile->period_type.type)),
		              STR_ARGS(profile_string(profile, profile->period_type.unit)));
	else
		strbuf_add_text(text, ":");
}

/* "root;leaf value value|..." in the order of the samples. */
static inline void decoded_samples(const struct format_output *out, struct strbuf *text)
{
	const struct profile *profile = &out->profiles[0].input->profile;

	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];

		for (uint32_t frame = sample->depth; frame > 0; frame--) {
			const struct profile_location *location =
				&profile->locations[profile->stacks[sample->first_frame + frame -
			                                            1]];
			const struct profile_function *function =
				&profile->functions[profile->lines[location->first_line].function];

			strbuf_add_str(text, profile_string(profile, function->name));
			if (frame > 1)
				strbuf_add_byte(text, ';');
		}
		for (size_t type = 0; type < profile->sample_type_count; type++)
			strbuf_printf(
				text, " %lld",
				(long long)profile->values[i * profile->sample_type_count + type]);
		strbuf_add_byte(text, '|');
	}
}

/* The body is one profile with these samples. */
static inline void decoded_gives(struct arena *arena, const char *query, struct str body,
                                 const char *samples)
{
	CLEANUP(strbuf_fini) struct strbuf text;
	struct format_output out;
	struct error err = { 0 };

	strbuf_init(&text, 10000);
	assert_int_equal(decoded_run(arena, query, STR(""), body, &out, &err), 0);
	assert_int_equal(out.count, 1);
	decoded_samples(&out, &text);
	assert_int_equal(text.length, strlen(samples));
	assert_string_equal(text.data, samples);
}

/* The body is refused at that stage, for that reason. */
static inline void decoded_fails(struct arena *arena, const char *query, struct str body,
                                 enum format_stage stage, const char *message)
{
	struct format_output out;
	struct error err = { 0 };

	assert_int_equal(decoded_run(arena, query, STR(""), body, &out, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(out.stage, stage);
	assert_string_equal(err.message, message);
}
