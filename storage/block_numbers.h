/*
 * A column of 64-bit numbers, packed by bytes.
 *
 * Shape    every number is least + scale * n. The n take as many bytes as the largest of
 *          them needs and stand plane by plane: all low bytes, then all next ones, each
 *          plane without the zeros at its end. Any range is read without what is before
 *          it and without branches. All of int64 survives: arithmetic wraps.
 * Threads  any.
 * Source   docs/formats/store.md, "Block bodies"
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "storage/byte_cursor.h"

#define BLOCK_NUMBERS_WIDTH_MAX 8

struct block_numbers {
	size_t count;
	int64_t least;
	uint64_t scale;
	unsigned width;                             /* bytes of each; 0: all are `least` */
	struct str planes[BLOCK_NUMBERS_WIDTH_MAX]; /* at most `count` bytes each */
};

/* How a column would be packed. `bits` is its estimated size behind zstd: its entropy. */
struct block_numbers_plan {
	int64_t least;
	uint64_t scale;
	unsigned width;
	uint64_t bits;
};

struct block_numbers_plan block_numbers_measure(const int64_t *numbers, size_t count);

/* Appends the numbers as their plan says. */
void block_numbers_encode(const int64_t *numbers, size_t count,
                          const struct block_numbers_plan *plan, struct strbuf *out);

/* A view of `count` numbers. False for bytes that cannot be so many. */
bool block_numbers_decode(struct byte_cursor *cursor, size_t count, struct block_numbers *out);

/* Numbers [first, first + count). */
void block_numbers_read(const struct block_numbers *numbers, size_t first, size_t count,
                        int64_t *out);

/* The sum of numbers [first, first + count), wrapping. */
uint64_t block_numbers_sum(const struct block_numbers *numbers, size_t first, size_t count);

/* The same of those whose byte in mask[0, count) is 0xff; the others' is 0. */
uint64_t block_numbers_sum_masked(const struct block_numbers *numbers, size_t first, size_t count,
                                  const uint8_t *mask);

/* The same of those whose member is inside, which is 0xff or 0 by member. */
uint64_t block_numbers_sum_members(const struct block_numbers *numbers, size_t first, size_t count,
                                   const uint32_t *members, const uint8_t *inside);
