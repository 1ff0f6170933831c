/*
 * Names of containers that a user runs with Podman: they stand in a file in that user's home.
 *
 * Shape    the storage is where Podman has it unless told otherwise, below the home that
 *          /etc/passwd tells. A home is a stranger's folder: no link is followed in it, only
 *          a regular file of a bounded size is read, only on a file system that does not make
 *          us wait (mount_table.h), and of its text nothing but the name beside the id of the
 *          container is taken.
 * Errors   none: false when the name is not told.
 * Threads  any.
 * Source   collector specification 6.3; containers-storage.conf(5), rootless_storage_path
 */
#pragma once

#include "collector/identity/container_facts.h"
#include "collector/identity/host_files.h"

/* What the machine says of itself. */
struct machine_lists {
	struct str mounts;   /* /proc/1/mounts */
	struct str accounts; /* /etc/passwd */
};

bool rootless_podman_find(const struct host_files *files, const struct machine_lists *lists,
                          uint32_t uid, const char *id, struct container_facts *out);
