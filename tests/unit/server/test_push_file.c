#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/wire.h"
#include "server/command/push_file.h"

#define ARENA_SIZE (size_t)(16UL * 1024 * 1024)

/* A pprof with the sample type cpu/nanoseconds, time 1 and no sample. */
static const char pprof_bytes[] = "\x0a\x04\x08\x01\x10\x02" /* sample_type { type 1, unit 2 } */
				  "\x32\x00\x32\x03"
				  "cpu"
				  "\x32\x0b"
				  "nanoseconds" /* strings */
				  "\x48\x01";   /* time_nanos 1 */

#define SPEEDSCOPE "  {\"$schema\": \"https://www.speedscope.app/file-format-schema.json\"}"
#define PERF       "app 1 1.5: 1 cycles: \n\t55 main+0x1 (/bin/app)\n"

static struct label_set no_labels(void)
{
	return (struct label_set){ 0 };
}

static struct push_request make(struct str bytes, const struct push_options *options,
                                struct arena *arena)
{
	struct push_request request;
	struct error err = { 0 };

	assert_int_equal(push_request_init(&request, STR("file"), bytes, options, arena, &err), 0);
	return request;
}

static void assert_parameter(const struct push_request *request, const char *parameter)
{
	const char *format = strstr(request->path.data, "&format=");

	assert_int_equal(format != NULL, parameter != NULL);
	if (parameter)
		assert_string_equal(format + strlen("&format="), parameter);
}

