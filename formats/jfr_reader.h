/*
 * The smallest parts of a recording: numbers and strings, at a place in a chunk.
 *
 * Shape    numbers are compressed (groups of seven bits, low ones first; the ninth byte of
 *          a long number has eight) or, where the chunk's header says so, of fixed width
 *          and big-endian. A string says how it is written: no text, empty, a key of the
 *          strings' pool, UTF-8, UTF-16 units as numbers, or Latin-1.
 * Units    places are bytes from the chunk's beginning.
 * Errors   false at bytes that end too early or mean nothing; nothing is read past the
 *          end.
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define JFR_NUMBER_MAX 9 /* bytes of a compressed number */

struct jfr_reader {
	const uint8_t *at;
	const uint8_t *end;
	bool fixed; /* numbers are not compressed */
};

enum jfr_encoding {
	JFR_NULL = 0,
	JFR_EMPTY = 1,
	JFR_POOLED = 2,
	JFR_UTF8 = 3,
	JFR_UTF16 = 4,
	JFR_LATIN1 = 5,
};

/* A string as it is written. */
struct jfr_text {
	enum jfr_encoding encoding;
	bool fixed;
	uint64_t key;     /* of POOLED */
	size_t units;     /* of UTF16 */
	struct str bytes; /* of UTF8, UTF16 and LATIN1: a view */
};

static inline size_t jfr_left(const struct jfr_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

bool jfr_read_compressed_long(struct jfr_reader *reader, uint64_t *out);

static inline bool jfr_read_compressed(struct jfr_reader *reader, uint64_t *out)
{
	const uint8_t *at = reader->at;

	if (at < reader->end && at[0] < 0x80) {
		*out = at[0];
		reader->at = at + 1;
		return true;
	}
	if (reader->end - at >= 2 && at[1] < 0x80) {
		*out = (uint64_t)(at[0] & 0x7f) | (uint64_t)at[1] << 7;
		reader->at = at + 2;
		return true;
	}
	return jfr_read_compressed_long(reader, out);
}

#define JFR_TOP_BITS UINT64_C(0x8080808080808080)

/* The number in the groups of seven bits of these bytes, the first byte lowest. */
static inline uint64_t jfr_join_groups(uint64_t bytes)
{
	bytes &= ~JFR_TOP_BITS;
	bytes = (bytes & UINT64_C(0x007f007f007f007f)) |
	        (bytes & UINT64_C(0x7f007f007f007f00)) >> 1;
	bytes = (bytes & UINT64_C(0x00003fff00003fff)) |
	        (bytes & UINT64_C(0x3fff00003fff0000)) >> 2;
	return (bytes & UINT64_C(0x000000000fffffff)) | (bytes & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* `width` bytes, big-endian. */
bool jfr_read_fixed(struct jfr_reader *reader, size_t width, uint64_t *out);

static inline bool jfr_read_number(struct jfr_reader *reader, size_t width, uint64_t *out)
{
	return reader->fixed ? jfr_read_fixed(reader, width, out)
	                     : jfr_read_compressed(reader, out);
}

/* A Java int, as its 32 bits; a Java long. */
static inline bool jfr_read_int(struct jfr_reader *reader, uint64_t *out)
{
	return jfr_read_number(reader, 4, out);
}

static inline bool jfr_read_long(struct jfr_reader *reader, uint64_t *out)
{
	return jfr_read_number(reader, 8, out);
}

/* How many things follow: each takes at least `least` bytes, which must be there. */
bool jfr_read_count(struct jfr_reader *reader, size_t least, uint64_t *out);

bool jfr_skip(struct jfr_reader *reader, size_t bytes);
bool jfr_skip_compressed(struct jfr_reader *reader, size_t count);

static inline bool jfr_skip_longs(struct jfr_reader *reader, size_t count)
{
	return reader->fixed ? jfr_skip(reader, 8 * count) : jfr_skip_compressed(reader, count);
}

bool jfr_read_text(struct jfr_reader *reader, struct jfr_text *out);

/* jfr_read_text() for a string that nobody wants: most are a length and bytes. */
static inline bool jfr_skip_text(struct jfr_reader *reader)
{
	struct jfr_text text;

	if (!reader->fixed && jfr_left(reader) >= 2 && reader->at[0] == JFR_UTF8 &&
	    reader->at[1] < 0x80 && reader->at[1] <= jfr_left(reader) - 2) {
		reader->at += 2 + reader->at[1];
		return true;
	}
	return jfr_read_text(reader, &text);
}

/*
 * The text in UTF-8; POOLED has none. Plain bytes stay where they are; what Java writes
 * in its own form of UTF-8 (a zero in two bytes, large characters in two halves) becomes
 * the usual one, other broken bytes stay. False when the arena is full.
 */
bool jfr_text_decode(const struct jfr_text *text, struct arena *arena, struct str *out);
