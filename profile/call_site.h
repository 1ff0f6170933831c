/*
 * Only the stacks that begin with given functions: stack_trace_selector.call_site.
 *
 * Shape    a stack passes when its function names, root first and inlined ones included,
 *          begin with the whole list. An empty list lets everything pass. Names of bare
 *          locations are those of function_tree_bare_name().
 * Errors   arena_error().
 * Threads  none.
 * Source   read specification, 3.7.1
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "profile/symbols.h"

/* `out` has the stacks of `in` that pass; its arrays are in `arena`. */
int call_site_filter(const struct stack_sums *in, const struct str *names, size_t count,
                     struct arena *arena, struct stack_sums *out, struct error *err);
