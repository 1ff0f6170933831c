/*
 * What indices of one profile became in a window: each is looked up once.
 *
 * Shape    an array by index, made with the first question about a profile and forgotten
 *          with the next profile.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct id_memo {
	uint32_t *next_ids; /* id + 1 by index; 0: not asked yet */
	size_t capacity;
	bool is_ready;
};

/* A zeroed memo needs no init. */
static inline void id_memo_fini(struct id_memo *memo)
{
	free(memo->next_ids);
	*memo = (struct id_memo){ 0 };
}

/* Another profile, or other circumstances: nothing is known. */
static inline void id_memo_forget(struct id_memo *memo)
{
	memo->is_ready = false;
}

/* The place of an index below `count`: id + 1, or 0 for the caller to fill. */
static inline uint32_t *id_memo_at(struct id_memo *memo, uint32_t index, size_t count)
{
	if (!memo->is_ready && count > memo->capacity) {
		free(memo->next_ids);
		memo->next_ids = mem_zalloc(count, sizeof(*memo->next_ids));
		memo->capacity = count;
	} else if (!memo->is_ready) {
		memset(memo->next_ids, 0, count * sizeof(*memo->next_ids));
	}
	memo->is_ready = true;
	return &memo->next_ids[index];
}
