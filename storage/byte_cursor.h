/*
 * Reading numbers and runs of bytes from a page.
 *
 * Shape    a pair of pointers that remembers a failure: read on, then ask once. After a
 *          failure numbers are 0 and runs empty.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"
#include "base/varint.h"

struct byte_cursor {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct byte_cursor byte_cursor(struct str bytes)
{
	const uint8_t *at = (const uint8_t *)bytes.data;

	return (struct byte_cursor){ at, at ? at + bytes.length : at, false };
}

static inline size_t byte_cursor_left(const struct byte_cursor *cursor)
{
	return (size_t)(cursor->end - cursor->at);
}

static inline uint64_t byte_cursor_number(struct byte_cursor *cursor)
{
	uint64_t number;

	if (varint_read(&cursor->at, cursor->end, &number))
		return number;
	cursor->failed = true;
	cursor->at = cursor->end;
	return 0;
}

static inline int64_t byte_cursor_signed(struct byte_cursor *cursor)
{
	return zigzag_decode(byte_cursor_number(cursor));
}

static inline struct str byte_cursor_run(struct byte_cursor *cursor, uint64_t length)
{
	struct str run;

	if (length > byte_cursor_left(cursor)) {
		cursor->failed = true;
		length = 0;
	}
	run = str_make(cursor->at, (size_t)length);
	if (length > 0)
		cursor->at += length;
	return run;
}

/* A run that begins with its length. */
static inline struct str byte_cursor_text(struct byte_cursor *cursor)
{
	return byte_cursor_run(cursor, byte_cursor_number(cursor));
}

/* Whether all bytes were read and all reads went well. */
static inline bool byte_cursor_done(const struct byte_cursor *cursor)
{
	return !cursor->failed && cursor->at == cursor->end;
}
