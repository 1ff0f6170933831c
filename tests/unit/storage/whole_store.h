/*
 * For tests that leave a store behind: it is whole, whatever they did.
 */
#pragma once

#include "storage/care/store_check.h"
#include "storage/window_file.h"
#include "tests/unit/storage/store_fixture.h"

static inline void tell_and_fail(void *context, const struct damage *damage)
{
	(void)context;
	fail_msg("%s: %s %s: %s", damage->file, damage->table ? damage->table : "",
	         damage->where ? damage->where : "", damage->what);
}

/* Folders in which no store was made are fine. */
static inline void must_be_whole(const char *folder)
{
	const struct damage_report report = { .tell = tell_and_fail };
	const struct store_check_options options = { .path = folder, .report = &report };
	struct store_check_counts counts = { 0 };
	struct error err = { 0 };

	if (store_check_run(&options, &counts, &err) < 0 && err.code != ERROR_NOT_FOUND)
		fail_msg("%s", err.message);
}

/* The one number that a statement gives, of a file of tenant "t". */
static inline int64_t window_number(const char *folder, const char *file, const char *sql)
{
	struct database *database = NULL;
	struct error err = { 0 };
	char path[4200];
	int64_t number = 0;

	(void)snprintf(path, sizeof(path), "%s/tenants/t/%s", folder, file);
	if (window_file_open_to_read(path, &database, &err) < 0 ||
	    database_number(database, sql, -1, &number, &err) < 0)
		fail_msg("%s", err.message);
	database_close(database);
	return number;
}

/* A folder for each test. */
static int setup(void **state)
{
	*state = folder_make();
	return 0;
}

static int teardown(void **state)
{
	must_be_whole(*state);
	folder_drop(*state);
	return 0;
}
