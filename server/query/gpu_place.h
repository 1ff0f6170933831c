/*
 * Where an event stands in a list that is read page by page: newer ones first, those of
 * one time in an order that is the same at each question. Its text is a cursor.
 *
 * Errors   ERROR_INVALID for a text that is no cursor.
 * Threads  any.
 */
#pragma once

#include "base/arena.h"
#include "profile/label_set.h"

struct gpu_place {
	int64_t time_ns;
	uint64_t hash; /* of the labels */
};

struct gpu_place gpu_place_of(int64_t time_ns, const struct label_set *labels);

/* Below 0: a stands in front. */
int gpu_place_compare(const struct gpu_place *a, const struct gpu_place *b);

/* TIME-HASH. {NULL, 0}: the arena is full. */
struct str gpu_place_format(const struct gpu_place *place, struct arena *arena);
int gpu_place_parse(struct str text, struct gpu_place *out, struct error *err);
