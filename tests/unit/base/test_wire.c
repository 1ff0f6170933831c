#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/wire.h"

/* The messages of the protobuf encoding guide: a number, a string, one in the other. */
static void the_guides_examples_are_read(void **state)
{
	struct wire_reader reader =
		wire_reader(STR("\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"));
	struct wire_field field;

	(void)state;
	assert_int_equal(wire_next(&reader, &field), 1);
	assert_int_equal(field.number, 1);
	assert_int_equal(field.type, WIRE_VARINT);
	assert_int_equal(field.value, 150);
	assert_int_equal(wire_next(&reader, &field), 1);
	assert_int_equal(field.number, 2);
	assert_true(str_equals(field.bytes, "testing"));
	assert_int_equal(wire_next(&reader, &field), 1);
	reader = wire_reader(field.bytes);
	assert_int_equal(wire_next(&reader, &field), 1);
	assert_int_equal(field.value, 150);
	assert_int_equal(wire_next(&reader, &field), 0);
	assert_int_equal(wire_next(&reader, &field), 0);
}

static void all_widths_and_padded_forms_are_read(void **state)
{
	struct wire_reader reader =
		wire_reader(STR("\x09\x01\x02\x03\x04\x05\x06\x07\x08"
	                        "\x15\x01\x02\x03\x04"
	                        "\x9a\x80\x00\x82\x00hi" /* key 3 and length 2, both padded */
	                        "\xf8\xff\xff\xff\x0f\x00"));
	struct wire_field field;

	(void)state;
	assert_int_equal(wire_next(&reader, &field), 1);
	assert_true(field.value == UINT64_C(0x0807060504030201));
	assert_int_equal(wire_next(&reader, &field), 1);
	assert_int_equal(field.value, 0x04030201);
	assert_int_equal(wire_next(&reader, &field), 1);
	assert_int_equal(field.number, 3);
	assert_true(str_equals(field.bytes, "hi"));
	assert_int_equal(wire_next(&reader, &field), 1);
	assert_int_equal(field.number, 536870911);
	assert_int_equal(wire_next(&reader, &field), 0);
}

static void malformed_bytes_are_refused(void **state)
{
	static const struct str cases[] = {
		STR("\x08"),                                             /* no value */
		STR("\x80"),                                             /* half a key */
		STR("\x00\x00"),                                         /* field 0 */
		STR("\x0b"),                                             /* a group begins */
		STR("\x0c"),                                             /* a group ends */
		STR("\x0e\x00"),                                         /* no such type */
		STR("\x0f\x00"),                                         /* no such type */
		STR("\x12\x05test"),                                     /* four of five bytes */
		STR("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01x"),    /* a length past all */
		STR("\x09\x01\x02\x03\x04\x05\x06\x07"),                 /* seven of eight */
		STR("\x15\x01\x02\x03"),                                 /* three of four */
		STR("\x80\x80\x80\x80\x80\x01\x00"),                     /* a field past 32 bits */
		STR("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01"), /* too many bits */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct wire_reader reader = wire_reader(cases[i]);
		struct wire_field field;

		assert_int_equal(wire_next(&reader, &field), -1);
	}
}

static void nothing_is_an_empty_message(void **state)
{
	struct wire_reader reader = wire_reader((struct str){ NULL, 0 });
	struct wire_field field;

	(void)state;
	assert_int_equal(wire_next(&reader, &field), 0);
}

static void what_is_written_has_the_guides_bytes(void **state)
{
	struct strbuf out;
	size_t message;

	(void)state;
	strbuf_init(&out, 1000);
	wire_put_uint(&out, 1, 150);
	wire_put_bytes(&out, 2, STR("testing"));
	message = wire_begin(&out, 3);
	wire_put_uint(&out, 1, 150);
	wire_end(&out, message);
	wire_put_double(&out, 4, 1.0);
	assert_int_equal(out.length, 3 + 9 + 5 + 9);
	assert_memory_equal(out.data,
	                    "\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01"
	                    "\x21\x00\x00\x00\x00\x00\x00\xf0\x3f",
	                    out.length);
	strbuf_fini(&out);
}

/* Lengths of one, two and three bytes, in a message in a message. */
static void inner_messages_of_any_length_are_written(void **state)
{
	static const size_t lengths[] = {
		0, 1, 120, 124, 125, 126, 127, 128, 16380, 16384, 100000
	};
	static char filling[100000];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(lengths); i++) {
		struct strbuf out;
		struct wire_reader reader;
		struct wire_field field;
		size_t outer;
		size_t inner;

		memset(filling, 'x', sizeof(filling));
		strbuf_init(&out, 1 << 20);
		outer = wire_begin(&out, 1);
		inner = wire_begin(&out, 2);
		strbuf_add(&out, filling, lengths[i]);
		wire_end(&out, inner);
		wire_end(&out, outer);
		reader = wire_reader(strbuf_view(&out));
		assert_int_equal(wire_next(&reader, &field), 1);
		assert_int_equal(field.number, 1);
		assert_ptr_equal(reader.at, reader.end);
		reader = wire_reader(field.bytes);
		assert_int_equal(wire_next(&reader, &field), 1);
		assert_int_equal(field.number, 2);
		assert_true(str_equal(field.bytes, str_make(filling, lengths[i])));
		strbuf_fini(&out);
	}
}

static void a_full_buffer_is_no_harm(void **state)
{
	struct strbuf out;
	size_t message;

	(void)state;
	for (size_t limit = 0; limit < 140; limit++) {
		strbuf_init(&out, limit);
		message = wire_begin(&out, 1);
		for (int i = 0; i < 130; i++)
			strbuf_add_byte(&out, 'x');
		wire_end(&out, message);
		assert_int_equal(strbuf_overflowed(&out), limit < 133);
		strbuf_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_guides_examples_are_read),
		cmocka_unit_test(all_widths_and_padded_forms_are_read),
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(nothing_is_an_empty_message),
		cmocka_unit_test(what_is_written_has_the_guides_bytes),
		cmocka_unit_test(inner_messages_of_any_length_are_written),
		cmocka_unit_test(a_full_buffer_is_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
