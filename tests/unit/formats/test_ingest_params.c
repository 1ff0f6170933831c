#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "formats/ingest_params.h"

#define ARENA_BYTES ((size_t)1 << 20)
#define NOW_S       INT64_C(1700000000)
#define NOW_NS      (NOW_S * NS_PER_S)

static struct ingest_params parse(struct arena *arena, const char *query)
{
	struct ingest_params params;
	struct error err = { 0 };

	assert_int_equal(ingest_params_parse(str_of(query), NOW_NS, arena, &params, &err), 0);
	return params;
}

static void assert_str(struct str text, const char *expected)
{
	assert_int_equal(text.length, strlen(expected));
	assert_memory_equal(text.data, expected, text.length);
}

static void what_is_not_said_has_a_default(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct ingest_params params = parse(arena, "name=a");

	(void)state;
	assert_str(params.name.app, "a");
	assert_int_equal(params.from_unix_ns, NOW_NS);
	assert_int_equal(params.until_unix_ns, NOW_NS);
	assert_int_equal(params.sample_rate, 100);
	assert_str(params.spy_name, "unknown");
	assert_int_equal(params.format.length, 0);
}

static void everything_said_is_read_and_the_rest_ignored(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct ingest_params params =
		parse(arena, "units=bytes&aggregationType=average&spyVersion=1&from=1700000000&"
	                     "until=1700000010&sampleRate=97&spyName=gospy&format=pprof&"
	                     "name=a%7Bk%3Dx+y,l=1%2B2%7D&name=other&format=jfr");

	(void)state;
	assert_str(params.name.app, "a");
	assert_str(params.name.labels.labels[0].value, "x y");
	assert_str(params.name.labels.labels[1].value, "1+2");
	assert_int_equal(params.from_unix_ns, NOW_NS);
	assert_int_equal(params.until_unix_ns, NOW_NS + 10 * NS_PER_S);
	assert_int_equal(params.sample_rate, 97);
	assert_str(params.spy_name, "gospy");
	assert_str(params.format, "pprof");
}

static void a_sample_rate_that_is_none_is_100(void **state)
{
	static const struct {
		const char *text;
		uint32_t rate;
	} cases[] = {
		{ "", 100 },
		{ "abc", 100 },
		{ "-1", 100 },
		{ "1.5", 100 },
		{ "0", 0 },
		{ "1", 1 },
		{ "4294967295", UINT32_MAX },
		{ "4294967296", 100 },
		{ "99999999999999999999", 100 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct str query = arena_printf(arena, "name=a&sampleRate=%s", cases[i].text);

		assert_int_equal(parse(arena, query.data).sample_rate, cases[i].rate);
	}
}

static void times_are_read_as_the_specification_lists_them(void **state)
{
	static const struct {
		const char *from;
		int64_t expected_ns;
	} cases[] = {
		{ "20200101", INT64_C(1577836800) * NS_PER_S },
		{ "1577836800", INT64_C(1577836800) * NS_PER_S },
		{ "1577836800123", INT64_C(1577836800123) * NS_PER_MS },
		{ "1577836800123456", INT64_C(1577836800123456) * NS_PER_US },
		{ "1577836800123456789", INT64_C(1577836800123456789) },
		{ "0", 0 },
		{ "now", NOW_NS },
		{ "now-1h", NOW_NS - 3600 * NS_PER_S },
		{ "-1h", NOW_NS - 3600 * NS_PER_S },
		{ "foo-1h", NOW_NS - 3600 * NS_PER_S },
		{ "now-1h30m", NOW_NS - 3600 * NS_PER_S },
		{ "now%2B1h", NOW_NS + 3600 * NS_PER_S },
		{ "now+1h", NOW_NS },
		{ "now-1", NOW_NS },
		{ "1577836800.5", NOW_NS },
		{ "-5", NOW_NS },
		{ "abc", NOW_NS },
		{ "1e9", NOW_NS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct str query = arena_printf(arena, "name=a&from=%s", cases[i].from);

		assert_int_equal(parse(arena, query.data).from_unix_ns, cases[i].expected_ns);
	}
}

static void a_bad_name_says_what_it_is_about(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct ingest_params params;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(ingest_params_parse(STR("from=1"), NOW_NS, arena, &params, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_string_equal(err.message, "name: service name is required");
	/* a pair with a broken escape is no pair */
	assert_int_equal(ingest_params_parse(STR("name=a%zz"), NOW_NS, arena, &params, &err), -1);
	assert_string_equal(err.message, "name: service name is required");
}

static void labels_name_metric_spy_and_service(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct ingest_params params = parse(arena, "name=a{k=v}&spyName=gospy");
	struct label_set labels;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(ingest_params_labels(&params, STR("wall"), STR("a"), arena, &labels, &err),
	                 0);
	assert_int_equal(labels.count, 5);
	label_set_sort(&labels);
	assert_str(*label_set_find(&labels, STR("__name__")), "wall");
	assert_str(*label_set_find(&labels, STR("__delta__")), "false");
	assert_str(*label_set_find(&labels, STR("pyroscope_spy")), "gospy");
	assert_str(*label_set_find(&labels, STR("k")), "v");
	assert_str(*label_set_find(&labels, STR("service_name")), "a");

	params = parse(arena, "name=a{service_name=}");
	assert_int_equal(ingest_params_labels(&params, STR("wall"), STR("a"), arena, &labels, &err),
	                 0);
	assert_int_equal(labels.count, 4);
	assert_int_equal(ingest_params_label(&params, "service_name")->length, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_said_has_a_default),
		cmocka_unit_test(everything_said_is_read_and_the_rest_ignored),
		cmocka_unit_test(a_sample_rate_that_is_none_is_100),
		cmocka_unit_test(times_are_read_as_the_specification_lists_them),
		cmocka_unit_test(a_bad_name_says_what_it_is_about),
		cmocka_unit_test(labels_name_metric_spy_and_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
