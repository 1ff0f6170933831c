/*
 * A database that does not read back goes out of the way, with its log: for whoever wants to
 * look at it later.
 *
 * Errors   none for a file that is gone already.
 * Threads  the writer thread only.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

/*
 * Renames `path` to *.damaged, *.damaged.2, ...; its log goes along. Gives the new path, which
 * is the caller's to free; NULL when there was no file.
 */
int damaged_file_set_aside(const char *path, char **out_aside, struct error *err);
