#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/series_answer.h"
#include "proto/querier.pb-c.h"

#define LIMIT ((size_t)1 << 20)
#define T0    INT64_C(1767225600000)

static struct connect_call call_of(enum connect_codec codec)
{
	return (struct connect_call){
		.codec = codec,
		.content_type = codec == CONNECT_JSON ? STR("application/json")
		                                      : STR("application/proto"),
	};
}

static struct label region_eu[] = { { { "region", 6 }, { "eu", 2 } } };
static struct label region_us[] = { { { "region", 6 }, { "us", 2 } } };

static void points_are_written_as_in_the_specification(void **state)
{
	struct time_series_point eu[] = { { .time_ms = T0 + 15000, .value = 35 },
		                          { .time_ms = T0 + 45000, .value = 5 } };
	struct time_series_point us[] = { { .time_ms = T0 + 30000, .value = 10 } };
	struct time_series_group groups[] = {
		{ .labels = { region_eu, 1 }, .points = eu, .point_count = 2 },
		{ .labels = { region_us, 1 }, .points = us, .point_count = 1 },
	};
	const struct time_series_result result = { groups, 2 };
	const struct connect_call json = call_of(CONNECT_JSON);
	const struct connect_call proto = call_of(CONNECT_PROTO);
	Querier__V1__SelectSeriesResponse *read;
	struct http_response response;

	(void)state;
	http_response_init(&response, LIMIT);
	series_answer(&json, &result, &response);
	assert_string_equal(
		response.body.data,
		"{\"series\":[{\"labels\":[{\"name\":\"region\",\"value\":\"eu\"}],\"points\":["
		"{\"value\":35,\"timestamp\":\"1767225615000\"},"
		"{\"value\":5,\"timestamp\":\"1767225645000\"}]},"
		"{\"labels\":[{\"name\":\"region\",\"value\":\"us\"}],\"points\":["
		"{\"value\":10,\"timestamp\":\"1767225630000\"}]}]}");
	http_response_reset(&response, 200);
	series_answer(&proto, &result, &response);
	read = querier__v1__select_series_response__unpack(NULL, response.body.length,
	                                                   (const uint8_t *)response.body.data);
	assert_non_null(read);
	assert_int_equal(read->n_series, 2);
	assert_int_equal(read->series[0]->n_points, 2);
	assert_true(read->series[0]->points[0]->value == 35);
	assert_int_equal(read->series[0]->points[1]->timestamp, T0 + 45000);
	assert_memory_equal(read->series[1]->labels[0]->value.data, "us", 2);
	querier__v1__select_series_response__free_unpacked(read, NULL);
	http_response_fini(&response);
}

static void no_series_is_the_empty_message(void **state)
{
	const struct time_series_result series = { 0 };
	const struct heatmap_result cells = { 0 };
	const struct connect_call json = call_of(CONNECT_JSON);
	const struct connect_call proto = call_of(CONNECT_PROTO);
	struct http_response response;

	(void)state;
	http_response_init(&response, LIMIT);
	series_answer(&json, &series, &response);
	assert_string_equal(response.body.data, "{}");
	http_response_reset(&response, 200);
	series_answer(&proto, &series, &response);
	assert_int_equal(response.body.length, 0);
	heatmap_answer(&json, &cells, &response);
	assert_string_equal(response.body.data, "{}");
	http_response_fini(&response);
}

static void a_point_of_zero_keeps_its_time(void **state)
{
	struct time_series_point points[] = { { .time_ms = 5 } };
	struct time_series_group groups[] = { { .points = points, .point_count = 1 } };
	const struct time_series_result result = { groups, 1 };
	const struct connect_call json = call_of(CONNECT_JSON);
	struct http_response response;

	(void)state;
	http_response_init(&response, LIMIT);
	series_answer(&json, &result, &response);
	assert_string_equal(response.body.data,
	                    "{\"series\":[{\"points\":[{\"timestamp\":\"5\"}]}]}");
	http_response_fini(&response);
}

