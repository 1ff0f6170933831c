/*
 * Folders with what is in them: made, synced, removed.
 *
 * Threads  none.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/* The folder and those above it, as far as they are not there. */
int folder_tree_make(const char *path, struct error *err);

/* The folder that `file` will lie in. */
int folder_tree_make_for(const char *file, struct error *err);

/* Every folder of the tree, so that the names in it outlive a power cut. */
int folder_tree_sync(const char *path, struct error *err);

/* The folder and all in it; symbolic links are not followed. Fine when there is none. */
int folder_tree_remove(const char *path, struct error *err);

/* Whether anything is in it but the names of `but` (NULL behind the last). */
int folder_tree_holds_others(const char *path, const char *const *but, bool *out,
                             struct error *err);
