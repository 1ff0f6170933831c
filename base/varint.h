/*
 * LEB128: unsigned integers in groups of seven bits, low ones first, as protobuf
 * and our pages write them.
 *
 * Shape    at most VARINT_MAX bytes; padded (non-minimal) forms are read, since some
 *          senders write them. Bits past the 64th are refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VARINT_MAX 10 /* bytes of a 64-bit number */

/* The slow part of varint_read: more than one byte. */
static inline bool varint_read_long(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	const uint8_t *p = *at;
	uint64_t number = 0;

	for (unsigned shift = 0; p < end && shift < 70; shift += 7) {
		const uint64_t bits = *p & 0x7f;

		if (shift == 63 && bits > 1)
			return false;
		number |= bits << shift;
		if (*p++ < 0x80) {
			*at = p;
			*out = number;
			return true;
		}
	}
	return false;
}

/* Reads one number at *at and moves *at behind it. False at a bad or cut one. */
static inline bool varint_read(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
	if (*at < end && **at < 0x80) {
		*out = *(*at)++;
		return true;
	}
	return varint_read_long(at, end, out);
}

/* Writes `number` to `to`, which has VARINT_MAX bytes of room. Returns the length. */
static inline size_t varint_write(uint8_t *to, uint64_t number)
{
	size_t length = 0;

	while (number >= 0x80) {
		to[length++] = (uint8_t)(number | 0x80);
		number >>= 7;
	}
	to[length++] = (uint8_t)number;
	return length;
}

static inline size_t varint_length(uint64_t number)
{
	size_t length = 1;

	while (number >= 0x80) {
		number >>= 7;
		length++;
	}
	return length;
}

/* Small negative numbers become small unsigned ones: 0, -1, 1, -2 -> 0, 1, 2, 3. */
static inline uint64_t zigzag_encode(int64_t number)
{
	return ((uint64_t)number << 1) ^ (uint64_t)(number >> 63);
}

static inline int64_t zigzag_decode(uint64_t number)
{
	return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}
