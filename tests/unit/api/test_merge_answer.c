#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/merge_answer.h"
#include "base/uuid.h"
#include "profile/pprof.h"
#include "proto/querier.pb-c.h"

#define LIMIT ((size_t)1 << 20)

/* The data set of the read specification, 6.1. */
struct stack {
	const char *path;
	int64_t value;
};

static const struct stack window_a[] = {
	{ "main;work;compute", 30 },
	{ "main;idle", 5 },
	{ "main;work;io", 10 },
	{ "gc", 5 },
	{ NULL, 0 },
};

static const struct stack window_b[] = {
	{ "main;work;compute", 20 },
	{ "main;idle", 15 },
	{ "main;net", 5 },
	{ NULL, 0 },
};

static struct function_tree *tree_of(const struct stack *stacks, struct arena *arena)
{
	struct function_tree *tree;
	struct error err;

	assert_int_equal(function_tree_new(arena, &tree, &err), 0);
	for (; stacks->path; stacks++) {
		struct str rest = str_of(stacks->path);
		struct str name;
		uint32_t node = 0;

		while (str_split(&rest, ';', &name))
			node = function_tree_child(tree, node, name);
		tree->nodes[node].self += stacks->value;
	}
	assert_int_equal(function_tree_finish(tree, &err), 0);
	return tree;
}

static struct connect_call call_of(enum connect_codec codec)
{
	return (struct connect_call){
		.codec = codec,
		.content_type = codec == CONNECT_JSON ? STR("application/json")
		                                      : STR("application/proto"),
	};
}

static void body_is_hex(const struct http_response *response, const char *hex)
{
	char *text = test_malloc(2 * response->body.length + 1);

	hex_encode((const uint8_t *)response->body.data, response->body.length, text);
	assert_string_equal(text, hex);
	test_free(text);
}

/* Answers `graph` in both codecs and compares. */
static void graph_is(const struct flame_graph *graph, struct arena *arena, const char *json,
                     const char *hex)
{
	const struct connect_call calls[] = { call_of(CONNECT_JSON), call_of(CONNECT_PROTO) };
	struct http_response response;

	http_response_init(&response, LIMIT);
	merge_answer_graph(&calls[0], graph, arena, &response);
	assert_int_equal(response.status, 200);
	assert_string_equal(response.body.data, json);
	http_response_reset(&response, 200);
	merge_answer_graph(&calls[1], graph, arena, &response);
	if (hex)
		body_is_hex(&response, hex);
	http_response_fini(&response);
}

static void a_flame_graph_is_written_as_in_the_specification(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct flame_graph graph;
	struct error err;

	(void)state;
	assert_int_equal(flame_graph_make(tree_of(window_a, arena), 0, arena, &graph, &err), 0);
	graph_is(&graph, arena,
	         "{\"flamegraph\":{\"names\":[\"total\",\"main\",\"work\",\"io\",\"compute\","
	         "\"idle\",\"gc\"],\"levels\":[{\"values\":[\"0\",\"50\",\"0\",\"0\"]},"
	         "{\"values\":[\"0\",\"5\",\"5\",\"6\",\"0\",\"45\",\"0\",\"1\"]},"
	         "{\"values\":[\"5\",\"5\",\"5\",\"5\",\"0\",\"40\",\"0\",\"2\"]},"
	         "{\"values\":[\"10\",\"30\",\"30\",\"4\",\"0\",\"10\",\"10\",\"3\"]}],"
	         "\"total\":\"50\",\"maxSelf\":\"30\"}}",
	         "0a5a0a05746f74616c0a046d61696e0a04776f726b0a02696f0a07636f6d707574650a0469646c"
	         "650a02676312060a0400320000120a0a0800050506002d0001120a0a080505050500280002120a"
	         "0a080a1e1e04000a0a031832201e");
}

