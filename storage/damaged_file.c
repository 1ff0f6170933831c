#include "storage/damaged_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define TAIL_SIZE 32 /* of ".damaged.999-journal" */

/* A name that is free: *.damaged, *.damaged.2, ... */
static void free_name(const char *path, char *out, size_t size)
{
	(void)snprintf(out, size, "%s.damaged", path);
	for (unsigned i = 2; (access(out, F_OK) == 0 || errno != ENOENT) && i < 1000; i++)
		(void)snprintf(out, size, "%s.damaged.%u", path, i);
}

int damaged_file_set_aside(const char *path, char **out_aside, struct error *err)
{
	static const char *const logs[] = { "-wal", "-journal" };
	const size_t size = strlen(path) + TAIL_SIZE;
	CLEANUP(mem_freep) char *aside = mem_zalloc(size, 1);
	CLEANUP(mem_freep) char *from = mem_zalloc(size, 1);
	CLEANUP(mem_freep) char *to = mem_zalloc(size, 1);
	bool is_gone;

	free_name(path, aside, size);
	is_gone = rename(path, aside) < 0;
	if (is_gone && errno != ENOENT)
		return error_set_errno(err, errno, "%s cannot be set aside", path);
	for (size_t i = 0; i < ARRAY_LENGTH(logs); i++) {
		(void)snprintf(from, size, "%s%s", path, logs[i]);
		(void)snprintf(to, size, "%s%s", aside, logs[i]);
		(void)rename(from, to); /* most often there is none */
	}
	(void)snprintf(from, size, "%s-shm", path);
	(void)unlink(from);
	*out_aside = is_gone ? NULL : TAKE(aside);
	return 0;
}
