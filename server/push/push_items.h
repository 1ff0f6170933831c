/*
 * Pushes in memory, oldest first.
 *
 * Shape    a list that owns its items; one that is taken is the caller's, who frees it.
 * Units    bytes of requests.
 * Threads  none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct push_item {
	struct push_item *next;
	uint64_t number; /* grows from one push to the next */
	int64_t time_unix_ns;
	size_t length;
	char bytes[];
};

/* A copy of the bytes, as of now. */
struct push_item *push_item_new(struct str request) __attribute__((returns_nonnull));

static inline struct str push_item_request(const struct push_item *item)
{
	return str_make(item->bytes, item->length);
}

struct push_items {
	struct push_item *oldest;
	struct push_item **newest; /* where the next one is linked in */
	size_t count;
	size_t bytes;
};

void push_items_init(struct push_items *items);
void push_items_fini(struct push_items *items);

void push_items_add(struct push_items *items, struct push_item *item);

/* There is one. */
struct push_item *push_items_take(struct push_items *items) __attribute__((returns_nonnull));

/* Before all others, where it came from. */
void push_items_put_back(struct push_items *items, struct push_item *item);
