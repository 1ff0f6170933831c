#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/wire.h"
#include "formats/otlp_json.h"
#include "formats/otlp_request.h"
#include "otlp_vectors.h"
#include "vectors.h"

#define MIB         ((size_t)1 << 20)
#define TEXT_MAX    (64 * 1024)
#define VECTOR_TIME INT64_C(1700000000000000000)

static int decode(struct str message, struct arena *arena, struct otlp_request *out,
                  struct error *err)
{
	const struct otlp_options options = { .limits = &ingest_limits_default };

	*err = (struct error){ 0 };
	*out = (struct otlp_request){ 0 };
	return otlp_request_decode(message, &options, arena, out, err);
}

/* ---- what came out, as text ---- */

static void put_type(const struct ingest_profile *pair, struct strbuf *out)
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

static void put_labels(const struct ingest_profile *pair, struct strbuf *out)
{
	for (size_t i = 0; i < pair->labels.count; i++)
		if (!str_starts_with(pair->labels.labels[i].name, STR("__")))
			strbuf_printf(out, " %.*s=%.*s", STR_ARGS(pair->labels.labels[i].name),
			              STR_ARGS(pair->labels.labels[i].value));
}

static void put_sample(const struct profile *profile, const struct profile_sample *sample,
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
static void describe(const struct otlp_request *request, struct strbuf *out)
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

static void assert_decodes(struct str message, const char *revision, const char *expected)
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

static void assert_refused(struct str message, const char *expected)
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

static void one_profile_is_the_same_in_every_layout(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(vectors); i++) {
		const struct str message = vector_unhex(arena, vectors[i].hex);
		struct otlp_request request;
		struct error err;

		assert_int_equal(message.length, vectors[i].length);
		assert_decodes(message, vectors[i].revision,
		               "process_cuda:malloc:bytes:process_cuda:bytes" VECTOR_LABELS);
		assert_int_equal(decode(message, arena, &request, &err), 0);
		assert_int_equal(request.profiles[0].input->profile.time_unix_ns, VECTOR_TIME);
		assert_int_equal(request.times_replaced, 0);
	}
}

/* Without period and its type, as 8.7 says: eight bytes less in three messages. */
static struct str without_period(struct arena *arena, const char *hex)
{
	struct str message = vector_unhex(arena, hex);
	const struct str type = vector_unhex(arena, "2a0408031002");
	const struct str period = vector_unhex(arena, "3001");
	const ptrdiff_t at = str_find(message, type);
	char *bytes = arena_alloc(arena, message.length);

	assert_true(at > 0 && str_starts_with(str_skip(message, (size_t)at + 6), period));
	memcpy(bytes, message.data, (size_t)at);
	memcpy(bytes + at, message.data + at + 8, message.length - (size_t)at - 8);
	for (ptrdiff_t i = 0; i < at; i++)
		if (bytes[i] == 0x6f && i == 1)
			bytes[i] = 0x67;
		else if (bytes[i] == 0x47 && bytes[i - 1] == 0x12)
			bytes[i] = 0x3f;
		else if (bytes[i] == 0x28 && bytes[i - 1] == 0x12 && bytes[i + 1] == 0x0a)
			bytes[i] = 0x20;
	return str_make(bytes, message.length - 8);
}

static void without_a_period_type_it_is_a_process(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct str message = without_period(arena, vectors[i].hex);

		assert_int_equal(message.length, 222);
		assert_decodes(message, vectors[i].revision,
		               "process_cpu:malloc:bytes::" VECTOR_LABELS);
	}
}

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

static void put_hex(struct strbuf *out, struct arena *arena, uint32_t field, const char *hex)
{
	wire_put_bytes(out, field, vector_unhex(arena, hex));
}

/* Strings 1 to 4 are the types, 5 a, 6 b, 7 thread.name, 8 worker, 9 service.name, 10 shop. */
static void put_dictionary(struct strbuf *out, const struct sent *sent, struct arena *arena)
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

static struct str make_request(const struct sent *sent, struct strbuf *out, struct arena *arena)
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

static void assert_request(const struct sent *sent, const char *revision, const char *expected)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;

	assert_decodes(make_request(sent, &message, arena), revision, expected);
}

static void assert_request_refused(const struct sent *sent, const char *expected)
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

