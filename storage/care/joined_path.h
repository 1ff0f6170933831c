/*
 * A path of two parts, on the heap.
 *
 * Threads  any.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

static inline char *joined_path(const char *folder, const char *name)
{
	const size_t size = strlen(folder) + strlen(name) + 2;
	char *path = mem_zalloc(size, 1);

	(void)snprintf(path, size, "%s/%s", folder, name);
	return path;
}
