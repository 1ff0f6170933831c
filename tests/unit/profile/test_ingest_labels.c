#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/profile/ingest_fixture.h"

/* A profile of one sample with these labels. */
static void one_sample(struct ingest_fixture *fixture, const char *labels)
{
	const struct ingest_sample sample = { "a", { 1 }, labels };

	ingest_make(fixture, "cpu/nanoseconds", &sample, 1);
	ingest_put_tables(fixture);
}

static const struct label_set *stored_labels(const struct ingest_fixture *fixture)
{
	assert_int_equal(fixture->result.count, 1);
	return &fixture->result.profiles[0].series[0].labels;
}

static void assert_label(const struct ingest_fixture *fixture, const char *name, const char *value)
{
	const struct str *found = label_set_find(stored_labels(fixture), str_of(name));

	if (!value) {
		assert_null(found);
		return;
	}
	assert_non_null(found);
	assert_true(str_equals(*found, value));
}

static void a_missing_service_name_gets_its_default(void **state)
{
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	one_sample(fixture, "");
	assert_int_equal(ingest_go(fixture), 0);
	assert_label(fixture, "service_name", "unknown_service");
	assert_label(fixture, "__service_name__", "unknown_service");
}

static void an_empty_request_label_gives_way_to_a_sample_label(void **state)
{
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	ingest_label(fixture, "service_name", "");
	one_sample(fixture, "service_name=inner");
	assert_int_equal(ingest_go(fixture), 0);
	assert_label(fixture, "service_name", "inner");
}

static void godeltaprof_is_taken_off_the_name(void **state)
{
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "godeltaprof_memory");
	one_sample(fixture, "");
	assert_int_equal(ingest_go(fixture), 0);
	assert_label(fixture, "__name__", "memory");
	assert_label(fixture, "__name_replaced__", "godeltaprof_memory");
	assert_label(fixture, "__delta__", NULL);
	assert_label(fixture, "__profile_type__", "memory:cpu:nanoseconds::");
}

static void wall_of_cpu_is_process_cpu(void **state)
{
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "wall");
	ingest_label(fixture, "__type__", "cpu");
	one_sample(fixture, "");
	assert_int_equal(ingest_go(fixture), 0);
	assert_label(fixture, "__name__", "process_cpu");
	assert_label(fixture, "__name_replaced__", "wall");
}

static void sessions_are_folded_or_dropped(void **state)
{
	static const struct {
		const char *sent;
		size_t sessions;
		const char *stored;
	} cases[] = {
		{ "0500000000000000", 0, NULL },
		{ "0500000000000000", 3, "0200000000000000" },
		{ "0001000000000000", 100, "3800000000000000" }, /* 256 % 100 = 56 */
		{ "FFFFFFFFFFFFFFFF", 16, "0f00000000000000" },
		{ "xyz", 3, NULL },
		{ "05000000000000000", 3, NULL },
	};
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	one_sample(fixture, "");
	fixture->label_count++;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		fixture->labels[1] = (struct label){ STR("__session_id__"), str_of(cases[i].sent) };
		fixture->limits.max_sessions_per_series = cases[i].sessions;
		assert_int_equal(ingest_go(fixture), 0);
		assert_label(fixture, "__session_id__", cases[i].stored);
	}
}

/* One label beside __name__ and service_name. */
struct bad_label {
	struct str name;
	struct str value;
	const char *reason;
	const char *message;
};

static void bad_labels_are_refused_with_their_reason(void **state)
{
	static char x[2049];
	const struct bad_label cases[] = {
		{ STR(""), STR("x"), "invalid_labels",
		  "invalid labels '{=\"x\", __name__=\"cpu\", service_name=\"shop\"}' with error: "
		  "invalid label name ''" },
		{ STR("bad\xff"), STR("x"), "invalid_labels",
		  "with error: invalid label name 'bad\xff'" },
		{ STR("bad"), STR("x\xff"), "invalid_labels",
		  "invalid labels '{__name__=\"cpu\", bad=\"x\\xff\", service_name=\"shop\"}' with "
		  "error: invalid label value 'x\xff'" },
		{ STR("service_name"), STR("shop"), "duplicate_label_names",
		  "profile with labels '{__name__=\"cpu\", service_name=\"shop\", "
		  "service_name=\"shop\"}' has duplicate label name: 'service_name'" },
		{ STR("__name__"), STR("mem"), "duplicate_label_names",
		  "has duplicate label name: '__name__'" },
		{ { x, 1025 }, STR("x"), "label_name_too_long", "has label name too long: 'xxx" },
		{ STR("k"), { x, 2049 }, "label_value_too_long", "has label value too long: 'xxx" },
	};
	struct ingest_fixture *fixture = *state;

	memset(x, 'x', sizeof(x));
	ingest_label(fixture, "service_name", "shop");
	ingest_label(fixture, "__name__", "cpu");
	one_sample(fixture, "");
	fixture->label_count++;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		fixture->labels[2] = (struct label){ cases[i].name, cases[i].value };
		assert_int_equal(ingest_go(fixture), -1);
		assert_int_equal(fixture->err.code, ERROR_INVALID);
		if (!strstr(fixture->err.message, cases[i].message))
			print_error("%s\n", fixture->err.message);
		assert_non_null(strstr(fixture->err.message, cases[i].message));
		assert_string_equal(fixture->result.reason, cases[i].reason);
	}
}

