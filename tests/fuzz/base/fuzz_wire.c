/*
 * Reads the bytes as a message, writes what was read, and reads that: the fields stay the
 * same. Messages inside are read as far as they are some.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/wire.h"

#define DEPTH_MAX 20

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(struct strbuf *out, const struct wire_field *field)
{
	switch (field->type) {
	case WIRE_VARINT:
		wire_put_uint(out, field->number, field->value);
		break;
	case WIRE_BYTES:
		wire_put_bytes(out, field->number, field->bytes);
		break;
	case WIRE_FIXED64: {
		double value;

		memcpy(&value, &field->value, sizeof(value));
		wire_put_double(out, field->number, value);
		break;
	}
	case WIRE_FIXED32: /* we write none */
		break;
	}
}

static void check_same(struct str bytes, struct str written)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_reader again = wire_reader(written);
	struct wire_field field;
	struct wire_field copy;

	while (wire_next(&reader, &field) > 0) {
		if (field.type == WIRE_FIXED32)
			continue;
		assert(wire_next(&again, &copy) == 1);
		assert(copy.number == field.number && copy.type == field.type);
		if (field.type == WIRE_BYTES)
			assert(str_equal(copy.bytes, field.bytes));
		else
			assert(copy.value == field.value);
	}
	assert(wire_next(&again, &copy) == 0);
}

static void read_message(struct str bytes, int depth)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	struct strbuf out;

	strbuf_init(&out, 2 * bytes.length + 16);
	while (wire_next(&reader, &field) > 0) {
		assert(field.number > 0);
		put(&out, &field);
		if (field.type == WIRE_BYTES && depth < DEPTH_MAX)
			read_message(field.bytes, depth + 1);
	}
	assert(!strbuf_overflowed(&out));
	check_same(bytes, strbuf_view(&out));
	strbuf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_message(str_make(data, size), 0);
	return 0;
}
