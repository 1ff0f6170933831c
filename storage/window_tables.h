/*
 * What a window has in memory: symbols and series, read from its pages, and how much of
 * them is on disk.
 *
 * Shape    read when first needed, symbols only by those who need them: questions about
 *          labels and totals do not. The writer then adds, and its next commit writes what
 *          is new. `persisted` counts belong to the writer. New symbols go to small
 *          pages; after TAIL_PAGES_MAX of them the small ones are written anew as one,
 *          until that has TAIL_ENTRIES entries and a new tail begins.
 * Errors   ERROR_CORRUPT for damaged pages.
 * Threads  as symbol_table and series_index.
 * Source   docs/formats/store.md, "Symbol pages", "Series"
 */
#pragma once

#include "storage/database.h"
#include "storage/series_index.h"
#include "storage/symbol_pages.h"

#define TAIL_PAGES_MAX 64
#define TAIL_ENTRIES   4096

/* The pages of one kind that are still written anew. */
struct page_tail {
	uint32_t first; /* id of its first entry */
	uint32_t pages;
};

/* What somebody needs of the tables. */
enum window_tables_part {
	WINDOW_TABLES_ALL,
	WINDOW_TABLES_LABELS, /* series and groups */
	WINDOW_TABLES_PARTS
};

struct window_tables {
	struct symbol_table *symbols;
	struct series_index *series;
	bool has_symbols; /* all that the file had when they were last read */
	struct page_tail tails[SYMBOL_PAGE_KINDS];
	uint32_t persisted[SYMBOL_PAGE_KINDS];
	uint32_t persisted_series;
	uint32_t persisted_groups;
};

struct window_tables *window_tables_new(uint64_t key) __attribute__((returns_nonnull));
void window_tables_free(struct window_tables *tables);
DEFINE_FREEP(window_tables)

/*
 * Reads what is on disk behind what is in memory, and publishes it. In a transaction of
 * the caller's.
 */
int window_tables_read(struct window_tables *tables, enum window_tables_part part,
                       struct database *database, struct error *err);

/* Writes what is in memory behind what is on disk, within the caller's transaction. */
struct table_writer; /* its statements */
int table_writer_new(struct database *database, struct table_writer **out, struct error *err);
void table_writer_free(struct table_writer *writer);
DEFINE_FREEP(table_writer)
int table_writer_write(struct table_writer *writer, const struct window_tables *tables,
                       struct error *err);

/* To be called when that transaction has been committed. */
void window_tables_persisted(struct window_tables *tables);

size_t window_tables_bytes(const struct window_tables *tables);