static void samples_tell_their_layout(void **state)
{
	(void)state;
	/* 8.7: field 2 = [1] beside two timestamps is an attribute, field 3 so was one before */
	assert_request(&(struct sent){ CPU, .samples = { "0801120101" TIMES_2 } }, "1.10",
	               "process_cpu:cpu:nanoseconds:cpu:nanoseconds" UNKNOWN
	               "\na; 100000000 thread.name=worker");
	assert_request(&(struct sent){ CPU, .samples = { "08011a0101" TIMES_2 } }, "1.9",
	               "process_cpu:cpu:nanoseconds:cpu:nanoseconds" UNKNOWN
	               "\na; 100000000 thread.name=worker");
	/* field 2 without timestamps: values, whatever they could mean */
	assert_request(&(struct sent){ MALLOC, .samples = { "0801120101" } }, "1.9",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 1");
	/* values that are no attributes */
	assert_request(&(struct sent){ CPU, .samples = { "08011202d20f"
	                                                 "2a0800002a36fe9c9717" } },
	               "1.9",
	               "process_cpu:cpu:nanoseconds:cpu:nanoseconds" UNKNOWN "\na; 100100000000");
	/* a link in field 3, and in field 4 beside values */
	assert_request(&(struct sent){ MALLOC, .samples = { "08011801220107" } }, "1.10",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN
	               "\na; 7 span_id=b7ad6b7169203331 trace_id=0102030405060708090a0b0c0d0e0f10");
	assert_request(&(struct sent){ MALLOC, .samples = { "08011201072001" } }, "1.9",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN
	               "\na; 7 span_id=b7ad6b7169203331 trace_id=0102030405060708090a0b0c0d0e0f10");
}

static void numbers_that_are_not_packed_are_read(void **state)
{
	(void)state;
	/* the Java agent: stack and one value, as single numbers */
	assert_request(&(struct sent){ MALLOC, .samples = { "08012080ade204", "080220808080"
	                                                                      "8000" } },
	               "1.10", "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 10000000\na;b; 0");
	/* a number that could be a link, but then there were no value */
	assert_request(&(struct sent){ MALLOC, .samples = { "08012001" } }, "1.10",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 1");
}

static void both_layouts_in_one_request_are_refused(void **state)
{
	(void)state;
	assert_request_refused(&(struct sent){ MALLOC, .samples = { "0801220101", "080112010120"
	                                                                          "01" } },
	                       "mixed profile encodings");
}

static void timestamps_and_values_become_one_value(void **state)
{
	(void)state;
	/* 8.8 */
	assert_request(&(struct sent){ CPU, .samples = { "0801" TIMES_3 } }, "1.10",
	               "process_cpu:cpu:nanoseconds:cpu:nanoseconds" UNKNOWN "\na; 150000000");
	assert_request(&(struct sent){ .type = "off_cpu",
	                               .unit = "nanoseconds",
	                               .samples = { "080122020507" TIMES_2 } },
	               "1.10", "off_cpu:off_cpu:nanoseconds::" UNKNOWN "\na; 12");
	/* a value for each timestamp */
	assert_request(&(struct sent){ MALLOC, .samples = { "080122020507" TIMES_2 } }, "1.10",
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 12");
	assert_request_refused(&(struct sent){ MALLOC, .samples = { "080122020507" } },
	                       "sample values length mismatch 2 1");
	assert_request_refused(&(struct sent){ MALLOC, .samples = { "0801220101", "0801" } },
	                       "sample value is required");
}

static void indices_outside_of_their_tables_are_named(void **state)
{
	static const struct {
		const char *sample;
		const char *expected;
	} cases[] = {
		{ "0863220101", "invalid stack index: 99" },
		{ "08ffffffffffffffffff01220101", "invalid stack index: -1" },
		{ "0801120163220101", "invalid attribute index: 99" },
		{ "08011863220101", "invalid link index: 99" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_request_refused(&(struct sent){ MALLOC, .samples = { cases[i].sample } },
		                       cases[i].expected);
}

static void attributes_of_the_resource_are_labels(void **state)
{
	(void)state;
	/*
	 * k=v; k=other; pid=-7; flag=true; list=["x"]; lists=["x","y"]; by string indices
	 * service.name=shop
	 */
	assert_request(&(struct sent){ MALLOC,
	                               .resource = "0a080a016b12030a0176"
	                                           "0a0c0a016b12070a056f74686572"
	                                           "0a120a03706964120b18f9ffffffffffffffff01"
	                                           "0a0a0a04666c616712021001"
	                                           "0a0f0a046c69737412072a050a030a0178"
	                                           "0a150a056c69737473120c2a0a0a030a01780a030a0179"
	                                           "0a061809"
	                                           "1202400a",
	                               .samples = { "0801220101" } },
	               "1.10",
	               "gpu:malloc:bytes:gpu:bytes k=v pid=-7 list=x service.name=shop "
	               "service_name=shop\na; 1");
}

static void impossible_times_become_now_and_are_counted(void **state)
{
	static const struct {
		uint64_t time;
		int64_t expected;
	} cases[] = {
		{ 1, 0 },
		{ UINT64_C(1700000000000000), 0 }, /* microseconds: in 1970 */
		{ UINT64_C(31535999999999999), 0 },
		{ UINT64_C(31536000000000000), INT64_C(31536000000000000) }, /* 1971 */
		{ UINT64_C(1) << 63, 0 },
		{ INT64_MAX, INT64_MAX },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(strbuf_fini) struct strbuf message;
		struct otlp_request request;
		struct error err;

		assert_int_equal(decode(make_request(&(struct sent){ MALLOC, .time = cases[i].time,
		                                                     .samples = { "0801220101" } },
		                                     &message, arena),
		                        arena, &request, &err),
		                 0);
		assert_int_equal(request.profiles[0].input->profile.time_unix_ns,
		                 cases[i].expected);
		assert_int_equal(request.times_replaced, cases[i].expected == 0);
	}
}

/* ---- what breaks servers ---- */

static void a_request_without_its_parts_is_refused(void **state)
{
	(void)state;
	assert_refused(STR(""), "missing profile metadata dictionary");
	assert_refused(STR("\x12\x00"), "missing resource profiles");
	assert_refused(STR("\x0a\x00"), "missing profile metadata dictionary");
	assert_refused(STR("this is no message"), "malformed");
	assert_refused(STR("\x0a\xff"), "malformed");
}

static void every_cut_of_a_request_is_refused_or_whole(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(16 * MIB, NULL);

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(vectors); i++) {
		const struct str message = vector_unhex(arena, vectors[i].hex);

		for (size_t length = 0; length < message.length; length++) {
			struct otlp_request request;
			struct error err;

			assert_int_equal(decode(str_first(message, length), arena, &request, &err),
			                 -1);
			assert_int_equal(err.code, ERROR_INVALID);
		}
	}
}

static void put_nested_lists(struct strbuf *out, size_t depth)
{
	/* from the inside: lengths are known then */
	struct strbuf inner;

	strbuf_init(&inner, MIB);
	for (size_t i = 0; i < depth; i++) {
		struct strbuf outer;
		size_t list;

		strbuf_init(&outer, MIB);
		list = wire_begin(&outer, 5);
		wire_put_bytes(&outer, 1, strbuf_view(&inner));
		wire_end(&outer, list);
		strbuf_fini(&inner);
		inner = outer;
	}
	strbuf_add_str(out, strbuf_view(&inner));
	strbuf_fini(&inner);
}

static void nested_values_are_no_labels_and_cost_nothing(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	CLEANUP(strbuf_fini) struct strbuf attribute;
	struct otlp_request request;
	struct error err;
	size_t resource;

	(void)state;
	(void)make_request(&(struct sent){ MALLOC, .samples = { "0801220101" } }, &message, arena);
	strbuf_init(&attribute, MIB);
	resource = wire_begin(&attribute, 1);
	wire_put_bytes(&attribute, 1, STR("deep"));
	{
		const size_t value = wire_begin(&attribute, 2);

		put_nested_lists(&attribute, 5000);
		wire_end(&attribute, value);
	}
	wire_end(&attribute, resource);
	{
		const size_t outer = wire_begin(&message, 1);

		wire_put_bytes(&message, 1, strbuf_view(&attribute));
		wire_end(&message, outer);
	}
	assert_int_equal(decode(strbuf_view(&message), arena, &request, &err), 0);
	assert_int_equal(request.count, 1);
}

static void four_mebibytes_of_empty_samples_are_bounded(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(64 * MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	struct otlp_request request;
	struct error err;
	size_t resource;
	size_t scope;
	size_t profile;

	(void)state;
	strbuf_init(&message, 8 * MIB);
	resource = wire_begin(&message, 1);
	scope = wire_begin(&message, 2);
	profile = wire_begin(&message, 2);
	put_hex(&message, arena, 1, "08011002");
	for (size_t i = 0; i < 2 * MIB; i++)
		wire_put_bytes(&message, 2, STR(""));
	wire_end(&message, profile);
	wire_end(&message, scope);
	wire_end(&message, resource);
	put_dictionary(&message, &(struct sent){ MALLOC }, arena);
	arena_reset(arena);
	assert_int_equal(decode(strbuf_view(&message), arena, &request, &err), -1);
	assert_non_null(strstr(err.message, "sample value is required"));
	assert_true(arena_used(arena) < message.length);
}

/* A stack of a thousand frames, and profiles of one sample each that all have it. */
static void entries_are_used_no_more_often_than_the_bytes_allow(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(256 * MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	struct otlp_request request;
	struct error err;
	size_t open[2];

	(void)state;
	strbuf_init(&message, 8 * MIB);
	open[0] = wire_begin(&message, 1);
	open[1] = wire_begin(&message, 2);
	for (size_t i = 0; i < 20000; i++) {
		const size_t profile = wire_begin(&message, 2);

		put_hex(&message, arena, 1, "08011002");
		put_hex(&message, arena, 2, "0801220101");
		wire_end(&message, profile);
	}
	wire_end(&message, open[1]);
	wire_end(&message, open[0]);
	open[0] = wire_begin(&message, 2);
	put_hex(&message, arena, 2, "1a00");
	put_hex(&message, arena, 3, "");
	for (size_t i = 0; i < 3; i++)
		wire_put_bytes(&message, 5, STR("x"));
	put_hex(&message, arena, 7, "");
	open[1] = wire_begin(&message, 7);
	{
		const size_t frames = wire_begin(&message, 1);

		for (size_t i = 0; i < 1000; i++)
			wire_put_varint(&message, 0);
		wire_end(&message, frames);
	}
	wire_end(&message, open[1]);
	wire_end(&message, open[0]);
	arena_reset(arena);
	assert_int_equal(decode(strbuf_view(&message), arena, &request, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_non_null(strstr(err.message, "dictionary too often"));
}

/* ---- services ---- */

static void samples_of_services_are_profiles_of_their_own(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	size_t dictionary;

	(void)state;
	/* attribute 2 of the table: service.name = shop */
	(void)make_request(&(struct sent){ MALLOC, .samples = { "0801120102220101", "0802220102",
	                                                        "0802120102220104" } },
	                   &message, arena);
	dictionary = wire_begin(&message, 2);
	put_hex(&message, arena, 6, "08091202400a");
	wire_end(&message, dictionary);
	assert_decodes(strbuf_view(&message), "1.10",
	               "gpu:malloc:bytes:gpu:bytes service_name=shop\na; 1\na;b; 4\n"
	               "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na;b; 2");
}

/* ---- JSON ---- */

static void json_says_the_same(void **state)
{
	static const char *const texts[] = {
		"{\"resourceProfiles\":[{\"resource\":{\"attributes\":[{\"key\":\"service.name\",\"value\":"
		"{\"stringValue\":\"inspektor-gadget\"}}]},\"scopeProfiles\":[{\"profiles\":[{\"sampleType\":"
		"{\"typeStrindex\":1,\"unitStrindex\":2},\"samples\":[{\"stackIndex\":1,\"attributeIndices\":"
		"[1],\"values\":[\"4096\"]}],\"timeUnixNano\":\"1700000000000000000\",\"periodType\":"
		"{\"typeStrindex\":3,\"unitStrindex\":2},\"period\":1}]}]}],\"dictionary\":{\"stringTable\":"
		"[\"\",\"malloc\",\"bytes\",\"process_cuda\",\"proc.comm\",\"cuMemAlloc\",\"main\"],"
		"\"functionTable\":[{},{\"nameStrindex\":5},{\"nameStrindex\":6}],\"locationTable\":[{},"
		"{\"lines\":[{\"functionIndex\":1}]},{\"lines\":[{\"functionIndex\":2}]}],\"stackTable\":"
		"[{},{\"locationIndices\":[1,2]}],\"attributeTable\":[{},{\"keyStrindex\":4,\"value\":"
		"{\"stringValue\":\"python3\"}}]}}",
		/* names of the .proto files and of 1.8, strings as indices, unknown members */
		"{\"resource_profiles\":[{\"resource\":{\"attributes\":[{\"key_strindex\":7,\"value\":"
		"{\"string_value_strindex\":8}}]},\"scope_profiles\":[{\"profiles\":[{\"sample_type\":"
		"{\"type_strindex\":1,\"unit_strindex\":2},\"what\":[{}],\"sample\":[{\"stack_index\":\"1\","
		"\"attribute_indices\":[1],\"values\":[4096]}],\"time_unix_nano\":1700000000000000000,"
		"\"period_type\":{\"type_strindex\":3,\"unit_strindex\":2},\"period\":\"1\"}]}]}],"
		"\"dictionary\":{\"string_table\":[\"\",\"malloc\",\"bytes\",\"process_cuda\",\"proc.comm\","
		"\"cuMemAlloc\",\"main\",\"service.name\",\"inspektor-gadget\"],\"function_table\":[{},"
		"{\"name_strindex\":5},{\"name_strindex\":6}],\"location_table\":[{},"
		"{\"line\":[{\"function_index\":1}]},{\"line\":[{\"function_index\":2}]}],"
		"\"stack_table\":[{},{\"location_indices\":[1,2]}],\"attribute_table\":[{},"
		"{\"key_strindex\":4,\"value\":{\"string_value\":\"python3\"}}]}}",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
		const struct otlp_layout *layout;
		struct str message;
		struct error err = { 0 };

		if (otlp_json_read(str_of(texts[i]), arena, &message, &layout, &err) < 0)
			fail_msg("%s", err.message);
		assert_string_equal(layout->name, "1.10");
		assert_decodes(message, "1.10",
		               "process_cuda:malloc:bytes:process_cuda:bytes" VECTOR_LABELS);
	}
}

static void what_is_no_request_in_json_is_refused(void **state)
{
	static const char *const cases[] = {
		"",
		"{",
		"[]",
		"7",
		"{\"dictionary\":7}",
		"{\"dictionary\":{\"stringTable\":[7]}}",
		"{\"dictionary\":{\"mappingTable\":[{\"memoryStart\":\"x\"}]}}",
		"{\"dictionary\":{\"mappingTable\":[{\"memoryStart\":1.5}]}}",
		"{\"dictionary\":{\"linkTable\":[{\"traceId\":\"!\"}]}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
		const struct otlp_layout *layout;
		struct str message;
		struct error err = { 0 };

		if (otlp_json_read(str_of(cases[i]), arena, &message, &layout, &err) == 0)
			fail_msg("%s was taken", cases[i]);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_profile_is_the_same_in_every_layout),
		cmocka_unit_test(without_a_period_type_it_is_a_process),
		cmocka_unit_test(samples_tell_their_layout),
		cmocka_unit_test(numbers_that_are_not_packed_are_read),
		cmocka_unit_test(both_layouts_in_one_request_are_refused),
		cmocka_unit_test(timestamps_and_values_become_one_value),
		cmocka_unit_test(indices_outside_of_their_tables_are_named),
		cmocka_unit_test(attributes_of_the_resource_are_labels),
		cmocka_unit_test(impossible_times_become_now_and_are_counted),
		cmocka_unit_test(a_request_without_its_parts_is_refused),
		cmocka_unit_test(every_cut_of_a_request_is_refused_or_whole),
		cmocka_unit_test(nested_values_are_no_labels_and_cost_nothing),
		cmocka_unit_test(four_mebibytes_of_empty_samples_are_bounded),
		cmocka_unit_test(entries_are_used_no_more_often_than_the_bytes_allow),
		cmocka_unit_test(samples_of_services_are_profiles_of_their_own),
		cmocka_unit_test(json_says_the_same),
		cmocka_unit_test(what_is_no_request_in_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
