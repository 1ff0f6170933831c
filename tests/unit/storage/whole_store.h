/*
 * For tests that leave a store behind: it is whole, whatever they did.
 */
#pragma once

#include "storage/care/store_check.h"
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
