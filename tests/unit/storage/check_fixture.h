/*
 * For tests of checks: a window's file of 2024-10-04, and what is told of it.
 */
#pragma once

#include "storage/care/window_check.h"
#include "storage/window_file.h"
#include "tests/unit/storage/care_fixture.h"

#define DAY  20000 /* 2024-10-04 */
#define NAME "tenants/t/2024-10-04.db"

/* What was told, as "table where: what", joined by " | ". */
struct told {
	char text[4096];
};

static inline void tell(void *context, const struct damage *damage)
{
	struct told *told = context;
	const size_t length = strlen(told->text);

	(void)snprintf(told->text + length, sizeof(told->text) - length, "%s%s%s%s: %s",
	               length ? " | " : "", damage->table, damage->where ? " " : "",
	               damage->where ? damage->where : "", damage->what);
}

static inline struct database *open_window(const char *folder)
{
	struct database *database = NULL;
	struct error err = { 0 };
	char path[4200];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, NAME);
	if (window_file_open(
		    &(struct window_file_options){ .path = path, .tenant = STR("t"), .day = DAY },
		    &database, &err) < 0)
		fail_msg("%s", err.message);
	return database;
}

static inline const char *check(struct database *database)
{
	static struct told told;
	const struct damage_report report = { tell, &told };
	struct window_check_counts counts = { 0 };
	struct error err = { 0 };
	const struct window_check_options options = {
		.file = NAME,
		.folder = "t",
		.day = DAY,
		.report = &report,
	};

	told.text[0] = '\0';
	if (window_check_run(database, &options, &counts, &err) < 0)
		fail_msg("%s", err.message);
	assert_true((counts.damaged > 0) == (told.text[0] != '\0'));
	return told.text;
}

static inline void run_sql(struct database *database, const char *sql)
{
	struct error err = { 0 };

	if (database_run(database, sql, &err) < 0)
		fail_msg("%s", err.message);
}