static void labels_at_their_limits_are_stored(void **state)
{
	static char x[2048];
	struct ingest_fixture *fixture = *state;

	memset(x, 'x', sizeof(x));
	ingest_label(fixture, "service_name", "shop");
	ingest_label(fixture, "__name__", "my metric-\xc3\xbc");
	fixture->labels[fixture->label_count++] = (struct label){ { x, 1024 }, { x, 2048 } };
	ingest_label(fixture, "0 with.dot-dash gr\xc3\xb6\xc3\x9f", "1");
	one_sample(fixture, "");
	assert_int_equal(ingest_go(fixture), 0);
	assert_label(fixture, "0 with.dot-dash gr\xc3\xb6\xc3\x9f", "1");
	assert_label(fixture, "__profile_type__", "my metric-\xc3\xbc:cpu:nanoseconds::");
}

static void names_that_must_be_there_are_asked_for(void **state)
{
	static const struct {
		struct label labels[2];
		size_t count;
		const char *message;
	} cases[] = {
		{ { { { 0 }, { 0 } } },
		  0,
		  "invalid labels '{service_name=\"unknown_service\"}' with error: "
		  "invalid metric name" },
		{ { { { "__name__", 8 }, { "", 0 } } }, 1, "with error: invalid metric name" },
		{ { { { "__name__", 8 }, { "\xff", 1 } } }, 1, "with error: invalid metric name" },
		{ { { { "__name__", 8 }, { "godeltaprof_", 12 } } },
		  1,
		  "with error: invalid metric name" },
		{ { { { "__name__", 8 }, { "cpu", 3 } }, { { "service_name", 12 }, { "", 0 } } },
		  2,
		  "invalid labels '{__name__=\"cpu\"}' with error: service name is not provided" },
	};
	struct ingest_fixture *fixture = *state;

	one_sample(fixture, "");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		memcpy(fixture->labels, cases[i].labels, sizeof(cases[i].labels));
		fixture->label_count = cases[i].count;
		assert_int_equal(ingest_go(fixture), -1);
		assert_non_null(strstr(fixture->err.message, cases[i].message));
	}
}

static void sample_labels_count_in_the_limit_on_names(void **state)
{
	static char names[32][8];
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "service_name", "shop");
	ingest_label(fixture, "__name__", "cpu");
	ingest_label(fixture, "__delta__", "false");
	for (int i = 0; i < 26; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "l%02d", i);
		ingest_label(fixture, names[i], "x");
	}
	one_sample(fixture, "s1=x span_id=00000000000000ab");
	assert_int_equal(ingest_go(fixture), 0); /* 30: the span is none of them */
	ingest_label(fixture, "l99", "x");
	assert_int_equal(ingest_go(fixture), -1);
	assert_string_equal(fixture->result.reason, "max_label_names_per_series");
	assert_non_null(strstr(fixture->err.message, "profile series '{__delta__=\"false\", "));
	assert_non_null(strstr(fixture->err.message, "' has 31 label names; limit 30"));
}

static void long_labels_leave_room_for_the_point_of_a_message(void **state)
{
	static char x[2048];
	struct ingest_fixture *fixture = *state;

	memset(x, 'x', sizeof(x));
	fixture->labels[fixture->label_count++] = (struct label){ STR("a"), { x, 2048 } };
	one_sample(fixture, "");
	assert_int_equal(ingest_go(fixture), -1);
	assert_non_null(strstr(fixture->err.message, "...}' with error: invalid metric name"));
}

/* ---- splitting ---- */

static void sample_labels_split_a_profile_into_series(void **state)
{
	static const struct ingest_sample samples[] = {
		{ "main;work", { 30 }, "vm=one env=sample" },
		{ "main;work", { 7 }, "vm=two" },
		{ "main", { 10 }, "" },
		{ "main;work", { 3 }, "" },
		{ "main;work", { 1 }, "env=sample vm=one" }, /* the order is no difference */
		{ "main", { 5 }, "env=other" },              /* the request's label wins */
	};
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	ingest_label(fixture, "service_name", "shop");
	ingest_label(fixture, "env", "dev");
	ingest_make(fixture, "cpu/ns", samples, ARRAY_LENGTH(samples));
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:ns:: env=dev service_name=shop vm=one \n"
	                    "main;work 31\n"
	                    "process_cpu:cpu:ns:: env=dev service_name=shop vm=two \n"
	                    "main;work 7\n"
	                    "process_cpu:cpu:ns:: env=dev service_name=shop \n"
	                    "main 15\nmain;work 3\n");
}

