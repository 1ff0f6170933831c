#include "formats/otlp_json.h"
#include "otlp_made.h"

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
		cmocka_unit_test(json_says_the_same),
		cmocka_unit_test(what_is_no_request_in_json_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
