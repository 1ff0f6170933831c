#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "decoded.h"

#define ARENA_BYTES ((size_t)4 << 20)
#define BODY        "foo;bar 10\nfoo;baz 20\nfoo;bar 5\n"

static void folded_text_becomes_a_profile_by_its_suffix(void **state)
{
	static const struct {
		const char *query;
		const char *body;
		const char *type;
		const char *samples;
	} cases[] = {
		{ "name=svc.cpu{env=dev}&from=1700000000", BODY,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		  "foo;bar 150000000|foo;baz 200000000|" },
		{ "name=svc", BODY, "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		  "foo;bar 150000000|foo;baz 200000000|" },
		{ "name=svc.itimer", BODY, "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		  "foo;bar 150000000|foo;baz 200000000|" },
		{ "name=svc.cpu&sampleRate=0", BODY,
		  "process_cpu:samples:count::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.cpu&sampleRate=97", BODY, "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		  "foo;bar 154639170|foo;baz 206185560|" },
		{ "name=svc.cpu&sampleRate=abc", BODY,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		  "foo;bar 150000000|foo;baz 200000000|" },
		{ "name=svc.cpu&sampleRate=2000000000", BODY,
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "foo;bar 0|foo;baz 0|" },
		{ "name=svc.alloc_space", BODY,
		  "memory:alloc_space:bytes::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.wall", BODY, "wall:wall:nanoseconds:cpu:nanoseconds",
		  "foo;bar 150000000|foo;baz 200000000|" },
		{ "name=svc.wall&sampleRate=0", BODY,
		  "wall:samples:count::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.seconds", BODY, "wall:wall:nanoseconds:cpu:nanoseconds",
		  "foo;bar 150000000|foo;baz 200000000|" },
		{ "name=svc.inuse_objects", BODY,
		  "memory:inuse_objects:count::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.live", BODY, "memory:live:count::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.bytes", BODY, "memory:samples:bytes::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.goroutines", BODY,
		  "goroutine:goroutines:count::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.mutex_count", BODY,
		  "mutex:contentions:count::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.lock_duration", BODY,
		  "block:delay:nanoseconds::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.exceptions", BODY,
		  "exceptions:samples:count::", "foo;bar 15|foo;baz 20|" },
		{ "name=svc.cpu&format=lines", "a;b\na;b\n\na;c\n",
		  "process_cpu:cpu:nanoseconds:cpu:nanoseconds", "a;b 20000000|a;c 10000000|" },
		{ "name=svc.alloc_objects&format=lines", "a;b 5\r\na;b 5",
		  "memory:alloc_objects:count::", "a;b 5 2|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf text;
		struct format_output out;
		struct error err = { 0 };

		strbuf_init(&text, 10000);
		assert_int_equal(decoded_run(arena, cases[i].query, STR(""), str_of(cases[i].body),
		                             &out, &err),
		                 0);
		assert_int_equal(out.count, 1);
		decoded_type(&out, 0, &text);
		assert_string_equal(text.data, cases[i].type);
		strbuf_reset(&text);
		decoded_samples(&out, &text);
		assert_string_equal(text.data, cases[i].samples);
	}
}

static void lines_are_split_at_their_last_blank(void **state)
{
	static const struct {
		const char *body;
		const char *samples;
	} cases[] = {
		{ "main;do it now 1\r\nnothing\n\nmain;last +2\nmain;end 3",
		  "main;do it now 1|main;last 2|main;end 3|" },
		{ "a;;b 1\n;c 2\nd; 4\n 8\n", "a;;b 1|;c 2|d 4| 8|" },
		{ "; 1\n;; 2\n", " 1|; 2|" },
		{ "d; 1\nd 2\n", "d 3|" },
		{ "foo -5\nfoo 0\nbar 1\n", "foo -5|bar 1|" },
		{ "a 9223372036854775807\na 2\n", "a -9223372036854775807|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

		decoded_gives(arena, "name=a.cpu&sampleRate=0", str_of(cases[i].body),
		              cases[i].samples);
	}
}

static void nothing_to_store_is_a_success(void **state)
{
	static const struct {
		const char *query;
		const char *body;
	} cases[] = {
		{ "name=svc.cpu", "" },
		{ "name=svc.cpu", "\n\n" },
		{ "name=svc.cpu", "nospacehere" },
		{ "name=svc.cpu", "a 0\n" },
		{ "name=svc.cpu{profile_id=1}", BODY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct format_output out;
		struct error err = { 0 };

		assert_int_equal(decoded_run(arena, cases[i].query, STR(""), str_of(cases[i].body),
		                             &out, &err),
		                 0);
		assert_int_equal(out.count, 0);
	}
}

static void failures_say_how_far_the_body_was_good(void **state)
{
	static const struct {
		const char *query;
		const char *body;
		enum format_stage stage;
		const char *message;
	} cases[] = {
		{ "name=svc.cpu", "foo;bar x\n", FORMAT_PARSING,
		  "strconv.Atoi: parsing \"x\": invalid syntax (line 1)" },
		{ "name=svc.cpu", "a 1\nfoo;bar 1.5\n", FORMAT_PARSING,
		  "strconv.Atoi: parsing \"1.5\": invalid syntax (line 2)" },
		{ "name=svc.cpu", "[object FormData]", FORMAT_PARSING,
		  "strconv.Atoi: parsing \"FormData]\": invalid syntax (line 1)" },
		{ "name=svc.cpu", "a -99999999999999999999\n", FORMAT_PARSING,
		  "strconv.Atoi: parsing \"-99999999999999999999\": value out of range (line 1)" },
		{ "name=svc.cpu", "a \n", FORMAT_PARSING,
		  "strconv.Atoi: parsing \"\": invalid syntax (line 1)" },
		{ "name=svc.app", BODY, FORMAT_STORING,
		  "pyroscopeIngesterAdapter failed to convert metadata: unknown profile "
		  "type: app" },
		{ "name=svc.", BODY, FORMAT_STORING,
		  "pyroscopeIngesterAdapter failed to convert metadata: unknown profile type: " },
		{ "name=svc.cpu", "main;\xff 10\n", FORMAT_STORING,
		  "pyroscopeIngesterAdapter failed to marshal pprof: string field contains "
		  "invalid UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);

		decoded_fails(arena, cases[i].query, str_of(cases[i].body), cases[i].stage,
		              cases[i].message);
	}
}

static void the_app_names_the_service_unless_a_label_does(void **state)
{
	static const struct {
		const char *query;
		const char *service_name;
		const char *app_name;
	} cases[] = {
		{ "name=svc.cpu", "svc", NULL },
		{ "name=svc.web.cpu", "svc.web", NULL },
		{ "name=svc", "svc", NULL },
		{ "name=svc.cpu{service_name=x}", "x", "svc" },
		{ "name=svc.cpu{service_name=x,app_name=mine}", "x", "mine" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct format_output out;
		struct error err = { 0 };

		assert_int_equal(decoded_run(arena, cases[i].query, STR(""), STR(BODY), &out, &err),
		                 0);
		assert_true(str_equals(decoded_label(&out, "service_name"), cases[i].service_name));
		assert_true(cases[i].app_name
		                    ? str_equals(decoded_label(&out, "app_name"), cases[i].app_name)
		                    : decoded_label(&out, "app_name").data == NULL);
	}
}

static void the_time_is_from(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(decoded_run(arena, "name=a.cpu&from=1600000000", STR(""), STR(BODY), &out,
	                             &err),
	                 0);
	assert_int_equal(out.profiles[0].input->profile.time_unix_ns, INT64_C(1600000000000000000));
}

/* Rate, format and suffix say what the bytes mean, and are in no label of the group. */
static void equal_bytes_that_are_read_otherwise_are_no_retry(void **state)
{
	static const struct {
		const char *query;
		bool is_retry;
	} cases[] = {
		{ "name=a.cpu&from=1600000000", true },
		{ "name=a.cpu&from=1600000000&sampleRate=100&units=samples", true },
		{ "name=a.cpu&from=1600000000&sampleRate=5", false },
		{ "name=a.cpu&from=1600000000&format=lines", false },
		{ "name=a.itimer&from=1600000000", false },
		{ "name=a&from=1600000000", false },
	};
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output first;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(decoded_run(arena, "name=a.cpu&from=1600000000", STR(""), STR(BODY),
	                             &first, &err),
	                 0);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct format_output out;

		assert_int_equal(decoded_run(arena, cases[i].query, STR(""), STR(BODY), &out, &err),
		                 0);
		assert_true(str_equal(out.profiles[0].payload, first.profiles[0].payload));
		assert_int_equal(str_equal(out.profiles[0].sender_id, first.profiles[0].sender_id),
		                 cases[i].is_retry);
	}
}

static void long_lines_and_many_stacks_are_bounded_by_limits_only(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)64 << 20, NULL);
	CLEANUP(strbuf_fini) struct strbuf body;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&body, 1 << 20);
	for (int i = 0; i < 100000; i++)
		strbuf_add_text(&body, "f;");
	strbuf_add_text(&body, "leaf 1\n");
	assert_int_equal(decoded_run(arena, "name=a.cpu", STR(""), strbuf_view(&body), &out, &err),
	                 0);
	assert_int_equal(out.profiles[0].input->profile.samples[0].depth, 100001);

	strbuf_reset(&body);
	for (size_t i = 0; i <= decoded_limits.max_samples; i++)
		strbuf_printf(&body, "f%zu 1\n", i);
	assert_int_equal(decoded_run(arena, "name=a.cpu", STR(""), strbuf_view(&body), &out, &err),
	                 0);
	assert_int_equal(out.stage, FORMAT_STORING);
	assert_int_equal(out.profiles[0].input->samples_sent, decoded_limits.max_samples + 1);
	assert_int_equal(out.profiles[0].input->profile.sample_count, decoded_limits.max_samples);
}

static void a_full_arena_is_an_error(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf body;

	(void)state;
	strbuf_init(&body, 1 << 20);
	for (int i = 0; i < 1000; i++)
		strbuf_printf(&body, "f%d;g%d 1\n", i, i);
	for (size_t limit = 4096; limit < 200000; limit += 4096) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(limit, NULL);
		struct format_output out;
		struct error err = { 0 };

		if (decoded_run(arena, "name=a.cpu", STR(""), strbuf_view(&body), &out, &err) < 0)
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		else
			assert_int_equal(out.profiles[0].input->profile.sample_count, 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_text_becomes_a_profile_by_its_suffix),
		cmocka_unit_test(lines_are_split_at_their_last_blank),
		cmocka_unit_test(nothing_to_store_is_a_success),
		cmocka_unit_test(failures_say_how_far_the_body_was_good),
		cmocka_unit_test(the_app_names_the_service_unless_a_label_does),
		cmocka_unit_test(the_time_is_from),
		cmocka_unit_test(equal_bytes_that_are_read_otherwise_are_no_retry),
		cmocka_unit_test(long_lines_and_many_stacks_are_bounded_by_limits_only),
		cmocka_unit_test(a_full_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