static void no_data_is_a_graph_of_one_node(void **state)
{
	static const struct stack nothing[] = { { NULL, 0 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct flame_graph graph;
	struct error err;

	(void)state;
	assert_int_equal(flame_graph_make(tree_of(nothing, arena), 0, arena, &graph, &err), 0);
	graph_is(
		&graph, arena,
		"{\"flamegraph\":{\"names\":[\"total\"],\"levels\":[{\"values\":[\"0\",\"0\",\"0\","
		"\"0\"]}]}}",
		"0a0f0a05746f74616c12060a0400000000");
}

static void a_comparison_is_written_as_in_the_specification(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct flame_graph graph;
	struct error err;

	(void)state;
	assert_int_equal(flame_graph_diff(tree_of(window_a, arena), tree_of(window_b, arena), 0,
	                                  arena, &graph, &err),
	                 0);
	graph_is(
		&graph, arena,
		"{\"flamegraph\":{\"names\":[\"total\",\"main\",\"work\",\"io\",\"compute\",\"net\","
		"\"idle\",\"gc\"],\"levels\":[{\"values\":[\"0\",\"50\",\"0\",\"0\",\"40\",\"0\","
		"\"0\"]},{\"values\":[\"0\",\"5\",\"5\",\"0\",\"0\",\"0\",\"7\",\"0\",\"45\",\"0\","
		"\"0\",\"40\",\"0\",\"1\"]},{\"values\":[\"5\",\"5\",\"5\",\"0\",\"15\",\"15\","
		"\"6\",\"0\",\"0\",\"0\",\"0\",\"5\",\"5\",\"5\",\"0\",\"40\",\"0\",\"0\",\"20\","
		"\"0\",\"2\"]},{\"values\":[\"10\",\"30\",\"30\",\"20\",\"20\",\"20\",\"4\",\"0\","
		"\"10\",\"10\",\"0\",\"0\",\"0\",\"3\"]}],\"total\":\"90\",\"maxSelf\":\"30\","
		"\"leftTicks\":\"50\",\"rightTicks\":\"40\"}}",
		NULL);
}

/* What we write by hand, the library reads. */
static void the_library_reads_a_comparison(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct connect_call call = call_of(CONNECT_PROTO);
	Querier__V1__DiffResponse *read;
	struct http_response response;
	struct flame_graph graph;
	struct error err;

	(void)state;
	assert_int_equal(flame_graph_diff(tree_of(window_a, arena), tree_of(window_b, arena), 0,
	                                  arena, &graph, &err),
	                 0);
	http_response_init(&response, LIMIT);
	merge_answer_graph(&call, &graph, arena, &response);
	read = querier__v1__diff_response__unpack(NULL, response.body.length,
	                                          (const uint8_t *)response.body.data);
	assert_non_null(read);
	assert_int_equal(read->flamegraph->n_names, 8);
	assert_int_equal(read->flamegraph->n_levels, 4);
	assert_int_equal(read->flamegraph->levels[1]->n_values, 14);
	assert_int_equal(read->flamegraph->levels[1]->values[8], 45);
	assert_int_equal(read->flamegraph->total, 90);
	assert_int_equal(read->flamegraph->max_self, 30);
	assert_int_equal(read->flamegraph->leftticks, 50);
	assert_int_equal(read->flamegraph->rightticks, 40);
	querier__v1__diff_response__free_unpacked(read, NULL);
	http_response_fini(&response);
}

static void names_that_are_no_utf8_are_repaired(void **state)
{
	static const struct stack dirty[] = { { "a\xff", 1 }, { NULL, 0 } };
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct flame_graph graph;
	struct error err;

	(void)state;
	assert_int_equal(flame_graph_make(tree_of(dirty, arena), 0, arena, &graph, &err), 0);
	graph_is(
		&graph, arena,
		"{\"flamegraph\":{\"names\":[\"total\",\"a\xef\xbf\xbd\"],\"levels\":[{\"values\":["
		"\"0\",\"1\",\"0\",\"0\"]},{\"values\":[\"0\",\"1\",\"1\",\"1\"]}],\"total\":\"1\","
		"\"maxSelf\":\"1\"}}",
		"0a210a05746f74616c0a0461efbfbd12060a040001000012060a040001010118012001");
}

static void a_tree_is_bytes(void **state)
{
	static const char hex[] =
		"000002046d61696e000204776f726b000202696f0a0007636f6d707574651e000469646c6505000267"
		"630500";
	uint8_t bytes[44];
	const struct connect_call calls[] = { call_of(CONNECT_JSON), call_of(CONNECT_PROTO) };
	struct http_response response;

	(void)state;
	assert_true(hex_decode(str_of(hex), bytes, sizeof(bytes)));
	http_response_init(&response, LIMIT);
	merge_answer_tree(&calls[0], str_make(bytes, sizeof(bytes)), &response);
	assert_string_equal(
		response.body.data,
		"{\"tree\":\"AAACBG1haW4AAgR3b3JrAAICaW8KAAdjb21wdXRlHgAEaWRsZQUAAmdjBQA=\"}");
	http_response_reset(&response, 200);
	merge_answer_tree(&calls[1], str_make(bytes, sizeof(bytes)), &response);
	body_is_hex(&response,
	            "122c000002046d61696e000204776f726b000202696f0a0007636f6d707574651e00"
	            "0469646c6505000267630500");
	http_response_reset(&response, 200);
	merge_answer_tree(&calls[0], STR(""), &response);
	assert_string_equal(response.body.data, "{}");
	http_response_reset(&response, 200);
	merge_answer_tree(&calls[1], STR(""), &response);
	assert_int_equal(response.body.length, 0);
	http_response_fini(&response);
}

static void graphviz_text_is_a_text(void **state)
{
	const struct connect_call calls[] = { call_of(CONNECT_JSON), call_of(CONNECT_PROTO) };
	struct http_response response;

	(void)state;
	http_response_init(&response, LIMIT);
	merge_answer_dot(&calls[0], STR("a\n"), &response);
	assert_string_equal(response.body.data, "{\"dot\":\"a\\n\"}");
	http_response_reset(&response, 200);
	merge_answer_dot(&calls[1], STR("a\n"), &response);
	body_is_hex(&response, "1a02610a");
	http_response_reset(&response, 200);
	merge_answer_dot(&calls[0], STR(""), &response);
	assert_string_equal(response.body.data, "{}");
	http_response_fini(&response);
}

/* A small profile: one stack of two frames, one of them in a mapping. */
static struct profile small_profile(struct arena *arena)
{
	static struct str strings[] = {
		{ "", 0 }, { "cpu", 3 }, { "nanoseconds", 11 }, { "main", 4 }, { "lib", 3 },
	};
	static struct profile_value_type types[] = { { 1, 2 } };
	static struct profile_mapping mappings[] = {
		{ .start = 4096, .limit = 8192, .file = 4, .flags = PROFILE_HAS_FUNCTIONS }
	};
	static struct profile_function functions[] = {
		{ .name = 3, .system_name = 3, .start_line = 7 }
	};
	static struct profile_line lines[] = { { 0, 9 } };
	static struct profile_location locations[] = {
		{ .mapping = PROFILE_NONE, .line_count = 1 },
		{ .address = 4100, .mapping = 0 },
	};
	static uint32_t stacks[] = { 1, 0 };
	static struct profile_sample samples[] = { { .depth = 2 } };
	static int64_t values[] = { 30 };

	return (struct profile){
		.arena = arena,
		.strings = strings,
		.string_count = 5,
		.sample_types = types,
		.sample_type_count = 1,
		.mappings = mappings,
		.mapping_count = 1,
		.functions = functions,
		.function_count = 1,
		.lines = lines,
		.line_count = 1,
		.locations = locations,
		.location_count = 2,
		.stacks = stacks,
		.stack_length = 2,
		.samples = samples,
		.sample_count = 1,
		.values = values,
		.period_type = { 1, 2 },
		.has_period_type = true,
		.period = 1000000000,
		.time_unix_ns = 1767225660000000000,
		.default_sample_type = 1,
	};
}

static void a_profile_is_protobufs_json(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct connect_call call = call_of(CONNECT_JSON);
	struct profile profile = small_profile(arena);
	struct http_response response;

	(void)state;
	http_response_init(&response, LIMIT);
	merge_answer_profile(&call, &profile, &response);
	assert_string_equal(
		response.body.data,
		"{\"sampleType\":[{\"type\":\"1\",\"unit\":\"2\"}],"
		"\"sample\":[{\"locationId\":[\"2\",\"1\"],\"value\":[\"30\"]}],"
		"\"mapping\":[{\"id\":\"1\",\"memoryStart\":\"4096\",\"memoryLimit\":\"8192\","
		"\"filename\":\"4\",\"hasFunctions\":true}],"
		"\"location\":[{\"id\":\"1\",\"line\":[{\"functionId\":\"1\",\"line\":\"9\"}]},"
		"{\"id\":\"2\",\"mappingId\":\"1\",\"address\":\"4100\"}],"
		"\"function\":[{\"id\":\"1\",\"name\":\"3\",\"systemName\":\"3\",\"startLine\":\"7\"}],"
		"\"stringTable\":[\"\",\"cpu\",\"nanoseconds\",\"main\",\"lib\"],"
		"\"timeNanos\":\"1767225660000000000\",\"periodType\":{\"type\":\"1\",\"unit\":\"2\"},"
		"\"period\":\"1000000000\",\"defaultSampleType\":\"1\"}");
	http_response_fini(&response);
}

static void the_library_reads_a_profile(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct connect_call call = call_of(CONNECT_PROTO);
	struct profile profile = small_profile(arena);
	Querier__V1__SelectMergeStacktracesResponse *read;
	struct http_response response;

	(void)state;
	http_response_init(&response, LIMIT);
	merge_answer_pprof(&call, &profile, &response);
	read = querier__v1__select_merge_stacktraces_response__unpack(
		NULL, response.body.length, (const uint8_t *)response.body.data);
	assert_non_null(read);
	assert_int_equal(read->pprof->profile->n_sample, 1);
	assert_int_equal(read->pprof->profile->sample[0]->location_id[0], 2);
	assert_int_equal(read->pprof->profile->sample[0]->value[0], 30);
	assert_int_equal(read->pprof->profile->location[1]->address, 4100);
	assert_int_equal(read->pprof->profile->time_nanos, 1767225660000000000);
	querier__v1__select_merge_stacktraces_response__free_unpacked(read, NULL);
	http_response_fini(&response);
}

static void a_profile_without_samples_is_the_empty_message(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct connect_call calls[] = { call_of(CONNECT_JSON), call_of(CONNECT_PROTO) };
	struct profile profile = small_profile(arena);
	struct http_response response;

	(void)state;
	profile.sample_count = 0;
	http_response_init(&response, LIMIT);
	merge_answer_profile(&calls[0], &profile, &response);
	assert_string_equal(response.body.data, "{}");
	http_response_reset(&response, 200);
	merge_answer_profile(&calls[1], &profile, &response);
	assert_int_equal(response.body.length, 0);
	http_response_reset(&response, 200);
	merge_answer_pprof(&calls[0], &profile, &response);
	assert_string_equal(response.body.data, "{\"pprof\":{\"profile\":{}}}");
	http_response_reset(&response, 200);
	merge_answer_pprof(&calls[1], &profile, &response);
	body_is_hex(&response, "2a020a00");
	http_response_fini(&response);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flame_graph_is_written_as_in_the_specification),
		cmocka_unit_test(no_data_is_a_graph_of_one_node),
		cmocka_unit_test(a_comparison_is_written_as_in_the_specification),
		cmocka_unit_test(the_library_reads_a_comparison),
		cmocka_unit_test(names_that_are_no_utf8_are_repaired),
		cmocka_unit_test(a_tree_is_bytes),
		cmocka_unit_test(graphviz_text_is_a_text),
		cmocka_unit_test(a_profile_is_protobufs_json),
		cmocka_unit_test(the_library_reads_a_profile),
		cmocka_unit_test(a_profile_without_samples_is_the_empty_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
