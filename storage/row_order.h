/*
 * The order of rows by stack id.
 *
 * Shape    a stable radix sort of 32-bit keys: a profile's thousand rows take some
 *          microseconds.
 * Threads  none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct row_key {
	uint32_t stack;
	uint32_t row;
};

/* Sorts keys by stack, stable. `spare` has room for as many. */
void row_order_sort(struct row_key *keys, struct row_key *spare, size_t count);