static void spans_and_traces_stay_with_their_samples(void **state)
{
	static const struct ingest_sample samples[] = {
		{ "a;b",
		  { 5 },
		  "span_id=0102030405060708 trace_id=000102030405060708090a0B0c0d0e0f" },
		{ "a;b", { 6 }, "span_id=1112131415161718" },
		{ "a;b", { 7 }, "" },
		{ "a;b", { 1 }, "profile_id=0102030405060708" }, /* the older name */
		{ "a;b", { 2 }, "span_id=1112131415161718" },
		{ "a;b", { 3 }, "span_id=xyz" },
		{ "a;b", { 4 }, "trace_id=0102030405060708" },
		{ "a;b", { 8 }, "span_id=0102030405060708 span_name=pay" },
	};
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	ingest_label(fixture, "service_name", "shop");
	ingest_make(fixture, "cpu/ns", samples, ARRAY_LENGTH(samples));
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:ns:: service_name=shop \n"
	                    "a;b 5 span=0102030405060708 trace=00..0f\n"
	                    "a;b 8 span=1112131415161718\n"
	                    "a;b 14\n"
	                    "a;b 1 span=0102030405060708\n"
	                    "process_cpu:cpu:ns:: service_name=shop span_name=pay \n"
	                    "a;b 8 span=0102030405060708\n");
	assert_non_null(fixture->result.profiles[0].trace_ids);
	assert_null(fixture->result.profiles[1].trace_ids);
}

static void of_a_key_that_comes_twice_the_lower_text_counts(void **state)
{
	static const struct ingest_sample samples[] = {
		{ "a", { 1 }, "k=first k=second" },
		{ "a", { 2 }, "k=second k=first" },
	};
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	ingest_make(fixture, "cpu/ns", samples, ARRAY_LENGTH(samples));
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), 0);
	assert_string_equal(ingest_show(fixture),
	                    "process_cpu:cpu:ns:: k=first service_name=unknown_service \na 3\n");
}

static void a_bad_sample_label_refuses_the_whole_profile(void **state)
{
	static const struct ingest_sample samples[] = {
		{ "a", { 1 }, "" },
		{ "a", { 2 }, "=x" },
	};
	struct ingest_fixture *fixture = *state;

	ingest_label(fixture, "__name__", "process_cpu");
	ingest_make(fixture, "cpu/ns", samples, ARRAY_LENGTH(samples));
	ingest_put_tables(fixture);
	assert_int_equal(ingest_go(fixture), -1);
	assert_string_equal(fixture->result.reason, "invalid_labels");
	assert_int_equal(fixture->result.count, 0);
}

/* 16,000 label sets and twice as many strings: each is a series, in no quadratic time. */
static void thousands_of_label_sets_are_series_each(void **state)
{
	enum {
		COUNT = 16000
	};
	const uint64_t stack[] = { 1 };
	struct ingest_fixture *fixture = *state;
	char text[16];

	ingest_label(fixture, "__name__", "process_cpu");
	pprof_put_type(&fixture->bytes, 1, 1, 1);
	for (uint64_t i = 0; i < COUNT; i++) {
		const size_t begun = wire_begin(&fixture->bytes, 2);
		const uint64_t value = i + 1;
		size_t label;

		pprof_put_packed(&fixture->bytes, 1, stack, 1);
		pprof_put_packed(&fixture->bytes, 2, &value, 1);
		label = wire_begin(&fixture->bytes, 3);
		wire_put_uint(&fixture->bytes, 1, 1);
		wire_put_uint(&fixture->bytes, 2, i + 2);
		wire_end(&fixture->bytes, label);
		wire_end(&fixture->bytes, begun);
	}
	pprof_put_location(&fixture->bytes, 1, 0, 9, 0);
	wire_put_bytes(&fixture->bytes, 6, STR(""));
	wire_put_bytes(&fixture->bytes, 6, STR("k"));
	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(text, sizeof(text), "v%d", i);
		wire_put_bytes(&fixture->bytes, 6, str_of(text));
	}
	assert_int_equal(ingest_go(fixture), 0);
	assert_int_equal(fixture->result.count, COUNT);
	assert_int_equal(fixture->result.profiles[COUNT - 1].series[0].total, COUNT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ingest_set_up, ingest_tear_down)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_missing_service_name_gets_its_default),
		TEST(an_empty_request_label_gives_way_to_a_sample_label),
		TEST(godeltaprof_is_taken_off_the_name),
		TEST(wall_of_cpu_is_process_cpu),
		TEST(sessions_are_folded_or_dropped),
		TEST(bad_labels_are_refused_with_their_reason),
		TEST(labels_at_their_limits_are_stored),
		TEST(names_that_must_be_there_are_asked_for),
		TEST(sample_labels_count_in_the_limit_on_names),
		TEST(long_labels_leave_room_for_the_point_of_a_message),
		TEST(sample_labels_split_a_profile_into_series),
		TEST(spans_and_traces_stay_with_their_samples),
		TEST(of_a_key_that_comes_twice_the_lower_text_counts),
		TEST(a_bad_sample_label_refuses_the_whole_profile),
		TEST(thousands_of_label_sets_are_series_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
