/*
 * OTLP requests for tests: made of parts, read, and told as text.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/wire.h"
#include "formats/otlp_request.h"
#include "otlp_vectors.h"
#include "vectors.h"

#define MIB         ((size_t)1 << 20)
#define TEXT_MAX    (64 * 1024)
#define VECTOR_TIME INT64_C(1700000000000000000)

static inline int decode(struct str message, struct arena *arena, struct otlp_request *out,
                         struct error *err)
{
	const struct otlp_options options = { .limits = &ingest_limits_default };

	*err = (struct error){ 0 };
	*out = (struct otlp_request){ 0 };
	return otlp_request_decode(message, &options, arena, out, err);
}

/* ---- what came out, as text ---- */

static inline void put_type(const struct ingest_profile *pair, struct strbuf *out)
{
	const struct profile *profile = &pair->input->profile;

	for (size_t i = 0; i < pair->labels.count; i++)
		if (str_equals(pair->labels.labels[i].name, "__name__"))
			strbuf_add_str(out, pair->labels.labels[i].value);
	for (size_t i = 0; i < profile->sample_type_count; i++)
		strbuf_printf(out, ":%.*s:%.*s",
		              STR_ARGS(profile_string(profile, profile->sample_types[i].type)),
		              STR_ARGS(profile_string(profile, profile->sample_types[i].unit)));
	strbuf_printf(out, ":%.*s:%.*s",
	              STR_ARGS(profile_string(profile, profile->period_type.type)),
	              STR_ARGS(profile_string(profile, profile->period_type.unit)));
}

static inline void put_labels(const struct ingest_profile *pair, struct strbuf *out)
{
	for (size_t i = 0; i < pair->labels.count; i++)
		if (!str_starts_with(pair->labels.labels[i].name, STR("__")))
			strbuf_printf(out, " %.*s=%.*s", STR_ARGS(pair->labels.labels[i].name),
			              STR_ARGS(pair->labels.labels[i].value));
}

static inline void put_sample(const struct profile *profile, const struct profile_sample *sample,
                              const int64_t *values, struct strbuf *out)
{
	strbuf_add_text(out, "\n");
	for (uint32_t i = sample->depth; i-- > 0;) {
		const struct profile_location *location =
			&profile->locations[profile->stacks[sample->first_frame + i]];

		for (uint32_t line = location->line_count; line-- > 0;) {
			const uint32_t function =
				profile->lines[location->first_line + line].function;

			strbuf_printf(out, "%.*s;",
			              STR_ARGS(profile_string(profile,
			                                      profile->functions[function].name)));
		}
	}
	for (size_t i = 0; i < profile->sample_type_count; i++)
		strbuf_printf(out, " %lld", (long long)values[i]);
	for (uint32_t i = 0; i < sample->label_count; i++) {
		const struct profile_label *label = &profile->labels[sample->first_label + i];

		strbuf_printf(out, " %.*s=%.*s", STR_ARGS(profile_string(profile, label->key)),
		              STR_ARGS(profile_string(profile, label->value)));
	}
}

/* A line for each pair and one for each of its samples. */
static inline void describe(const struct otlp_request *request, struct strbuf *out)
{
	for (size_t i = 0; i < request->count; i++) {
		const struct ingest_profile *pair = &request->profiles[i];
		const struct profile *profile = &pair->input->profile;

		if (i > 0)
			strbuf_add_text(out, "\n");
		put_type(pair, out);
		put_labels(pair, out);
		for (size_t j = 0; j < profile->sample_count; j++)
			put_sample(profile, &profile->samples[j],
			           profile->values + j * profile->sample_type_count, out);
	}
}

static inline void assert_decodes(struct str message, const char *revision, const char *expected)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(16 * MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf text;
	struct otlp_request request;
	struct error err;

	strbuf_init(&text, TEXT_MAX);
	if (decode(message, arena, &request, &err) < 0)
		fail_msg("%s", err.message);
	describe(&request, &text);
	assert_string_equal(text.data, expected);
	assert_string_equal(request.layout->name, revision);
}

