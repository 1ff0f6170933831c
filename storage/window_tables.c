#include "storage/window_tables.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/page.h"

#define SMALL_LEVEL 1 /* of zstd: a page of one commit */
#define TAIL_LEVEL  3

struct window_tables *window_tables_new(uint64_t key)
{
	struct window_tables *tables = mem_zalloc(1, sizeof(*tables));

	tables->symbols = symbol_table_new();
	tables->series = series_index_new(key);
	for (int i = 0; i < SYMBOL_PAGE_KINDS; i++) {
		tables->persisted[i] = tables->symbols->counts[symbol_page_kinds[i].symbol];
		tables->tails[i].first = tables->persisted[i];
	}
	return tables;
}

void window_tables_free(struct window_tables *tables)
{
	if (!tables)
		return;
	symbol_table_free(tables->symbols);
	series_index_free(tables->series);
	free(tables);
}

size_t window_tables_bytes(const struct window_tables *tables)
{
	return sizeof(*tables) + symbol_table_bytes(tables->symbols) +
	       series_index_bytes(tables->series);
}

static int64_t page_id(enum page_kind kind, uint32_t first)
{
	return (int64_t)kind << 32 | first;
}

/* ---- reading ---- */

static int read_page(struct window_tables *tables, int index, struct statement *rows,
                     struct arena *arena, struct error *err)
{
	const struct symbol_page_kind kind = symbol_page_kinds[index];
	const int64_t first = statement_int(rows, 0) - page_id(kind.page, 0);
	const int64_t count = statement_int(rows, 1);
	struct page_tail *tail = &tables->tails[index];
	struct str payload;

	if (count < 1 || count > SYMBOL_COUNT_MAX)
		return error_set(err, ERROR_CORRUPT, "page %d/%lld of %lld entries", (int)kind.page,
		                 (long long)first, (long long)count);
	arena_reset(arena);
	if (page_open(statement_bytes(rows, 2), arena, &payload, err) < 0 ||
	    symbol_page_decode(tables->symbols, kind.page, (uint32_t)first, (uint32_t)count,
	                       payload, err) < 0)
		return -1;
	tail->pages++;
	if (count >= TAIL_ENTRIES)
		*tail = (struct page_tail){ (uint32_t)(first + count), 0 };
	return 0;
}

static int read_pages(struct window_tables *tables, int index, struct database *database,
                      struct arena *arena, struct error *err)
{
	const struct symbol_page_kind kind = symbol_page_kinds[index];
	const uint32_t have = tables->symbols->counts[kind.symbol];
	CLEANUP(statement_freep) struct statement *rows = NULL;
	int more;

	/* from the last page that begins at or before what is there: it may have grown */
	if (database_prepare(database,
	                     "SELECT id, count, body FROM page WHERE id >= coalesce("
	                     "(SELECT max(id) FROM page WHERE id >= ?1 AND id <= ?2), ?1)"
	                     " AND id < ?3 ORDER BY id",
	                     &rows, err) < 0)
		return -1;
	statement_bind_int(rows, 1, page_id(kind.page, 0));
	statement_bind_int(rows, 2, page_id(kind.page, have));
	statement_bind_int(rows, 3, page_id(kind.page + 1, 0));
	while ((more = statement_step(rows, err)) > 0)
		if (read_page(tables, index, rows, arena, err) < 0)
			return -1;
	tables->persisted[index] = tables->symbols->counts[kind.symbol];
	return more;
}

/* Rows of `sql` from id `next` on, which have no gaps. */
static int read_series(struct window_tables *tables, struct database *database, const char *sql,
                       uint32_t *next,
                       int (*decode)(struct series_index *, struct str, struct error *),
                       struct error *err)
{
	CLEANUP(statement_freep) struct statement *rows = NULL;
	int more;

	if (database_prepare(database, sql, &rows, err) < 0)
		return -1;
	statement_bind_int(rows, 1, *next);
	while ((more = statement_step(rows, err)) > 0) {
		if (statement_int(rows, 0) != *next)
			return error_set(err, ERROR_CORRUPT, "series %u is missing", *next);
		if (decode(tables->series, statement_bytes(rows, 1), err) < 0)
			return -1;
		++*next;
	}
	return more;
}

static int read_symbols(struct window_tables *tables, struct database *database, struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(2 * PAGE_RAW_MAX, NULL);

	for (int i = 0; i < SYMBOL_PAGE_KINDS; i++)
		if (read_pages(tables, i, database, arena, err) < 0)
			return -1;
	symbol_table_publish(tables->symbols);
	tables->has_symbols = true;
	return 0;
}

int window_tables_read(struct window_tables *tables, enum window_tables_part part,
                       struct database *database, struct error *err)
{
	if (part == WINDOW_TABLES_ALL && read_symbols(tables, database, err) < 0)
		return -1;
	if (read_series(tables, database, "SELECT id, labels FROM series WHERE id >= ? ORDER BY id",
	                &tables->persisted_series, series_index_decode, err) < 0 ||
	    read_series(tables, database,
	                "SELECT id, series FROM series_group WHERE id >= ? ORDER BY id",
	                &tables->persisted_groups, series_index_decode_group, err) < 0)
		return -1;
	series_index_publish(tables->series);
	return 0;
}

/* ---- writing ---- */

