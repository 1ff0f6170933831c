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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_without_its_parts_is_refused),
		cmocka_unit_test(every_cut_of_a_request_is_refused_or_whole),
		cmocka_unit_test(nested_values_are_no_labels_and_cost_nothing),
		cmocka_unit_test(four_mebibytes_of_empty_samples_are_bounded),
		cmocka_unit_test(entries_are_used_no_more_often_than_the_bytes_allow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
