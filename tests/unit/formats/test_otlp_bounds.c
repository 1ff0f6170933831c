#include <stdio.h>

#include "formats/otlp_attribute.h"
#include "otlp_made.h"

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
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err;
	size_t resource;
	size_t used;

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
	used = arena_used(arena);
	assert_int_equal(decode(strbuf_view(&message), arena, &request, &err), 0);
	assert_int_equal(request.count, 1);
	assert_true(arena_used(arena) - used < 8192);
	strbuf_init(&text, TEXT_MAX);
	describe(&request, &text);
	assert_string_equal(text.data, "gpu:malloc:bytes:gpu:bytes" UNKNOWN "\na; 1");
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

/* The dictionary's fields in layout 1.10. */
enum {
	MAPPING = 1,
	LOCATION,
	FUNCTION,
	LINK,
	STRING,
	ATTRIBUTE,
	STACK
};

/* Bytes that have to be walked through, and say nothing: an unknown field in two of them. */
static void put_padding(struct strbuf *out, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 2)
		strbuf_add(out, "\x78\0", 2);
}

/* An empty entry, and one of `hex` behind it, with padding when it is of that table. */
static void put_table(struct strbuf *out, struct arena *arena, uint32_t table, const char *hex,
                      uint32_t padded)
{
	size_t entry;

	wire_put_bytes(out, table, STR(""));
	entry = wire_begin(out, table);
	strbuf_add_str(out, vector_unhex(arena, hex));
	if (table == padded)
		put_padding(out, 20000);
	wire_end(out, entry);
}

/* Everything once; profiles of one sample that have all of it. */
static void put_users_of_everything(struct strbuf *message, struct arena *arena, size_t profiles,
                                    uint32_t padded)
{
	size_t open[2];

	open[0] = wire_begin(message, 1);
	open[1] = wire_begin(message, 2);
	for (size_t i = 0; i < profiles; i++) {
		const size_t profile = wire_begin(message, 2);

		put_hex(message, arena, 1, "08011001");
		put_hex(message, arena, 2, "08011201011801220101");
		wire_end(message, profile);
	}
	wire_end(message, open[1]);
	wire_end(message, open[0]);
	open[0] = wire_begin(message, 2);
	put_table(message, arena, MAPPING, "2a0101", padded);
	put_table(message, arena, LOCATION, "08011a020801", padded);
	put_table(message, arena, FUNCTION, "0801", padded);
	put_table(message, arena, LINK, "12080102030405060708", padded);
	put_table(message, arena, STRING, "6d61696e", 0);
	put_table(message, arena, ATTRIBUTE, "080112030a0178", padded);
	put_table(message, arena, STACK, "0a0101", padded);
	wire_end(message, open[0]);
}

static int decode_1_10(struct str message, struct arena *arena, struct otlp_request *out,
                       struct error *err)
{
	const struct otlp_options options = { .layout = otlp_layout_of(OTLP_1_10),
		                              .limits = &ingest_limits_default };

	*err = (struct error){ 0 };
	return otlp_request_decode(message, &options, arena, out, err);
}

static void an_entry_costs_its_bytes_each_time_it_is_read(void **state)
{
	const uint32_t padded[] = { MAPPING, LOCATION, FUNCTION, LINK, ATTRIBUTE, STACK };

	(void)state;
	for (size_t i = 0; i <= ARRAY_LENGTH(padded); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(64 * MIB, NULL);
		CLEANUP(strbuf_fini) struct strbuf message;
		struct otlp_request request;
		struct error err;
		int result;

		strbuf_init(&message, MIB);
		put_users_of_everything(&message, arena, 1500,
		                        i < ARRAY_LENGTH(padded) ? padded[i] : 0);
		result = decode_1_10(strbuf_view(&message), arena, &request, &err);
		if (i == ARRAY_LENGTH(padded)) {
			assert_int_equal(result, 0);
			continue;
		}
		assert_int_equal(result, -1);
		assert_int_equal(err.code, ERROR_TOO_LARGE);
		assert_non_null(strstr(err.message, "dictionary too often"));
	}
}

