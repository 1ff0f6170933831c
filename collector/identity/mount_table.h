/*
 * What lies on file systems of this machine, by the text of /proc/PID/mounts.
 *
 * Shape    the mount with the longest path above a file is the file's; of equal ones the last
 *          lies on top. A file is local if that is one of the kinds that never wait for
 *          another machine, or for a user's program: to open others may hang.
 * Errors   none: what is not known is not local.
 * Threads  any.
 * Source   proc(5), /proc/PID/mounts
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

#define MOUNT_TABLE_MAX ((size_t)1 << 20) /* bytes of the text that are read */

/* `path` is absolute, and has no links, "." and "..". */
bool mount_table_is_local(struct str mounts, struct str path);
