/*
 * What the server half of `run` gives up before it listens to anybody.
 *
 * Shape    as root: the store gets a place in a mount namespace of its own, where an
 *          ordinary user reaches it below whatever folder it lies; it is given to that
 *          user; then user, groups and every capability go, for good. The user is the
 *          folder's owner; when that is root, `vramscope`, or `nobody` where there is
 *          none. As anybody else: only that nothing can be gained.
 * Errors   ERROR_INVALID for a folder with files that are not a store's, which must not
 *          be given away; ERROR_IO when the system refuses: then nothing may be served.
 * Threads  before the first one.
 */
#pragma once

#include <limits.h>

#include "base/error.h"

/* Fills `path` with where the store is to be opened now. */
int privileges_drop(const char *store, char path[static PATH_MAX], struct error *err);
