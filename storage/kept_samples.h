/*
 * What is left of a profile when some of its series go.
 *
 * Shape    columns that stay, and of the rows those in which one of them has a value.
 * Errors   arena_error() when the arena is full.
 * Threads  none.
 */
#pragma once

#include "base/arena.h"
#include "storage/sample_page.h"

/*
 * keep[i] says which columns of `whole` stay. *out is in the arena, but for what it
 * borrows when no row goes.
 */
int kept_samples_make(const struct sample_columns *whole, const bool *keep, struct arena *arena,
                      struct sample_columns *out, struct error *err);
