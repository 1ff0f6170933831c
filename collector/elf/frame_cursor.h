/*
 * Reads the numbers of .eh_frame: a pair of pointers into bytes of it, and what the first
 * byte's place in the file means.
 *
 * Shape    every read checks the end; once one has failed `bad` stays set and all are 0.
 * Source   DWARF 5, 7.7; Linux Standard Base 5, 10.5 and 10.6 (pointer encodings)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Pointer encodings: how it is written (low four bits) and what it counts from. */
#define POINTER_ABSOLUTE 0x00
#define POINTER_ULEB     0x01
#define POINTER_UDATA2   0x02
#define POINTER_UDATA4   0x03
#define POINTER_UDATA8   0x04
#define POINTER_SLEB     0x09
#define POINTER_SDATA2   0x0a
#define POINTER_SDATA4   0x0b
#define POINTER_SDATA8   0x0c
#define POINTER_FORMAT   0x0f
#define POINTER_PCREL    0x10
#define POINTER_DATAREL  0x30
#define POINTER_BASE     0x70
#define POINTER_INDIRECT 0x80
#define POINTER_OMIT     0xff

struct frame_cursor {
	const uint8_t *start;
	const uint8_t *at;
	const uint8_t *end;
	uint64_t address; /* that `start` has in the file */
	bool bad;
};

static inline struct frame_cursor frame_cursor(const uint8_t *bytes, size_t length,
                                               uint64_t address)
{
	return (struct frame_cursor){ bytes, bytes, bytes + length, address, false };
}

static inline size_t frame_cursor_left(const struct frame_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline void frame_cursor_fail(struct frame_cursor *cursor)
{
	cursor->bad = true;
	cursor->at = cursor->end;
}

static inline void frame_cursor_skip(struct frame_cursor *cursor, uint64_t length)
{
	if (length > frame_cursor_left(cursor))
		frame_cursor_fail(cursor);
	else
		cursor->at += length;
}

/* Little-endian, 1 to 8 bytes. */
static inline uint64_t frame_cursor_fixed(struct frame_cursor *cursor, size_t length)
{
	uint64_t value = 0;

	if (length > frame_cursor_left(cursor)) {
		frame_cursor_fail(cursor);
		return 0;
	}
	memcpy(&value, cursor->at, length);
	cursor->at += length;
	return value;
}

static inline int64_t frame_cursor_signed(struct frame_cursor *cursor, size_t length)
{
	const unsigned shift = 64 - 8 * (unsigned)length;

	return (int64_t)(frame_cursor_fixed(cursor, length) << shift) >> shift;
}

static inline uint64_t frame_cursor_uleb(struct frame_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		const uint64_t byte = frame_cursor_fixed(cursor, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	frame_cursor_fail(cursor);
	return 0;
}

static inline int64_t frame_cursor_sleb(struct frame_cursor *cursor)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 70; shift += 7) {
		const uint64_t byte = frame_cursor_fixed(cursor, 1);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (byte >= 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			value |= ~UINT64_C(0) << (shift + 7);
		return (int64_t)value;
	}
	frame_cursor_fail(cursor);
	return 0;
}

/* A number as an encoding writes it, without what it counts from. */
static inline uint64_t frame_cursor_encoded(struct frame_cursor *cursor, uint8_t encoding)
{
	switch (encoding & POINTER_FORMAT) {
	case POINTER_ULEB:
		return frame_cursor_uleb(cursor);
	case POINTER_UDATA2:
		return frame_cursor_fixed(cursor, 2);
	case POINTER_UDATA4:
		return frame_cursor_fixed(cursor, 4);
	case POINTER_ABSOLUTE:
	case POINTER_UDATA8:
	case POINTER_SDATA8:
		return frame_cursor_fixed(cursor, 8);
	case POINTER_SLEB:
		return (uint64_t)frame_cursor_sleb(cursor);
	case POINTER_SDATA2:
		return (uint64_t)frame_cursor_signed(cursor, 2);
	case POINTER_SDATA4:
		return (uint64_t)frame_cursor_signed(cursor, 4);
	default:
		frame_cursor_fail(cursor);
		return 0;
	}
}

/* An address; `data` is what data-relative ones count from. */
static inline uint64_t frame_cursor_pointer(struct frame_cursor *cursor, uint8_t encoding,
                                            uint64_t data)
{
	const uint64_t place = cursor->address + (uint64_t)(cursor->at - cursor->start);
	const uint64_t value = frame_cursor_encoded(cursor, encoding);

	switch (encoding & (POINTER_BASE | POINTER_INDIRECT)) {
	case 0:
		return value;
	case POINTER_PCREL:
		return value + place;
	case POINTER_DATAREL:
		return value + data;
	default:
		frame_cursor_fail(cursor);
		return 0;
	}
}