struct table_writer {
	struct statement *put_page;
	struct statement *delete_tail;
	struct statement *put_series;
	struct statement *put_group;
	struct strbuf raw;
	struct strbuf body;
};

int table_writer_new(struct database *database, struct table_writer **out, struct error *err)
{
	CLEANUP(table_writer_freep) struct table_writer *writer = mem_zalloc(1, sizeof(*writer));

	strbuf_init(&writer->raw, PAGE_RAW_MAX);
	strbuf_init(&writer->body, PAGE_RAW_MAX);
	if (database_prepare(database, "INSERT INTO page VALUES(?, ?, ?)", &writer->put_page, err) <
	            0 ||
	    database_prepare(database, "DELETE FROM page WHERE id >= ? AND id < ?",
	                     &writer->delete_tail, err) < 0 ||
	    database_prepare(database, "INSERT INTO series VALUES(?, ?)", &writer->put_series,
	                     err) < 0 ||
	    database_prepare(database, "INSERT INTO series_group VALUES(?, ?)", &writer->put_group,
	                     err) < 0)
		return -1;
	*out = TAKE(writer);
	return 0;
}

void table_writer_free(struct table_writer *writer)
{
	if (!writer)
		return;
	statement_free(writer->put_page);
	statement_free(writer->delete_tail);
	statement_free(writer->put_series);
	statement_free(writer->put_group);
	strbuf_fini(&writer->raw);
	strbuf_fini(&writer->body);
	free(writer);
}

static int put_page(struct table_writer *writer, const struct window_tables *tables,
                    enum page_kind kind, uint32_t first, uint32_t end, int level, struct error *err)
{
	strbuf_reset(&writer->raw);
	strbuf_reset(&writer->body);
	symbol_page_encode(tables->symbols, kind, first, end, &writer->raw);
	page_seal(strbuf_view(&writer->raw), level, &writer->body);
	if (strbuf_overflowed(&writer->raw) || strbuf_overflowed(&writer->body))
		return error_set(err, ERROR_TOO_LARGE, "page of %u symbols is over %zu bytes",
		                 end - first, PAGE_RAW_MAX);
	statement_bind_int(writer->put_page, 1, page_id(kind, first));
	statement_bind_int(writer->put_page, 2, end - first);
	statement_bind_bytes(writer->put_page, 3, strbuf_view(&writer->body));
	return statement_run(writer->put_page, err);
}

static int write_kind(struct table_writer *writer, const struct window_tables *tables, int index,
                      struct error *err)
{
	const struct symbol_page_kind kind = symbol_page_kinds[index];
	const struct page_tail *tail = &tables->tails[index];
	const uint32_t first = tables->persisted[index];
	const uint32_t end = tables->symbols->counts[kind.symbol];

	if (end == first)
		return 0;
	if (tail->pages + 1 < TAIL_PAGES_MAX)
		return put_page(writer, tables, kind.page, first, end, SMALL_LEVEL, err);
	statement_bind_int(writer->delete_tail, 1, page_id(kind.page, tail->first));
	statement_bind_int(writer->delete_tail, 2, page_id(kind.page, first));
	if (statement_run(writer->delete_tail, err) < 0)
		return -1;
	return put_page(writer, tables, kind.page, tail->first, end, TAIL_LEVEL, err);
}

static int write_series(struct table_writer *writer, const struct window_tables *tables,
                        struct error *err)
{
	struct series_index *index = tables->series;

	for (uint32_t id = tables->persisted_series; id < index->series_count; id++) {
		strbuf_reset(&writer->raw);
		series_index_encode(index, id, &writer->raw);
		statement_bind_int(writer->put_series, 1, id);
		statement_bind_bytes(writer->put_series, 2, strbuf_view(&writer->raw));
		if (statement_run(writer->put_series, err) < 0)
			return -1;
	}
	for (uint32_t id = tables->persisted_groups; id < index->group_count; id++) {
		const struct series_group *group =
			COLUMN_AT(&index->groups, struct series_group, id);

		strbuf_reset(&writer->raw);
		series_group_encode(group->series, group->count, &writer->raw);
		statement_bind_int(writer->put_group, 1, id);
		statement_bind_bytes(writer->put_group, 2, strbuf_view(&writer->raw));
		if (statement_run(writer->put_group, err) < 0)
			return -1;
	}
	return 0;
}

int table_writer_write(struct table_writer *writer, const struct window_tables *tables,
                       struct error *err)
{
	for (int i = 0; i < SYMBOL_PAGE_KINDS; i++)
		if (write_kind(writer, tables, i, err) < 0)
			return -1;
	return write_series(writer, tables, err);
}

void window_tables_persisted(struct window_tables *tables)
{
	for (int i = 0; i < SYMBOL_PAGE_KINDS; i++) {
		const uint32_t end = tables->symbols->counts[symbol_page_kinds[i].symbol];
		struct page_tail *tail = &tables->tails[i];

		if (end == tables->persisted[i])
			continue;
		/* the same decision as write_kind()'s */
		tail->pages = tail->pages + 1 < TAIL_PAGES_MAX ? tail->pages + 1 : 1;
		if (tail->pages == 1 && end - tail->first >= TAIL_ENTRIES)
			*tail = (struct page_tail){ end, 0 };
		tables->persisted[i] = end;
	}
	tables->persisted_series = tables->series->series_count;
	tables->persisted_groups = tables->series->group_count;
}
