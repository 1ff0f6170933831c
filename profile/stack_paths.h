/*
 * Which path of function names each stack of a window is: computed once a stack.
 *
 * Shape    a number a stack, and one a location and a string, in columns whose pages take
 *          memory when something of them was asked for. It is of one window and one
 *          path_table; what that window's tables gain, it gains when it is asked.
 *          Functions are merged by name, inlined lines of a location are frames, bare
 *          locations are named as function_tree_bare_name() does.
 * Units    bytes; 4 a stack, location and string of the window.
 * Errors   path_table_error(), arena_error().
 * Threads  any may hold it and ask. What is known is read without a lock; what is new is
 *          made with that of the table.
 * Source   read specification, 3.7.1
 */
#pragma once

#include "base/arena.h"
#include "profile/path_table.h"
#include "profile/symbols.h"

struct stack_paths;

/* Held once. Of a window of which nothing was asked yet. */
struct stack_paths *stack_paths_new(const struct path_table *table)
	__attribute__((returns_nonnull));
struct stack_paths *stack_paths_hold(struct stack_paths *own);
void stack_paths_release(struct stack_paths *own); /* NULL is fine */

/* Whether it is of this table. */
bool stack_paths_is_of(const struct stack_paths *own, const struct path_table *table);

size_t stack_paths_bytes(const struct stack_paths *own);

/* The sums above 0 by path, in arrays in `arena`. */
int stack_paths_of_sums(struct stack_paths *own, struct path_table *table,
                        const struct stack_sums *sums, struct arena *arena, struct path_sums *out,
                        struct error *err);
