/*
 * Files at paths that somebody else made up, opened for reading if they are regular files.
 *
 * Shape    nothing else is ever opened, not for a moment: to open a device may do something
 *          (a watchdog starts to run), and a pipe may wait. What lies at the path is looked
 *          at first, and then that very file is opened, whatever the path has become.
 * Errors   -1 and errno; EINVAL: there is something else than a regular file.
 * Threads  any.
 */
#pragma once

#include <stdint.h>

/*
 * A descriptor for reading. `folder` and `resolve` are those of openat2(); folder may be
 * AT_FDCWD.
 */
int regular_file_open(int folder, const char *path, uint64_t resolve);