static void an_exemplar_names_its_profile(void **state)
{
	struct time_series_exemplar exemplar = {
		.time_ms = T0 + 3,
		.profile_id = { { 0x2b, 0xec, 0xda, 0xe5, 0x86, 0xb7, 0x4b, 0x21, 0x84, 0xd0, 0x9c,
		                  0x2f, 0x7a, 0xde, 0x6a, 0x45 } },
		.value = 160,
		.labels = { region_eu, 1 },
	};
	struct time_series_point points[] = {
		{ .time_ms = T0 + 30000, .value = 181, .exemplar = &exemplar }
	};
	struct time_series_group groups[] = { { .points = points, .point_count = 1 } };
	const struct time_series_result result = { groups, 1 };
	const struct connect_call json = call_of(CONNECT_JSON);
	struct http_response response;

	(void)state;
	http_response_init(&response, LIMIT);
	series_answer(&json, &result, &response);
	assert_string_equal(
		response.body.data,
		"{\"series\":[{\"points\":[{\"value\":181,\"timestamp\":\"1767225630000\","
		"\"exemplars\":[{\"timestamp\":\"1767225600003\","
		"\"profileId\":\"2becdae5-86b7-4b21-84d0-9c2f7ade6a45\",\"value\":\"160\","
		"\"labels\":[{\"name\":\"region\",\"value\":\"eu\"}]}]}]}]}");
	http_response_fini(&response);
}

static void cells_carry_their_whole_axis(void **state)
{
	double y_min[HEATMAP_BUCKETS];
	int32_t counts[HEATMAP_BUCKETS] = { [19] = 1 };
	struct heatmap_exemplar exemplar = {
		.time_ms = T0 + 1000,
		.value = 35,
		.span_id = 0xa1,
		.trace_id = { { [15] = 0xb1 } },
	};
	struct heatmap_slot slots[] = { { .time_ms = T0 + 15000,
		                          .y_min = y_min,
		                          .counts = counts,
		                          .exemplars = &exemplar,
		                          .exemplar_count = 1 } };
	struct heatmap_group groups[] = { { .slots = slots, .slot_count = 1 } };
	const struct heatmap_result result = { groups, 1 };
	const struct connect_call json = call_of(CONNECT_JSON);
	const struct connect_call proto = call_of(CONNECT_PROTO);
	Querier__V1__SelectHeatmapResponse *read;
	struct http_response response;

	(void)state;
	for (int i = 0; i < HEATMAP_BUCKETS; i++) {
		const int lowest = 5 + i * 3 / 2;

		y_min[i] = lowest;
	}
	http_response_init(&response, LIMIT);
	heatmap_answer(&json, &result, &response);
	assert_string_equal(
		response.body.data,
		"{\"series\":[{\"slots\":[{\"timestamp\":\"1767225615000\",\"yMin\":[5,6,8,9,11,12,"
		"14,15,17,18,20,21,23,24,26,27,29,30,32,33],\"counts\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
		"0,0,0,0,0,1],\"exemplars\":[{\"timestamp\":\"1767225601000\","
		"\"spanId\":\"00000000000000a1\",\"value\":\"35\","
		"\"traceId\":\"000000000000000000000000000000b1\"}]}]}]}");
	http_response_reset(&response, 200);
	heatmap_answer(&proto, &result, &response);
	read = querier__v1__select_heatmap_response__unpack(NULL, response.body.length,
	                                                    (const uint8_t *)response.body.data);
	assert_non_null(read);
	assert_int_equal(read->series[0]->slots[0]->n_y_min, HEATMAP_BUCKETS);
	assert_true(read->series[0]->slots[0]->y_min[19] == 33);
	assert_int_equal(read->series[0]->slots[0]->n_counts, HEATMAP_BUCKETS);
	assert_int_equal(read->series[0]->slots[0]->counts[19], 1);
	assert_int_equal(read->series[0]->slots[0]->exemplars[0]->span_id.len, 16);
	querier__v1__select_heatmap_response__free_unpacked(read, NULL);
	http_response_fini(&response);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_are_written_as_in_the_specification),
		cmocka_unit_test(no_series_is_the_empty_message),
		cmocka_unit_test(a_point_of_zero_keeps_its_time),
		cmocka_unit_test(an_exemplar_names_its_profile),
		cmocka_unit_test(cells_carry_their_whole_axis),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