static void a_file_is_recognised_by_its_content(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	const struct label_set labels = no_labels();
	const struct push_options options = { .service = STR("shop"),
		                              .labels = &labels,
		                              .suffix = STR("cpu") };
	static const struct {
		struct str bytes;
		const char *taken_for;
		const char *parameter; /* of the path; NULL: not /ingest */
	} cases[] = {
		{ { pprof_bytes, sizeof(pprof_bytes) - 1 }, "a pprof", NULL },
		{ { "main;work 5\n", 12 }, "folded stacks", "folded" },
		{ { "FLR\0\0\x02", 6 }, "a JFR recording", "jfr" },
		{ { SPEEDSCOPE, sizeof(SPEEDSCOPE) - 1 }, "a speedscope file", "speedscope" },
		{ { "\0\0\1\1a\1\1\2;b\2\0", 12 }, "a trie", "trie" },
		{ { "\0\0\1\1a\1\1\1b\2\0", 11 }, "a tree", "tree" },
		{ { PERF, sizeof(PERF) - 1 }, "output of perf script", "folded" },
		{ { "main work\nmain 1", 16 }, "folded stacks", "folded" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct push_request request = make(cases[i].bytes, &options, arena);
		struct strbuf packed;

		assert_string_equal(request.taken_for, cases[i].taken_for);
		assert_parameter(&request, cases[i].parameter);
		push_request_fini(&request);

		strbuf_init(&packed, 4096);
		gzip_deflate(cases[i].bytes, &packed);
		request = make(strbuf_view(&packed), &options, arena);
		assert_string_equal(request.taken_for, cases[i].taken_for);
		assert_parameter(&request, cases[i].parameter);
		push_request_fini(&request);
		strbuf_fini(&packed);
	}
}

static void the_name_of_text_formats_ends_with_the_type(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	struct label label[] = { { STR("env"), STR("a b") } };
	const struct label_set labels = { label, 1 };
	const struct push_options options = { .service = STR("my.shop"),
		                              .labels = &labels,
		                              .suffix = STR("inuse_space"),
		                              .sample_rate = STR("97") };
	struct push_request request = make(STR("main 5\n"), &options, arena);

	(void)state;
	assert_string_equal(request.path.data,
	                    "/ingest?name=my.shop.inuse_space%7Benv%3Da%20b%7D&format=folded"
	                    "&sampleRate=97");
	assert_string_equal(request.body.data, "main 5\n");
	push_request_fini(&request);
}

/* The service as it is, whatever dots it has and whatever a server puts behind the name. */
static void a_speedscope_file_carries_its_service_as_a_label(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	struct label label[] = { { STR("env"), STR("dev") } };
	const struct label_set labels = { label, 1 };
	struct push_options options = { .service = STR("my.shop"), .labels = &labels };
	struct push_request request = make(STR(SPEEDSCOPE), &options, arena);

	(void)state;
	assert_string_equal(request.path.data,
	                    "/ingest?name=my_shop%7Bservice_name%3Dmy.shop%2Cenv%3Ddev%7D"
	                    "&format=speedscope");
	push_request_fini(&request);
	options.suffix = STR("alloc_space");
	request = make(STR(SPEEDSCOPE), &options, arena);
	assert_string_equal(request.path.data,
	                    "/ingest?name=my_shop.alloc_space%7Bservice_name%3Dmy.shop%2C"
	                    "env%3Ddev%7D&format=speedscope");
	push_request_fini(&request);
}

static void output_of_perf_script_is_folded(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	const struct label_set labels = no_labels();
	const struct push_options options = { .service = STR("shop"), .labels = &labels };
	struct push_request request = make(STR(PERF), &options, arena);

	(void)state;
	assert_string_equal(request.path.data, "/ingest?name=shop.cpu%7B%7D&format=folded");
	assert_string_equal(request.body.data, "app;main 1\n");
	push_request_fini(&request);
}

static void what_cannot_be_sent_says_why(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	const struct label_set labels = no_labels();
	const struct push_options options = { .service = STR("shop"), .labels = &labels };
	struct push_request request;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(push_request_init(&request, STR("f"), STR("main;work 30main;idle 5"),
	                                   &options, arena, &err),
	                 -1);
	assert_string_equal(request.taken_for, "folded stacks without line breaks");
	assert_non_null(strstr(err.message, "--data-binary"));
	push_request_fini(&request);
}

static void what_is_nothing_known_is_refused(void **state)
{
	static const struct {
		struct str bytes;
		const char *message;
	} cases[] = {
		{ STR("x"), "nothing that is known" },
		{ STR("{\"a\": 1}"), "nothing that is known" },
		{ STR("all that glitters\n\n"), "nothing that is known" },
		{ { "\x89PNG\r\n\x1a\n\0\0 7\nx 1\n", 18 }, "nothing that is known" },
		{ STR("{\"resourceProfiles\": [{}]}"), "/v1development/profiles" },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	const struct label_set labels = no_labels();
	const struct push_options options = { .service = STR("shop"), .labels = &labels };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct push_request request;
		struct error err = { 0 };

		assert_int_equal(push_request_init(&request, STR("f"), cases[i].bytes, &options,
		                                   arena, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_non_null(strstr(err.message, cases[i].message));
		push_request_fini(&request);
	}
}

static void lines_that_are_left_out_are_told(void **state)
{
	static const struct {
		const char *bytes;
		const char *note;
	} cases[] = {
		{ "main;work 1\n\nmain 2\n", NULL },
		{ "main;work\nmain;idle 5", "1 of 2 lines, the first of them line 1," },
		{ "a 1\nb\nc\nd 2\n", "2 of 4 lines, the first of them line 2," },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	const struct label_set labels = no_labels();
	const struct push_options options = { .service = STR("shop"), .labels = &labels };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct push_request request = make(str_of(cases[i].bytes), &options, arena);

		if (cases[i].note)
			assert_true(str_starts_with(request.note, str_of(cases[i].note)));
		else
			assert_int_equal(request.note.length, 0);
		push_request_fini(&request);
	}
}

static void what_a_pprof_does_not_heed_is_told(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	const struct label_set labels = no_labels();
	struct push_options options = { .service = STR("shop"), .labels = &labels };
	const struct str bytes = { pprof_bytes, sizeof(pprof_bytes) - 1 };
	struct push_request request = make(bytes, &options, arena);

	(void)state;
	assert_int_equal(request.note.length, 0);
	push_request_fini(&request);
	options.sample_rate = STR("12");
	request = make(bytes, &options, arena);
	assert_true(str_find(request.note, STR("--sample-rate")) >= 0);
	push_request_fini(&request);
}

static void a_label_that_the_name_cannot_carry_is_refused(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	struct label label[] = { { STR("list"), STR("a,b") } };
	const struct label_set labels = { label, 1 };
	const struct push_options options = { .service = STR("shop"),
		                              .labels = &labels,
		                              .suffix = STR("cpu") };
	struct push_request request;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		push_request_init(&request, STR("f"), STR("main 5\n"), &options, arena, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	push_request_fini(&request);
}

/* The last time_nanos of the pprof inside a push request. */
static uint64_t time_of(struct str body)
{
	static const uint32_t way[] = { 1, 2, 1 }; /* series, sample, raw_profile */
	struct wire_field field = { 0 };
	uint64_t time = 0;

	for (size_t i = 0; i < ARRAY_LENGTH(way); i++) {
		struct wire_reader reader = wire_reader(body);

		while (wire_next(&reader, &field) > 0)
			if (field.number == way[i])
				body = field.bytes;
		assert_true(body.length > 0);
	}

	struct wire_reader reader = wire_reader(body);

	while (wire_next(&reader, &field) > 0)
		if (field.number == 9)
			time = field.value;
	return time;
}

static void a_pprof_keeps_its_time_unless_told_otherwise(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_SIZE, NULL);
	const struct label_set labels = no_labels();
	const struct str bytes = { pprof_bytes, sizeof(pprof_bytes) - 1 };
	struct push_options options = { .service = STR("shop"), .labels = &labels };
	struct push_request request = make(bytes, &options, arena);

	(void)state;
	assert_string_equal(request.path.data, "/push.v1.PusherService/Push");
	assert_int_equal(time_of(strbuf_view(&request.body)), 1);
	push_request_fini(&request);
	options.override_unix_ns = INT64_C(1767225600000000000);
	request = make(bytes, &options, arena);
	assert_int_equal(time_of(strbuf_view(&request.body)), INT64_C(1767225600000000000));
	push_request_fini(&request);
}

static void sample_types_say_what_was_measured(void **state)
{
	static const struct {
		struct str types[4];
		size_t count;
		const char *path;
		const char *metric;
	} cases[] = {
		{ { STR("samples"), STR("cpu") }, 2, "f", "process_cpu" },
		{ { STR("alloc_objects"), STR("inuse_space") }, 2, "f", "memory" },
		{ { STR("samples"), STR("wall") }, 2, "f", "wall" },
		{ { STR("goroutine") }, 1, "f", "goroutine" },
		{ { STR("contentions"), STR("delay") }, 2, "mutex.pb.gz", "mutex" },
		{ { STR("contentions"), STR("delay") }, 2, "block.pb.gz", "block" },
		{ { STR("gpu_time") }, 1, "f", "gpu_time" },
		{ { STR("") }, 1, "f", "unknown" },
		{ { STR("") }, 0, "f", "unknown" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_true(str_equals(push_metric_name(cases[i].types, cases[i].count,
		                                        str_of(cases[i].path)),
		                       cases[i].metric));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_recognised_by_its_content),
		cmocka_unit_test(the_name_of_text_formats_ends_with_the_type),
		cmocka_unit_test(a_speedscope_file_carries_its_service_as_a_label),
		cmocka_unit_test(output_of_perf_script_is_folded),
		cmocka_unit_test(what_cannot_be_sent_says_why),
		cmocka_unit_test(what_is_nothing_known_is_refused),
		cmocka_unit_test(lines_that_are_left_out_are_told),
		cmocka_unit_test(what_a_pprof_does_not_heed_is_told),
		cmocka_unit_test(a_label_that_the_name_cannot_carry_is_refused),
		cmocka_unit_test(a_pprof_keeps_its_time_unless_told_otherwise),
		cmocka_unit_test(sample_types_say_what_was_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
