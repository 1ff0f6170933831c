/*
 * Profiles made from folded stacks, and what the pipeline makes of them as text.
 */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "profile/ingest.h"
#include "tests/unit/profile/pprof_fixture.h"

#define INGEST_NOW_NS INT64_C(1700000000000000000) /* 2023-11-14 22:13:20 UTC */
#define INGEST_MAX    64                           /* strings, labels */

/* A sample: stack root first, values, labels as "key=text key=text". */
struct ingest_sample {
	const char *stack; /* "" is none */
	int64_t values[4];
	const char *labels;
};

struct ingest_fixture {
	struct arena *arena;
	struct strbuf text; /* of the result */
	struct strbuf bytes;
	struct str strings[INGEST_MAX];
	size_t string_count;
	struct label labels[INGEST_MAX];
	size_t label_count;
	struct ingest_limits limits;
	struct pprof_input input;
	struct ingest_profile profile;
	struct ingest_result result;
	struct error err;
};

static inline int ingest_set_up(void **state)
{
	struct ingest_fixture *fixture = calloc(1, sizeof(*fixture));

	assert(fixture);
	fixture->arena = arena_new((size_t)64 << 20, NULL);
	strbuf_init(&fixture->text, 1 << 20);
	strbuf_init(&fixture->bytes, 8 << 20);
	fixture->limits = ingest_limits_default;
	*state = fixture;
	return 0;
}

static inline int ingest_tear_down(void **state)
{
	struct ingest_fixture *fixture = *state;

	strbuf_fini(&fixture->text);
	strbuf_fini(&fixture->bytes);
	arena_free(fixture->arena);
	free(fixture);
	return 0;
}

static inline uint32_t ingest_string(struct ingest_fixture *fixture, struct str text)
{
	for (uint32_t i = 0; i < fixture->string_count; i++)
		if (str_equal(fixture->strings[i], text))
			return i;
	assert(fixture->string_count < INGEST_MAX);
	fixture->strings[fixture->string_count] = text;
	return (uint32_t)fixture->string_count++;
}

static inline void ingest_label(struct ingest_fixture *fixture, const char *name, const char *value)
{
	assert(fixture->label_count < INGEST_MAX);
	fixture->labels[fixture->label_count++] = (struct label){ str_of(name), str_of(value) };
}

static inline void ingest_put_labels(struct ingest_fixture *fixture, const char *labels)
{
	struct str rest = str_of(labels);
	struct str pair;

	while (rest.length > 0 && str_split(&rest, ' ', &pair)) {
		const size_t begun = wire_begin(&fixture->bytes, 3);
		struct str name;

		(void)str_split(&pair, '=', &name);
		wire_put_uint(&fixture->bytes, 1, ingest_string(fixture, name));
		wire_put_uint(&fixture->bytes, 2, ingest_string(fixture, pair));
		wire_end(&fixture->bytes, begun);
	}
}

/* Frames are locations with the id of their name. */
static inline void ingest_put_sample(struct ingest_fixture *fixture,
                                     const struct ingest_sample *sample, size_t types)
{
	uint64_t ids[INGEST_MAX];
	uint64_t values[4];
	size_t depth = 0;
	struct str rest = str_of(sample->stack);
	struct str name;
	size_t begun;

	while (rest.length > 0 && str_split(&rest, ';', &name))
		ids[INGEST_MAX - ++depth] = ingest_string(fixture, name);
	memcpy(values, sample->values, sizeof(values));
	begun = wire_begin(&fixture->bytes, 2);
	pprof_put_packed(&fixture->bytes, 1, ids + INGEST_MAX - depth, depth);
	pprof_put_packed(&fixture->bytes, 2, values, types);
	ingest_put_labels(fixture, sample->labels ? sample->labels : "");
	wire_end(&fixture->bytes, begun);
}

/* "cpu/nanoseconds" as field 1 or 11. */
static inline void ingest_put_type(struct ingest_fixture *fixture, uint32_t field, const char *text)
{
	struct str unit = str_of(text);
	struct str type;
	uint32_t at;

	(void)str_split(&unit, '/', &type);
	at = ingest_string(fixture, type); /* before its unit's */
	pprof_put_type(&fixture->bytes, field, at, ingest_string(fixture, unit));
}

