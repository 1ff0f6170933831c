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
	if (reader->at < reader->end && *reader->at < 0x80) {
		*out = *reader->at++;
		return true;
	}
	return jfr_read_compressed_long(reader, out);
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

/*
 * The text in UTF-8; POOLED has none. Plain bytes stay where they are; what Java writes
 * in its own form of UTF-8 (a zero in two bytes, large characters in two halves) becomes
 * the usual one, other broken bytes stay. False when the arena is full.
 */
bool jfr_text_decode(const struct jfr_text *text, struct arena *arena, struct str *out);
