/*
 * A window whose rows are any bytes, behind good checks: it is read, summed up and scanned,
 * and what a visitor sees leads somewhere. What the check of a window calls whole is read to
 * its end.
 *
 * An input is rows: kind (0 page, 1 series, 2 group, 3 profile, 4 sample), the numbers of
 * its columns, then its bytes with their length in front. Pages and samples get their
 * envelopes here.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "storage/byte_cursor.h"
#include "storage/care/window_check.h"
#include "storage/page.h"
#include "storage/window_file.h"

#define DAY         20000 /* 2024-10-04 */
#define ROWS_MAX    64
#define FILE_NAME   "tenants/t/2024-10-04.db"
#define ARENA_BYTES ((size_t)16 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the window: a file for the whole run, filled anew for each input ---- */

enum row_kind {
	ROW_PAGE,
	ROW_SERIES,
	ROW_GROUP,
	ROW_PROFILE,
	ROW_SAMPLE,
	ROW_KINDS,
};

static char folder[64];
static struct database *database;
static struct statement *inserts[ROW_KINDS];

static void must(int result, const struct error *err)
{
	if (result >= 0)
		return;
	(void)fprintf(stderr, "%s\n", err->message);
	abort();
}

static void make_window(void)
{
	static const char *const statements[] = {
		"INSERT OR REPLACE INTO page VALUES(?, ?, ?)",
		"INSERT OR REPLACE INTO series VALUES(?, ?)",
		"INSERT OR REPLACE INTO series_group VALUES(?, ?)",
		"INSERT OR REPLACE INTO profile VALUES(?, ?, ?, zeroblob(16), NULL, 0, 0, ?5, ?4)",
		"INSERT OR REPLACE INTO sample VALUES(?, ?)",
	};
	struct error err = { 0 };
	struct store *store = NULL;
	char path[128];

	(void)snprintf(folder, sizeof(folder), "%s/vramscope-fuzz-XXXXXX",
	               access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert(mkdtemp(folder));
	/* makes what is beside the windows */
	must(sqlite_store_open(&(struct sqlite_store_options){ .path = folder }, &store, &err),
	     &err);
	store_close(store);
	(void)snprintf(path, sizeof(path), "%s/tenants/t", folder);
	assert(mkdir(path, 0700) == 0);
	(void)snprintf(path, sizeof(path), "%s/tenants/t/2024-10-04.db", folder);
	must(window_file_open(
		     &(struct window_file_options){ .path = path, .tenant = STR("t"), .day = DAY },
		     &database, &err),
	     &err);
	must(database_run(database, "PRAGMA synchronous=OFF", &err), &err);
	for (size_t i = 0; i < ROW_KINDS; i++)
		must(database_prepare(database, statements[i], &inserts[i], &err), &err);
}

static void drop_window(void)
{
	char command[128];

	database_close(database);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	(void)!system(command);
}

static void put_row(struct byte_cursor *cursor)
{
	static const int numbers[ROW_KINDS] = { 2, 1, 1, 4, 1 };
	const enum row_kind kind = (enum row_kind)(byte_cursor_number(cursor) % ROW_KINDS);
	struct error err = { 0 };
	struct strbuf sealed;
	struct str bytes;

	strbuf_init(&sealed, (size_t)1 << 20);
	for (int i = 1; i <= numbers[kind]; i++)
		statement_bind_int(inserts[kind], i, (int64_t)byte_cursor_number(cursor));
	bytes = byte_cursor_text(cursor);
	if (kind == ROW_PAGE || kind == ROW_SAMPLE) {
		page_seal(bytes, 1, &sealed);
		bytes = strbuf_view(&sealed);
	}
	if (cursor->failed)
		statement_reset(inserts[kind]);
	else {
		statement_bind_bytes(inserts[kind], numbers[kind] + 1, bytes);
		must(statement_run(inserts[kind], &err), &err);
	}
	strbuf_fini(&sealed);
}

static void fill_window(struct str input)
{
	struct byte_cursor cursor = byte_cursor(input);
	struct error err = { 0 };

	must(database_run(database,
	                  "BEGIN; DELETE FROM page; DELETE FROM series; DELETE FROM series_group;"
	                  "DELETE FROM profile; DELETE FROM sample",
	                  &err),
	     &err);
	for (int i = 0; i < ROWS_MAX && byte_cursor_left(&cursor) > 0; i++)
		put_row(&cursor);
	must(database_run(database, "COMMIT", &err), &err);
	must(database_checkpoint(database, DATABASE_CHECKPOINT_TRUNCATE, &err), &err);
}

/* ---- what is seen of it ---- */

static void check_location(const struct symbols *symbols, uint32_t id)
{
	const struct symbol_location *location = SYMBOLS_AT(symbols->locations, id);

	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct symbol_line *line =
			SYMBOLS_AT(symbols->lines, location->first_line + i);
		const struct symbol_function *function =
			SYMBOLS_AT(symbols->functions, line->function);

		assert(symbols_string(symbols, function->name).length <= ARENA_BYTES);
		assert(symbols_string(symbols, function->file).length <= ARENA_BYTES);
	}
}

