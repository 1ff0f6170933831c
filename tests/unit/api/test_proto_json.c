#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/proto_bytes.h"
#include "api/proto_json.h"
#include "proto/querier.pb-c.h"
#include "proto/services.pb-c.h"

#define ARENA_BYTES ((size_t)1 << 20)

/* Reads `text` as a message; fails the test when it does not read. */
static const void *read_as(const ProtobufCMessageDescriptor *descriptor, const char *text,
                           struct arena *arena)
{
	ProtobufCMessage *message = NULL;
	struct error err = { 0 };

	if (proto_json_read(str_of(text), descriptor, arena, &message, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	return message;
}

static void refuses(const ProtobufCMessageDescriptor *descriptor, const char *text)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	ProtobufCMessage *message = NULL;
	struct error err = { 0 };

	if (proto_json_read(str_of(text), descriptor, arena, &message, &err) == 0)
		fail_msg("was read: %s", text);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_null(message);
}

static void writes(const ProtobufCMessage *message, const char *text)
{
	struct strbuf out;

	strbuf_init(&out, ARENA_BYTES);
	proto_json_write(message, &out);
	assert_string_equal(out.data, text);
	strbuf_fini(&out);
}

#define REQUEST  (&querier__v1__select_merge_stacktraces_request__descriptor)
#define SERIES   (&querier__v1__select_series_request__descriptor)
#define RANGE    (&querier__v1__profile_types_request__descriptor)
#define MATCHERS (&types__v1__label_names_request__descriptor)

static void both_styles_of_names_may_be_mixed(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const Querier__V1__SelectMergeStacktracesRequest *request =
		read_as(REQUEST,
	                "{\"profile_typeID\":\"a:b:c:d:e\",\"label_selector\":\"{}\",\"start\":1,"
	                "\"end\":\"2\",\"stackTraceSelector\":{\"call_site\":[{\"name\":\"f\"}]},"
	                "\"maxNodes\":7}",
	                arena);

	(void)state;
	assert_true(str_equals(proto_str(request->profile_typeid), "a:b:c:d:e"));
	assert_true(str_equals(proto_str(request->label_selector), "{}"));
	assert_int_equal(request->start, 1);
	assert_int_equal(request->end, 2);
	assert_int_equal(request->max_nodes, 7);
	assert_int_equal(request->stack_trace_selector->n_call_site, 1);
	assert_true(str_equals(proto_str(request->stack_trace_selector->call_site[0]->name), "f"));
	request = read_as(REQUEST, "{\"profileTypeID\":\"x\"}", arena);
	assert_true(str_equals(proto_str(request->profile_typeid), "x"));
}

static void names_are_matched_by_exact_case(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const Querier__V1__SelectMergeStacktracesRequest *request = read_as(
		REQUEST, "{\"profileTypeId\":\"x\",\"Start\":5,\"LabelSelector\":\"y\"}", arena);

	(void)state;
	assert_int_equal(request->profile_typeid.len, 0);
	assert_int_equal(request->label_selector.len, 0);
	assert_int_equal(request->start, 0);
}

static void unknown_fields_and_nulls_are_skipped(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const Types__V1__LabelNamesRequest *request = read_as(
		MATCHERS,
		"{\"bogus\":{\"a\":[1,2]},\"start\":null,\"x\":null,\"matchers\":null,\"end\":9}",
		arena);

	(void)state;
	assert_int_equal(request->start, 0);
	assert_int_equal(request->end, 9);
	assert_int_equal(request->n_matchers, 0);
}

static void a_field_given_twice_is_refused_under_either_name(void **state)
{
	(void)state;
	refuses(RANGE, "{\"start\":1,\"start\":1}");
	refuses(REQUEST, "{\"labelSelector\":\"{}\",\"label_selector\":\"{}\"}");
	refuses(REQUEST, "{\"maxNodes\":null,\"max_nodes\":1}");
}

static void integers_have_many_forms(void **state)
{
	static const char *const texts[] = {
		"{\"start\":1500}",   "{\"start\":\"1500\"}", "{\"start\":1.5e3}",
		"{\"start\":1500.0}", "{\"start\":\"15e2\"}", "{\"start\":\"1500.0\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const Querier__V1__ProfileTypesRequest *request = read_as(RANGE, texts[i], arena);

		assert_int_equal(request->start, 1500);
	}
}

static void what_is_no_integer_is_refused(void **state)
{
	static const char *const texts[] = {
		"{\"start\":1.5}",
		"{\"start\":\"x\"}",
		"{\"start\":\"\"}",
		"{\"start\":true}",
		"{\"start\":[1]}",
		"{\"start\":\" 1000\"}",
		"{\"start\":{}}",
		"{\"start\":99999999999999999999}",
		"{\"start\":\"9223372036854775808\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refuses(RANGE, texts[i]);
	refuses(REQUEST, "{\"stackTraceSelector\":{\"goPgo\":{\"keepLocations\":-1}}}");
	refuses(REQUEST, "{\"stackTraceSelector\":{\"goPgo\":{\"keepLocations\":4294967296}}}");
}

static void only_an_object_is_a_message(void **state)
{
	static const char *const texts[] = { "[]",   "null", "\"x\"",          "1",     "true", "{",
		                             "{} x", "{}{}", "{\"start\":01}", "hello", "" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		refuses(RANGE, texts[i]);
	refuses(REQUEST, "{\"stackTraceSelector\":[]}");
	refuses(REQUEST, "{\"stackTraceSelector\":\"x\"}");
}

static void lists_are_lists(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const Types__V1__LabelNamesRequest *request =
		read_as(MATCHERS, "{\"matchers\":[\"a\",\"\"]}", arena);

	(void)state;
	assert_int_equal(request->n_matchers, 2);
	assert_true(str_equals(proto_str(request->matchers[0]), "a"));
	assert_int_equal(request->matchers[1].len, 0);
	refuses(MATCHERS, "{\"matchers\":\"{}\"}");
	refuses(MATCHERS, "{\"matchers\":{\"a\":1}}");
	refuses(MATCHERS, "{\"matchers\":[1]}");
	refuses(MATCHERS, "{\"matchers\":[null]}");
}

static void unknown_enum_names_are_ignored_and_unknown_numbers_kept(void **state)
{
	static const struct {
		const char *text;
		int format;
	} cases[] = {
		{ "{\"format\":\"PROFILE_FORMAT_TREE\"}", 2 },
		{ "{\"format\":2}", 2 },
		{ "{\"format\":2.0}", 2 },
		{ "{\"format\":99}", 99 },
		{ "{\"format\":\"TREE\"}", 0 },
		{ "{\"format\":\"2\"}", 0 },
		{ "{\"format\":\"profile_format_tree\"}", 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const Querier__V1__SelectMergeStacktracesRequest *request =
			read_as(REQUEST, cases[i].text, arena);

		assert_int_equal(request->format, cases[i].format);
	}
	refuses(REQUEST, "{\"format\":1.5}");
	refuses(REQUEST, "{\"format\":true}");
	refuses(REQUEST, "{\"format\":[]}");
}

static void presence_is_seen_where_it_matters(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const Querier__V1__SelectSeriesRequest *request = read_as(SERIES, "{}", arena);

	(void)state;
	assert_int_equal(request->aggregation_presence_case, 0);
	request = read_as(SERIES, "{\"aggregation\":\"x\"}", arena);
	assert_int_equal(request->aggregation_presence_case, 0);
	request = read_as(SERIES, "{\"aggregation\":null}", arena);
	assert_int_equal(request->aggregation_presence_case, 0);
	request = read_as(SERIES, "{\"aggregation\":\"TIME_SERIES_AGGREGATION_TYPE_SUM\"}", arena);
	assert_int_equal(request->aggregation_presence_case, 7);
	assert_int_equal(request->aggregation, 0);
}

static void doubles_and_booleans_are_read(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const Querier__V1__SelectSeriesRequest *request =
		read_as(SERIES, "{\"step\":\"Infinity\"}", arena);
	const Types__V1__GoPGO *go_pgo =
		read_as(&types__v1__go_pgo__descriptor, "{\"aggregateCallees\":true}", arena);

	(void)state;
	assert_true(request->step == __builtin_inf());
	request = read_as(SERIES, "{\"step\":15}", arena);
	assert_true(request->step == 15);
	request = read_as(SERIES, "{\"step\":\"0.5\"}", arena);
	assert_true(request->step == 0.5);
	assert_true(go_pgo->aggregate_callees);
	refuses(SERIES, "{\"step\":\"x\"}");
	refuses(SERIES, "{\"step\":true}");
	refuses(&types__v1__go_pgo__descriptor, "{\"aggregateCallees\":1}");
	refuses(&types__v1__go_pgo__descriptor, "{\"aggregateCallees\":\"true\"}");
}

static void texts_may_hold_nul_and_escapes(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const Types__V1__LabelNamesRequest *request =
		read_as(MATCHERS, "{\"matchers\":[\"a\\u0000b\\u00e4\\/\"]}", arena);

	(void)state;
	assert_true(str_equal(proto_str(request->matchers[0]), STR("a\0b\xc3\xa4/")));
}

static void base64_is_read_in_both_alphabets(void **state)
{
	static const char *const texts[] = { "{\"tree\":\"+/8=\"}", "{\"tree\":\"-_8\"}" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const Querier__V1__SelectMergeStacktracesResponse *response =
			read_as(&querier__v1__select_merge_stacktraces_response__descriptor,
		                texts[i], arena);

		assert_true(str_equal(proto_str(response->tree), STR("\xfb\xff")));
	}
	refuses(&querier__v1__select_merge_stacktraces_response__descriptor, "{\"tree\":\"!\"}");
}

static void defaults_are_left_out(void **state)
{
	Types__V1__GetProfileStatsResponse stats = TYPES__V1__GET_PROFILE_STATS_RESPONSE__INIT;
	Services__V1__VersionResponse version = SERVICES__V1__VERSION_RESPONSE__INIT;

	(void)state;
	writes(&stats.base, "{}");
	stats.data_ingested = 1;
	stats.oldest_profile_time = 1767225600000;
	writes(&stats.base, "{\"dataIngested\":true,\"oldestProfileTime\":\"1767225600000\"}");
	version.querierapi = 1;
	writes(&version.base, "{\"QuerierAPI\":\"1\"}");
}

static void a_set_message_of_defaults_is_an_empty_object(void **state)
{
	Types__V1__Labels empty = TYPES__V1__LABELS__INIT;
	Types__V1__Labels *list[] = { &empty };
	Querier__V1__SeriesResponse response = QUERIER__V1__SERIES_RESPONSE__INIT;

	(void)state;
	response.n_labels_set = 1;
	response.labels_set = list;
	writes(&response.base, "{\"labelsSet\":[{}]}");
}

static void what_has_presence_is_written_even_when_zero(void **state)
{
	Services__V1__FeatureFlag flag = SERVICES__V1__FEATURE_FLAG__INIT;

	(void)state;
	flag.name = proto_bytes(STR("x"));
	flag.description_presence_case =
		SERVICES__V1__FEATURE_FLAG__DESCRIPTION_PRESENCE_DESCRIPTION;
	flag.description = proto_bytes(STR(""));
	writes(&flag.base, "{\"name\":\"x\",\"description\":\"\"}");
}

static void profile_types_are_written_as_in_the_specification(void **state)
{
	Types__V1__ProfileType type = TYPES__V1__PROFILE_TYPE__INIT;
	Types__V1__ProfileType *list[] = { &type };
	Querier__V1__ProfileTypesResponse response = QUERIER__V1__PROFILE_TYPES_RESPONSE__INIT;

	(void)state;
	type.id = proto_bytes(STR("process_cpu:cpu:nanoseconds:cpu:nanoseconds"));
	type.name = proto_bytes(STR("process_cpu"));
	type.sample_type = proto_bytes(STR("cpu"));
	type.sample_unit = proto_bytes(STR("nanoseconds"));
	type.period_type = proto_bytes(STR("cpu"));
	type.period_unit = proto_bytes(STR("nanoseconds"));
	response.n_profile_types = 1;
	response.profile_types = list;
	writes(&response.base,
	       "{\"profileTypes\":[{\"ID\":\"process_cpu:cpu:nanoseconds:cpu:nanoseconds\","
	       "\"name\":\"process_cpu\",\"sampleType\":\"cpu\",\"sampleUnit\":\"nanoseconds\","
	       "\"periodType\":\"cpu\",\"periodUnit\":\"nanoseconds\"}]}");
}

static void numbers_lists_and_enums_are_written_by_type(void **state)
{
	int64_t values[] = { 0, -5 };
	double edges[] = { 5, 0.5 };
	int32_t counts[] = { 0, 3 };
	Querier__V1__Level level = QUERIER__V1__LEVEL__INIT;
	Types__V1__HeatmapSlot slot = TYPES__V1__HEATMAP_SLOT__INIT;
	Services__V1__HealthCheckResponse health = SERVICES__V1__HEALTH_CHECK_RESPONSE__INIT;

	(void)state;
	level.n_values = 2;
	level.values = values;
	writes(&level.base, "{\"values\":[\"0\",\"-5\"]}");
	slot.n_y_min = 2;
	slot.y_min = edges;
	slot.n_counts = 2;
	slot.counts = counts;
	writes(&slot.base, "{\"yMin\":[5,0.5],\"counts\":[0,3]}");
	health.status = SERVICES__V1__SERVING_STATUS__SERVING_STATUS_SERVING;
	writes(&health.base, "{\"status\":\"SERVING_STATUS_SERVING\"}");
	health.status = (Services__V1__ServingStatus)9;
	writes(&health.base, "{\"status\":9}");
}

static void bytes_that_are_no_utf8_are_replaced(void **state)
{
	Types__V1__LabelPair pair = TYPES__V1__LABEL_PAIR__INIT;

	(void)state;
	pair.name = proto_bytes(STR("a\xff\"\n<"));
	writes(&pair.base, "{\"name\":\"a\xef\xbf\xbd\\\"\\n<\"}");
}

static void a_message_larger_than_the_arena_is_an_error(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(2000, NULL);
	ProtobufCMessage *message = NULL;
	struct error err = { 0 };
	char text[3000] = "{\"matchers\":[\"\"";

	(void)state;
	for (size_t i = strlen(text); i + 8 < sizeof(text); i += 3)
		memcpy(text + i, ",\"\"", 4);
	memcpy(text + strlen(text), "]}", 3);
	assert_int_equal(proto_json_read(str_of(text), MATCHERS, arena, &message, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_styles_of_names_may_be_mixed),
		cmocka_unit_test(names_are_matched_by_exact_case),
		cmocka_unit_test(unknown_fields_and_nulls_are_skipped),
		cmocka_unit_test(a_field_given_twice_is_refused_under_either_name),
		cmocka_unit_test(integers_have_many_forms),
		cmocka_unit_test(what_is_no_integer_is_refused),
		cmocka_unit_test(only_an_object_is_a_message),
		cmocka_unit_test(lists_are_lists),
		cmocka_unit_test(unknown_enum_names_are_ignored_and_unknown_numbers_kept),
		cmocka_unit_test(presence_is_seen_where_it_matters),
		cmocka_unit_test(doubles_and_booleans_are_read),
		cmocka_unit_test(texts_may_hold_nul_and_escapes),
		cmocka_unit_test(base64_is_read_in_both_alphabets),
		cmocka_unit_test(defaults_are_left_out),
		cmocka_unit_test(a_set_message_of_defaults_is_an_empty_object),
		cmocka_unit_test(what_has_presence_is_written_even_when_zero),
		cmocka_unit_test(profile_types_are_written_as_in_the_specification),
		cmocka_unit_test(numbers_lists_and_enums_are_written_by_type),
		cmocka_unit_test(bytes_that_are_no_utf8_are_replaced),
		cmocka_unit_test(a_message_larger_than_the_arena_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
