#include "storage/care/window_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "storage/care/window_checker.h"
#include "storage/page.h"
#include "storage/window_file.h"
#include "storage/window_name.h"

#define SHOWN_MAX "100" /* faults of SQLite's structure that are told; more say nothing new */

void window_checker_tell(struct window_checker *checker, const char *table, const char *where,
                         const char *format, ...)
{
	const struct damage_report *report = checker->options->report;
	char what[ERROR_MESSAGE_SIZE];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	checker->counts->damaged++;
	report->tell(report->context,
	             &(struct damage){ checker->options->file, table, where, what });
}

void window_checker_read(struct window_checker *checker, uint64_t bytes)
{
	if (checker->options->read)
		checker->options->read(checker->options->context, bytes);
}

/* ---- the file ---- */

/* SQLite's own look at its trees and pages: a fault a line, a few to a row. */
static int check_structure(struct window_checker *checker, struct error *err)
{
	CLEANUP(statement_freep) struct statement *rows = NULL;
	int more;

	if (database_prepare(checker->database, "PRAGMA integrity_check(" SHOWN_MAX ")", &rows,
	                     err) < 0)
		return -1;
	while ((more = statement_step(rows, err)) > 0) {
		struct str text = statement_bytes(rows, 0);
		struct str line;

		while (str_split(&text, '\n', &line))
			if (line.length > 0 && !str_equals(line, "ok") &&
			    !str_starts_with(line, STR("***")))
				window_checker_tell(checker, "sqlite", NULL, "%.*s",
				                    STR_ARGS(line));
	}
	return more;
}

static int check_tenant(struct window_checker *checker, struct error *err)
{
	CLEANUP(statement_freep) struct statement *row = NULL;
	char folder[TENANT_FOLDER_SIZE];
	struct str tenant;
	int more;

	if (database_prepare(checker->database, "SELECT value FROM meta WHERE key = 'tenant'", &row,
	                     err) < 0)
		return -1;
	more = statement_step(row, err);
	if (more == 0)
		window_checker_tell(checker, "meta", "tenant", "is missing");
	if (more <= 0)
		return more;
	tenant = statement_bytes(row, 0);
	tenant_folder_format(tenant, folder);
	if (strcmp(folder, checker->options->folder) != 0)
		window_checker_tell(checker, "meta", "tenant",
		                    "is that of folder %s, the file lies in %s", folder,
		                    checker->options->folder);
	return 0;
}

static int check_meta(struct window_checker *checker, struct error *err)
{
	int64_t day = 0;

	if (!checker->options->folder)
		return 0;
	if (database_number(checker->database, "SELECT value FROM meta WHERE key = 'day'",
	                    INT64_MIN, &day, err) < 0)
		return -1;
	if (day != checker->options->day)
		window_checker_tell(checker, "meta", "day", "is %lld, the file's name says %d",
		                    (long long)day, checker->options->day);
	return check_tenant(checker, err);
}

/* ---- the seal ---- */

/* What a sealed file has none of: nothing comes to it, and nobody sends again what is in it. */
static int check_seal(struct window_checker *checker, struct error *err)
{
	static const struct {
		const char *table;
		const char *sql;
		const char *what;
	} none[] = {
		{ "profile", "SELECT count(*) FROM profile", "fresh profiles" },
		{ "sample", "SELECT count(*) FROM sample", "samples of fresh profiles" },
		{ "block", "SELECT count(origins) FROM block", "blocks with origins" },
	};
	int64_t format = 0;
	int64_t count = 0;

	if (database_number(checker->database, "PRAGMA user_version", 0, &format, err) < 0)
		return -1;
	if (format < WINDOW_FORMAT_SEALED)
		return 0;
	for (size_t i = 0; i < ARRAY_LENGTH(none); i++) {
		if (database_number(checker->database, none[i].sql, 0, &count, err) < 0)
			return -1;
		if (count > 0)
			window_checker_tell(checker, none[i].table, NULL,
			                    "the file is sealed, and has %lld %s", (long long)count,
			                    none[i].what);
	}
	return 0;
}

/* ---- settings ---- */

static int check_settings(struct window_checker *checker, struct error *err)
{
	CLEANUP(statement_freep) struct statement *rows = NULL;
	int64_t tables = 0;
	int more;

	/* made, and killed before its first setting was put */
	if (database_number(checker->database, "SELECT count(*) FROM sqlite_master", 0, &tables,
	                    err) < 0)
		return -1;
	if (tables == 0)
		return 0;
	if (database_prepare(checker->database, "SELECT name, value, modified FROM setting", &rows,
	                     err) < 0)
		return -1;
	while ((more = statement_step(rows, err)) > 0)
		window_checker_read(checker, statement_bytes(rows, 1).length);
	return more;
}

/* ---- all of it ---- */

struct check {
	const char *table;
	int (*run)(struct window_checker *checker, struct error *err);
};

/* In this order: each may refer to what those before it have read. */
static const struct check window_checks[] = {
	{ "sqlite", check_structure },      { "meta", check_meta },
	{ "page", symbol_check },           { "series", series_check },
	{ "series_group", group_check },    { "profile", profile_check },
	{ "block", block_check },           { "sample", sample_check },
	{ "block_page", block_page_check }, { "meta", check_seal },
};

static const struct check settings_checks[] = {
	{ "sqlite", check_structure },
	{ "setting", check_settings },
};

/* A table that cannot be read is damaged; a lock, or no memory, is no damage. */
static bool is_damage(const struct error *err)
{
	return err->code == ERROR_CORRUPT || err->code == ERROR_IO;
}

static int run_checks(struct window_checker *checker, const struct check *checks, size_t count,
                      struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (checks[i].run(checker, err) == 0)
			continue;
		if (!is_damage(err))
			return -1;
		window_checker_tell(checker, checks[i].table, NULL, "cannot be read to its end: %s",
		                    err->message);
		*err = (struct error){ 0 };
	}
	return 0;
}

static int run(struct database *database, const struct window_check_options *options,
               const struct check *checks, size_t count, struct window_check_counts *counts,
               struct error *err)
{
	struct window_checker checker = {
		.database = database,
		.options = options,
		.counts = counts,
	};
	int result;

	if (database_run(database, "BEGIN", err) < 0)
		return -1;
	checker.arena = arena_new(2 * PAGE_RAW_MAX, NULL);
	checker.symbols = symbol_table_new();
	checker.series = series_index_new(0);
	result = run_checks(&checker, checks, count, err);
	database_rollback(database);
	series_index_free(checker.series);
	symbol_table_free(checker.symbols);
	arena_free(checker.arena);
	id_owners_fini(&checker.samples);
	id_owners_fini(&checker.bodies);
	return result;
}

int window_check_run(struct database *database, const struct window_check_options *options,
                     struct window_check_counts *counts, struct error *err)
{
	return run(database, options, window_checks, ARRAY_LENGTH(window_checks), counts, err);
}

int settings_check_run(struct database *database, const struct window_check_options *options,
                       struct window_check_counts *counts, struct error *err)
{
	return run(database, options, settings_checks, ARRAY_LENGTH(settings_checks), counts, err);
}
