/*
 * A store in a folder of its own for each test, simple profiles to put into it, and damage
 * to its files.
 */
#pragma once

#include "tests/unit/storage/store_fixture.h"

static const struct made_row one_row[] = { { "main;work", { 3 }, 0 } };

static inline struct made a_profile(const char *service, int64_t time)
{
	return (struct made){ .service = service,
		              .types = { "cpu" },
		              .time = time,
		              .rows = one_row,
		              .row_count = 1 };
}

static inline void append_one(struct store *store, const char *tenant, int64_t time)
{
	const struct made made = a_profile("s", time);

	assert_int_equal(append_made(store, tenant, &made), ERROR_NONE);
}

static inline int setup(void **state)
{
	*state = folder_make();
	return 0;
}

static inline int teardown(void **state)
{
	folder_drop(*state);
	return 0;
}

static inline void overwrite(const char *folder, const char *name, long offset, const char *text)
{
	char path[4200];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r+e");
	assert_non_null(file);
	assert_int_equal(fseek(file, offset, SEEK_SET), 0);
	for (int i = 0; i < 64; i++)
		(void)fputs(text, file);
	assert_int_equal(fclose(file), 0);
}
