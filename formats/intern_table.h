/*
 * From a 128-bit hash to a dense id, inside a request's arena.
 *
 * Shape    as base/id_map.h, but its memory counts against the request and may run out. Ids
 *          count from 0 in the order of their first appearance. What a growing table leaves
 *          behind stays in the arena: at most as much again.
 * Errors   INTERN_NONE when the arena is full.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/hash.h"

#define INTERN_NONE UINT32_MAX

struct intern_table {
	struct arena *arena;
	struct hash128 *keys; /* by id */
	uint32_t *slots;      /* id + 1, 0: empty */
	size_t count;
	size_t key_capacity;
	size_t slot_count; /* 0 or a power of two */
};

static inline struct intern_table intern_table(struct arena *arena)
{
	return (struct intern_table){ .arena = arena };
}

/* The id of `key`; a new one is the old count. */
uint32_t intern_table_add(struct intern_table *table, struct hash128 key, bool *out_new);
