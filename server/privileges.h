/*
 * What the server half of `run` gives up before it listens to anybody.
 *
 * Shape    as root: the store gets a place in a mount namespace of its own, where an
 *          ordinary user reaches it below whatever folder it lies; it is given to that
 *          user; then user, groups and every capability go, for good. The user is the
 *          folder's owner; when that is root, `vramscope`, or `nobody` where there is
 *          none. Root of a container may lack what that takes, or the user may not exist
 *          in its user namespace: then, as for anybody else, only the capabilities go, and
 *          nothing can be gained.
 * Errors   ERROR_INVALID for a folder with files that are not a store's, which must not
 *          be given away; ERROR_IO when the system refuses: then nothing may be served.
 * Threads  before the first one.
 */
#pragma once

#include <limits.h>

#include "base/error.h"

/*
 * Fills `path` with where the store is to be opened now. Root that may not become another
 * user keeps what user 0 may without a capability, files of its own: `kept` says why.
 */
int privileges_drop(const char *store, char path[static PATH_MAX], struct error *kept,
                    struct error *err);