/* Everything behind the samples: a location and a function for each string, the strings. */
static inline void ingest_put_tables(struct ingest_fixture *fixture)
{
	for (uint32_t i = 1; i < fixture->string_count; i++) {
		pprof_put_location(&fixture->bytes, i, 0, 0, i);
		pprof_put_function(&fixture->bytes, i, i);
	}
	for (size_t i = 0; i < fixture->string_count; i++)
		wire_put_bytes(&fixture->bytes, 6, fixture->strings[i]);
}

/* Types are separated by blanks. */
static inline void ingest_make(struct ingest_fixture *fixture, const char *types,
                               const struct ingest_sample *samples, size_t count)
{
	static char copy[256];
	struct str rest;
	struct str type;
	size_t type_count = 0;

	(void)ingest_string(fixture, STR(""));
	(void)snprintf(copy, sizeof(copy), "%s", types);
	rest = str_of(copy);
	while (rest.length > 0 && str_split(&rest, ' ', &type)) {
		copy[type.data - copy + type.length] = '\0';
		ingest_put_type(fixture, 1, type.data);
		type_count++;
	}
	for (size_t i = 0; i < count; i++)
		ingest_put_sample(fixture, &samples[i], type_count);
}

/* Reads what was made and runs the pipeline. */
static inline int ingest_go(struct ingest_fixture *fixture)
{
	const struct pprof_options options = { .max_samples = fixture->limits.max_samples };

	if (pprof_read(strbuf_view(&fixture->bytes), &options, fixture->arena, &fixture->input,
	               &fixture->err) < 0)
		return -1;
	fixture->profile.input = &fixture->input;
	fixture->profile.labels = (struct label_set){ fixture->labels, fixture->label_count };
	fixture->profile.payload = strbuf_view(&fixture->bytes);
	return ingest_profile(&fixture->profile, &fixture->limits, INGEST_NOW_NS, &fixture->result,
	                      &fixture->err);
}

static inline void ingest_show_frame(const struct profile *profile, uint32_t index,
                                     struct strbuf *out)
{
	const struct profile_location *location = &profile->locations[index];

	if (location->line_count == 0)
		strbuf_printf(out, "0x%llx", (unsigned long long)location->address);
	for (uint32_t i = location->line_count; i-- > 0;) {
		const uint32_t function = profile->lines[location->first_line + i].function;

		strbuf_add_str(out, profile_string(profile, profile->functions[function].name));
		if (i > 0)
			strbuf_add_byte(out, ';');
	}
}

static inline void ingest_show_row(const struct series_profile *stored, size_t row,
                                   struct strbuf *out)
{
	const struct stored_row *at = &stored->rows[row];

	for (uint32_t i = at->depth; i-- > 0;) {
		ingest_show_frame(stored->profile, stored->profile->stacks[at->first_frame + i],
		                  out);
		if (i > 0)
			strbuf_add_byte(out, ';');
	}
	for (size_t i = 0; i < stored->series_count; i++)
		strbuf_printf(out, " %lld", (long long)stored->series[i].values[row]);
	if (stored->span_ids && stored->span_ids[row])
		strbuf_printf(out, " span=%016llx", (unsigned long long)stored->span_ids[row]);
	if (stored->trace_ids && stored->trace_ids[row][15])
		strbuf_printf(out, " trace=%02x..%02x", stored->trace_ids[row][0],
		              stored->trace_ids[row][15]);
	strbuf_add_byte(out, '\n');
}

/*
 * Each profile: a line of its labels (those without "__", and __profile_type__ for each
 * series), then its rows.
 */
static inline const char *ingest_show(struct ingest_fixture *fixture)
{
	struct strbuf *out = &fixture->text;

	strbuf_reset(out);
	for (size_t i = 0; i < fixture->result.count; i++) {
		const struct series_profile *stored = &fixture->result.profiles[i];

		for (size_t j = 0; j < stored->series_count; j++)
			strbuf_printf(out, "%.*s ",
			              STR_ARGS(*label_set_find(&stored->series[j].labels,
			                                       STR("__profile_type__"))));
		for (size_t j = 0; stored->series_count > 0 && j < stored->series[0].labels.count;
		     j++) {
			const struct label *label = &stored->series[0].labels.labels[j];

			if (!str_starts_with(label->name, STR("__")))
				strbuf_printf(out, "%.*s=%.*s ", STR_ARGS(label->name),
				              STR_ARGS(label->value));
		}
		strbuf_add_byte(out, '\n');
		for (size_t row = 0; row < stored->row_count; row++)
			ingest_show_row(stored, row, out);
	}
	return out->data;
}
