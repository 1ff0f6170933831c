/*
 * Series grouped by some of their labels: group_by.
 *
 * Shape    a group's labels are those of group_by that its series have, in the order of
 *          group_by (a name given twice comes twice). Groups count from 0.
 * Errors   LABEL_GROUPS_FULL or false when the arena is full.
 * Threads  none.
 * Source   read specification, 3.12
 */
#pragma once

#include "profile/intern.h"
#include "profile/label_set.h"

#define LABEL_GROUPS_FULL UINT32_MAX

struct label_groups {
	struct arena *arena;
	const struct str *group_by;
	size_t group_by_count;
	uint64_t secret;
	struct intern ids;
	struct label_set *groups;
	size_t count;
	size_t capacity;
};

void label_groups_init(struct label_groups *groups, struct arena *arena, const struct str *group_by,
                       size_t group_by_count);

/* The group of a series with these labels, whose bytes are copied. */
uint32_t label_groups_add(struct label_groups *groups, const struct label_set *labels);

/* A copy of the labels without those of group_by. */
bool label_groups_rest(const struct label_groups *groups, const struct label_set *labels,
                       struct label_set *out);

/* The labels that both sorted sets have with equal values; the bytes are `a`'s. */
bool label_groups_common(const struct label_set *a, const struct label_set *b, struct arena *arena,
                         struct label_set *out);
