/*
 * What each function costs: its own value and that of everything below it.
 *
 * Shape    one row a name. A function that calls itself counts once in its total, as in
 *          pprof's "cum".
 * Errors   arena_error() when the arena is full.
 * Threads  none.
 */
#pragma once

#include "profile/function_tree.h"
#include "profile/profile.h"

struct function_row {
	struct str name;
	int64_t self;
	int64_t total;
};

struct function_table {
	struct function_row *rows;
	size_t count;
	int64_t total;
};

enum function_table_order {
	FUNCTION_TABLE_BY_SELF,
	FUNCTION_TABLE_BY_TOTAL,
};

/*
 * The finished tree of one sample type of a profile: inlined calls are frames, bare
 * locations are named FILE!0xADDRESS.
 */
int function_tree_of_profile(const struct profile *profile, size_t sample_type, struct arena *arena,
                             struct function_tree **out, struct error *err);

/* `tree` is finished. Largest first; equal ones by name. */
int function_table_make(const struct function_tree *tree, enum function_table_order order,
                        struct arena *arena, struct function_table *out, struct error *err);

/* A function on two sides; a name that one side lacks has 0 there. */
struct function_change {
	struct str name;
	struct function_row before;
	struct function_row after;
};

struct function_changes {
	struct function_change *rows;
	size_t count;
	int64_t total_before;
	int64_t total_after;
};

/* Largest change of what `order` names first, whatever its sign. */
int function_changes_make(const struct function_table *before, const struct function_table *after,
                          enum function_table_order order, struct arena *arena,
                          struct function_changes *out, struct error *err);
