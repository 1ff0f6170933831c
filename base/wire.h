/*
 * Protobuf's wire format: fields in, fields out, one pass, nothing allocated.
 *
 * Shape    a reader is a pair of pointers into bytes that somebody else keeps. Fields
 *          come in any order and any number of times; unknown ones are skipped by
 *          not looking at them; groups (wire types 3 and 4) are refused, as is field 0.
 * Errors   wire_next() says -1 at malformed bytes; it never reads past the end.
 * Source   the protobuf encoding guide; ingest specification, 2.1
 *
 *	struct wire_reader reader = wire_reader(bytes);
 *	struct wire_field field;
 *	int more;
 *
 *	while ((more = wire_next(&reader, &field)) > 0)
 *		if (field.number == 3 && field.type == WIRE_VARINT)
 *			...
 *	if (more < 0)
 *		return error_set(err, ERROR_INVALID, ...);
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strbuf.h"
#include "base/varint.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2,
	WIRE_FIXED32 = 5,
};

struct wire_reader {
	const uint8_t *at;
	const uint8_t *end;
};

struct wire_field {
	uint32_t number;
	enum wire_type type;
	uint64_t value;   /* of VARINT, FIXED64 and FIXED32 */
	struct str bytes; /* of BYTES: a view */
};

static inline struct wire_reader wire_reader(struct str bytes)
{
	const uint8_t *at = (const uint8_t *)bytes.data;

	return (struct wire_reader){ at, at ? at + bytes.length : at };
}

/* 1 with the next field, 0 at the end, -1 at malformed bytes. */
static inline int wire_next(struct wire_reader *reader, struct wire_field *out)
{
	uint64_t key;
	uint64_t length;

	if (reader->at >= reader->end)
		return 0;
#ifdef __clang_analyzer__
	/* It cannot see that only an empty view has no pointer. */
	if (!reader->at)
		return 0;
#endif
	if (!varint_read(&reader->at, reader->end, &key) || key >> 3 == 0 || key >> 32 != 0)
		return -1;
	out->number = (uint32_t)(key >> 3);
	out->type = (enum wire_type)(key & 7);
	switch (out->type) {
	case WIRE_VARINT:
		return varint_read(&reader->at, reader->end, &out->value) ? 1 : -1;
	case WIRE_BYTES:
		if (!varint_read(&reader->at, reader->end, &length) ||
		    length > (uint64_t)(reader->end - reader->at))
			return -1;
		out->bytes = str_make(reader->at, (size_t)length);
		reader->at += length;
		return 1;
	case WIRE_FIXED64:
		if (reader->end - reader->at < 8)
			return -1;
		memcpy(&out->value, reader->at, 8);
		reader->at += 8;
		return 1;
	case WIRE_FIXED32: {
		uint32_t value;

		if (reader->end - reader->at < 4)
			return -1;
		memcpy(&value, reader->at, 4);
		out->value = value;
		reader->at += 4;
		return 1;
	}
	default:
		return -1;
	}
}

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "fixed fields are read as they lie");

/*
 * Writers append a field with its key. Numbers that are zero and bytes that are empty are
 * written too; a caller that wants proto3's defaults left out asks first.
 */
void wire_put_varint(struct strbuf *out, uint64_t number);
void wire_put_uint(struct strbuf *out, uint32_t field, uint64_t value);
void wire_put_bytes(struct strbuf *out, uint32_t field, struct str bytes);
void wire_put_fixed64(struct strbuf *out, uint32_t field, uint64_t value);
void wire_put_double(struct strbuf *out, uint32_t field, double value);

/*
 * A message inside: begin writes the key and one byte for the length, end puts the
 * length in (and moves the bytes when it needs more than that one).
 */
size_t wire_begin(struct strbuf *out, uint32_t field);
void wire_end(struct strbuf *out, size_t begun);
