#include "base/wire.h"

void wire_put_varint(struct strbuf *out, uint64_t number)
{
	uint8_t bytes[VARINT_MAX];

	strbuf_add(out, bytes, varint_write(bytes, number));
}

static void put_key(struct strbuf *out, uint32_t field, enum wire_type type)
{
	wire_put_varint(out, (uint64_t)field << 3 | type);
}

void wire_put_uint(struct strbuf *out, uint32_t field, uint64_t value)
{
	put_key(out, field, WIRE_VARINT);
	wire_put_varint(out, value);
}

void wire_put_bytes(struct strbuf *out, uint32_t field, struct str bytes)
{
	put_key(out, field, WIRE_BYTES);
	wire_put_varint(out, bytes.length);
	strbuf_add_str(out, bytes);
}

void wire_put_fixed64(struct strbuf *out, uint32_t field, uint64_t value)
{
	put_key(out, field, WIRE_FIXED64);
	strbuf_add(out, &value, sizeof(value));
}

void wire_put_double(struct strbuf *out, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	wire_put_fixed64(out, field, bits);
}

size_t wire_begin(struct strbuf *out, uint32_t field)
{
	put_key(out, field, WIRE_BYTES);
	strbuf_add_byte(out, 0);
	return out->length;
}

void wire_end(struct strbuf *out, size_t begun)
{
	uint8_t length_bytes[VARINT_MAX];
	size_t length;
	size_t extra;

	if (strbuf_overflowed(out))
		return;
	length = out->length - begun;
	extra = varint_write(length_bytes, length) - 1;
	if (extra > 0) {
		if (!strbuf_reserve(out, extra))
			return;
		memmove(out->data + begun + extra, out->data + begun, length);
		strbuf_advance(out, extra);
	}
	memcpy(out->data + begun - 1, length_bytes, extra + 1);
}