/* A key of 20,000 bytes, which two bytes of an attribute ask for. */
static void keys_of_resources_cost_their_bytes(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	struct otlp_request request;
	struct error err;
	size_t open[2];

	(void)state;
	strbuf_init(&message, MIB);
	open[0] = wire_begin(&message, 1);
	open[1] = wire_begin(&message, 1);
	for (size_t i = 0; i < 1500; i++)
		put_hex(&message, arena, 1, "180112030a0178");
	wire_end(&message, open[1]);
	wire_end(&message, open[0]);
	open[0] = wire_begin(&message, 2);
	put_table(&message, arena, STRING, "6d61696e", STRING);
	wire_end(&message, open[0]);
	assert_int_equal(decode_1_10(strbuf_view(&message), arena, &request, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

/* ---- many services ---- */

#define SERVICES   100
#define OF_SERVICE 50 /* functions, each a stack of its own */

static void put_number_entry(struct strbuf *out, uint32_t table, uint32_t field, uint64_t number)
{
	const size_t entry = wire_begin(out, table);

	wire_put_uint(out, field, number);
	wire_end(out, entry);
}

/* Strings: "", a name for each function, "service.name", and a name for each service. */
static void put_many_functions(struct strbuf *message)
{
	const size_t functions = (size_t)SERVICES * OF_SERVICE;
	const size_t dictionary = wire_begin(message, 2);
	char name[32];

	for (uint32_t table = MAPPING; table <= STACK; table++)
		wire_put_bytes(message, table, STR(""));
	for (size_t i = 1; i <= functions; i++) {
		size_t location;

		(void)snprintf(name, sizeof(name), "function_%zu", i);
		wire_put_bytes(message, STRING, str_of(name));
		put_number_entry(message, FUNCTION, 1, i);
		location = wire_begin(message, LOCATION);
		put_number_entry(message, 3, 1, i);
		wire_end(message, location);
		put_number_entry(message, STACK, 1, i);
	}
	wire_put_bytes(message, STRING, STR(OTLP_SERVICE_NAME));
	for (size_t i = 0; i < SERVICES; i++) {
		const size_t attribute = wire_begin(message, ATTRIBUTE);

		wire_put_uint(message, 1, functions + 1);
		put_number_entry(message, 2, 8, functions + 2 + i);
		wire_end(message, attribute);
		(void)snprintf(name, sizeof(name), "service_%zu", i);
		wire_put_bytes(message, STRING, str_of(name));
	}
	wire_end(message, dictionary);
}

static void put_samples_of_services(struct strbuf *message)
{
	const size_t resource = wire_begin(message, 1);
	const size_t scope = wire_begin(message, 2);
	const size_t profile = wire_begin(message, 2);

	wire_put_bytes(message, 1, STR("\x08\x01\x10\x01"));
	for (size_t i = 0; i < (size_t)SERVICES * OF_SERVICE; i++) {
		const size_t sample = wire_begin(message, 2);

		wire_put_uint(message, 1, i + 1);
		wire_put_uint(message, 2, i / OF_SERVICE + 1);
		wire_put_uint(message, 4, i);
		wire_end(message, sample);
	}
	wire_end(message, profile);
	wire_end(message, scope);
	wire_end(message, resource);
}

/* Each has room for its part of the dictionary, not for the whole profile's. */
static void a_profile_of_many_services_takes_no_more_than_one_of_one(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(4 * MIB, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	struct otlp_request request;
	struct error err;

	(void)state;
	strbuf_init(&message, MIB);
	put_samples_of_services(&message);
	put_many_functions(&message);
	if (decode_1_10(strbuf_view(&message), arena, &request, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(request.count, SERVICES);
	for (size_t i = 0; i < request.count; i++) {
		const struct profile *profile = &request.profiles[i].input->profile;

		assert_int_equal(profile->sample_count, OF_SERVICE);
		assert_int_equal(profile->function_count, OF_SERVICE);
		assert_int_equal(profile->values[OF_SERVICE - 1], (i + 1) * OF_SERVICE - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_without_its_parts_is_refused),
		cmocka_unit_test(every_cut_of_a_request_is_refused_or_whole),
		cmocka_unit_test(nested_values_are_no_labels_and_cost_nothing),
		cmocka_unit_test(four_mebibytes_of_empty_samples_are_bounded),
		cmocka_unit_test(entries_are_used_no_more_often_than_the_bytes_allow),
		cmocka_unit_test(an_entry_costs_its_bytes_each_time_it_is_read),
		cmocka_unit_test(keys_of_resources_cost_their_bytes),
		cmocka_unit_test(a_profile_of_many_services_takes_no_more_than_one_of_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