static int on_sums(void *context, const struct stack_sums *sums, struct error *err)
{
	(void)context;
	(void)err;
	for (size_t i = 0; i < sums->count; i++) {
		assert(sums->sums[i] != 0 && (i == 0 || sums->stacks[i] > sums->stacks[i - 1]));
		for (uint32_t id = sums->stacks[i]; id != 0;) {
			const struct symbol_stack *stack = SYMBOLS_AT(sums->symbols->stacks, id);

			assert(id < sums->symbols->stack_count && stack->parent < id);
			check_location(sums->symbols, stack->location);
			id = stack->parent;
		}
	}
	return 0;
}

static int on_labels(void *context, const struct label_set *labels, struct error *err)
{
	(void)context;
	(void)err;
	(void)label_set_find(labels, STR("service_name"));
	return 0;
}

static int on_point(void *context, const struct store_point *point, struct error *err)
{
	return on_labels(context, point->labels, err);
}

static int on_span(void *context, const struct store_span *span, struct error *err)
{
	assert(span->span_id != 0);
	return on_labels(context, span->labels, err);
}

static void on_damage(void *context, const struct damage *damage)
{
	(void)context;
	assert(strcmp(damage->file, FILE_NAME) == 0 && damage->what[0]);
}

/* Whether the check finds nothing. */
static bool is_whole(void)
{
	const struct damage_report report = { .tell = on_damage };
	const struct window_check_options options = {
		.file = FILE_NAME,
		.folder = "t",
		.day = DAY,
		.report = &report,
	};
	struct window_check_counts counts = { 0 };
	struct error err = { 0 };

	must(window_check_run(database, &options, &counts, &err), &err);
	return counts.damaged == 0;
}

/* What is whole may be too much for the arena, and is never damaged. */
static void expect(bool whole, int result, struct error *err)
{
	assert(!whole || result == 0 || err->code != ERROR_CORRUPT);
	*err = (struct error){ 0 };
}

static void read_window(bool whole)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct selector selector;
	struct store_stats stats;
	struct error err = { 0 };
	const struct store_query query = {
		.tenant = STR("t"),
		.selector = &selector,
		.range = { INT64_MIN, INT64_MAX },
		.arena = arena,
	};

	must(sqlite_store_open(&(struct sqlite_store_options){ .path = folder, .read_only = true },
	                       &store, &err),
	     &err);
	selector_init(&selector, arena);
	must(selector_parse(&selector, STR("{}"), &err), &err);
	expect(whole, store_series(store, &query, on_labels, NULL, &err), &err);
	expect(whole, store_scan(store, &query, on_point, NULL, &err), &err);
	expect(whole, store_scan_spans(store, &query, on_span, NULL, &err), &err);
	expect(whole, store_merge(store, &query, NULL, on_sums, NULL, &err), &err);
	expect(whole, store_stats(store, STR("t"), &stats, &err), &err);
	selector_fini(&selector);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!database) {
		make_window();
		(void)atexit(drop_window);
	}
	fill_window(str_make(data, size));
	read_window(is_whole());
	return 0;
}
