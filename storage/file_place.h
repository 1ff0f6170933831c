/*
 * One database takes the place of another: whoever opens the path finds the one or the
 * other, whole, also after a power cut. Those who have the old one open go on with it.
 *
 * Errors   ERROR_UNAVAILABLE: the old one has a log, whose frames would be lost, or be taken
 *          for those of the new one; ERROR_NO_SPACE; ERROR_IO.
 * Threads  none; nobody writes either file.
 */
#pragma once

#include "base/error.h"

/* The new file gets owner and mode of the one at `path`, and is on disk then. */
int file_place_prepare(const char *fresh, const char *path, struct error *err);

/*
 * `fresh` was prepared. What the old one had beside it goes. A power cut may bring the old one
 * back until file_place_sync().
 */
int file_place_take(const char *fresh, const char *path, struct error *err);

int file_place_sync(const char *path, struct error *err);
