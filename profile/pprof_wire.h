/*
 * Protobuf fields read by their whole keys, for the reader of pprof.
 *
 * Shape    a span is read from the front. A message's function switches over
 *          KEY(number, type); what meets no case goes to skip_field(), which
 *          refuses a known field of another wire type.
 * Errors   false at malformed bytes; nothing is read past the end.
 * Threads  none.
 */
#pragma once

#include "base/varint.h"
#include "base/wire.h"

#define KEY(number, type) ((uint64_t)(number) << 3 | (type))

struct span {
	const uint8_t *at;
	const uint8_t *end;
};

/* varint_read() with a short way for two bytes, which most ids of a profile have. */
static inline bool read_number(struct span *in, uint64_t *out)
{
	const uint8_t *at = in->at;

	if (in->end - at >= 2) {
		if (at[0] < 0x80) {
			*out = at[0];
			in->at = at + 1;
			return true;
		}
		if (at[1] < 0x80) {
			*out = (uint64_t)at[1] << 7 | (at[0] & 0x7f);
			in->at = at + 2;
			return true;
		}
	}
	return varint_read(&in->at, in->end, out);
}

static inline bool read_bytes(struct span *in, struct span *out)
{
	uint64_t length;

	if (!read_number(in, &length) || length > (uint64_t)(in->end - in->at))
		return false;
	*out = (struct span){ in->at, in->at + length };
	in->at += length;
	return true;
}

/*
 * Steps over the value of a field that is not one of the message's own, 1 to last_known.
 */
static inline bool skip_field(struct span *in, uint64_t key, unsigned last_known)
{
	const uint64_t number = key >> 3;
	uint64_t ignored;
	struct span bytes;

	if (number <= last_known || number > UINT32_MAX >> 3)
		return false;
	switch (key & 7) {
	case WIRE_VARINT:
		return read_number(in, &ignored);
	case WIRE_BYTES:
		return read_bytes(in, &bytes);
	case WIRE_FIXED64:
	case WIRE_FIXED32: {
		const ptrdiff_t length = (key & 7) == WIRE_FIXED64 ? 8 : 4;

		if (in->end - in->at < length)
			return false;
		in->at += length;
		return true;
	}
	default:
		return false; /* groups, and types that do not exist */
	}
}
