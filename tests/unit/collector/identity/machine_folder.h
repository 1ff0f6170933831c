/*
 * A folder that stands for a machine's root, or for its /proc.
 */
#pragma once

#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define MACHINE_PATH_BYTES 512

/* Makes the folders above a path of the machine, and gives the path that leads there. */
static inline void machine_make_way(const char *folder, const char *path,
                                    char out[static MACHINE_PATH_BYTES])
{
	assert_true(snprintf(out, MACHINE_PATH_BYTES, "%s%s", folder, path) < MACHINE_PATH_BYTES);
	for (char *slash = out + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		(void)mkdir(out, 0700);
		*slash = '/';
	}
}

static inline void machine_put_file(const char *folder, const char *path, const char *text)
{
	char way[MACHINE_PATH_BYTES];
	FILE *file;

	machine_make_way(folder, path, way);
	file = fopen(way, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline int machine_remove_one(const char *path, const struct stat *status, int kind,
                                     struct FTW *where)
{
	(void)status;
	(void)kind;
	(void)where;
	return remove(path);
}

/* With all that is in it. */
static inline void machine_remove(const char *folder)
{
	(void)nftw(folder, machine_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
