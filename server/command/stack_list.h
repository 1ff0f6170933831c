/*
 * The stacks of a profile, the largest first: one line each.
 *
 * Shape    root first, names joined by " > "; frames of the Python interpreter's own C
 *          code are left out, and stacks that are then the same are one. An inlined call
 *          is a frame.
 * Errors   arena_error().
 * Threads  none.
 */
#pragma once

#include "profile/profile.h"

struct stack_row {
	struct str text;
	int64_t value;
};

struct stack_list {
	struct stack_row *rows;
	size_t count;
	int64_t total;
};

/* Of one sample type; values below 1 do not count. */
int stack_list_make(const struct profile *profile, size_t sample_type, struct arena *arena,
                    struct stack_list *out, struct error *err);