static inline void assert_refused(struct str message, const char *expected)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(16 * MIB, NULL);
	struct otlp_request request;
	struct error err;

	assert_int_equal(decode(message, arena, &request, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	if (!strstr(err.message, expected))
		fail_msg("\"%s\" does not say \"%s\"", err.message, expected);
}

/* ---- the specification's vectors ---- */

#define VECTOR_LABELS \
	" service.name=inspektor-gadget service_name=inspektor-gadget\nmain;cuMemAlloc; 4096 proc.comm=python3"

static const struct {
	const char *hex;
	const char *revision;
	size_t length;
} vectors[] = {
	{ VECTOR_OTLP_1_10_HEX, "1.10", 230 },
	{ VECTOR_OTLP_1_9_HEX, "1.9", 230 },
	{ VECTOR_OTLP_1_7_HEX, "1.7", 242 },
};

/* ---- requests made here ---- */

/* What is put together: everything in layout 1.10 but for samples, whose bytes are given. */
struct sent {
	const char *type;
	const char *unit;
	const char *period_type; /* or NULL */
	const char *period_unit;
	uint64_t period;
	uint64_t time;
	const char *samples[4]; /* hex */
	const char *resource;   /* hex of its attributes' fields */
};

static inline void put_hex(struct strbuf *out, struct arena *arena, uint32_t field, const char *hex)
{
	wire_put_bytes(out, field, vector_unhex(arena, hex));
}

/* Strings 1 to 4 are the types, 5 a, 6 b, 7 thread.name, 8 worker, 9 service.name, 10 shop. */
static inline void put_dictionary(struct strbuf *out, const struct sent *sent, struct arena *arena)
{
	const char *const strings[] = {
		"",    sent->type, sent->unit,    sent->period_type, sent->period_unit,
		"a",   "b",        "thread.name", "worker",          "service.name",
		"shop"
	};
	const size_t dictionary = wire_begin(out, 2);

	put_hex(out, arena, 1, "");
	put_hex(out, arena, 2, "");
	put_hex(out, arena, 2, "1a020801"); /* location 1: a line of function 1 */
	put_hex(out, arena, 2, "1a020802");
	put_hex(out, arena, 3, "");
	put_hex(out, arena, 3, "0805");
	put_hex(out, arena, 3, "0806");
	put_hex(out, arena, 4, "");
	put_hex(out, arena, 4,
	        "0a100102030405060708090a0b0c0d0e0f101208b7ad6b7169203331"); /* trace and span */
	for (size_t i = 0; i < ARRAY_LENGTH(strings); i++)
		wire_put_bytes(out, 5, str_of(strings[i] ? strings[i] : ""));
	put_hex(out, arena, 6, "");
	put_hex(out, arena, 6, "080712024008"); /* thread.name = worker, by string index */
	put_hex(out, arena, 7, "");
	put_hex(out, arena, 7, "0a0101");   /* a */
	put_hex(out, arena, 7, "0a020201"); /* b called by a */
	wire_end(out, dictionary);
}

static inline struct str make_request(const struct sent *sent, struct strbuf *out,
                                      struct arena *arena)
{
	size_t resource;
	size_t scope;
	size_t profile;

	strbuf_init(out, MIB);
	resource = wire_begin(out, 1);
	if (sent->resource)
		put_hex(out, arena, 1, sent->resource);
	scope = wire_begin(out, 2);
	profile = wire_begin(out, 2);
	put_hex(out, arena, 1, "08011002");
	for (size_t i = 0; i < ARRAY_LENGTH(sent->samples) && sent->samples[i]; i++)
		put_hex(out, arena, 2, sent->samples[i]);
	wire_put_fixed64(out, 3, sent->time ? sent->time : (uint64_t)VECTOR_TIME);
	if (sent->period_type)
		put_hex(out, arena, 5, "08031004");
	wire_put_uint(out, 6, sent->period);
	wire_end(out, profile);
	wire_end(out, scope);
	wire_end(out, resource);
	put_dictionary(out, sent, arena);
	return strbuf_view(out);
}

static inline void assert_request(const struct sent *sent, const char *revision,
                                  const char *expected)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;

	assert_decodes(make_request(sent, &message, arena), revision, expected);
}

static inline void assert_request_refused(const struct sent *sent, const char *expected)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;

	assert_refused(make_request(sent, &message, arena), expected);
}

#define MALLOC \
	.type = "malloc", .unit = "bytes", .period_type = "gpu", .period_unit = "bytes", .period = 1
#define CPU                                                                                     \
	.type = "samples", .unit = "count", .period_type = "cpu", .period_unit = "nanoseconds", \
	.period = 50000000

#define UNKNOWN " service_name=unknown_service"
#define TIMES_2 "2a1000002a36fe9c97178096c236fe9c9717"
#define TIMES_3 "2a1800002a36fe9c97178096c236fe9c971700002a36fe9c9717"
