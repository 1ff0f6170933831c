#include "storage/sealing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/block_contents.h"
#include "storage/block_join.h"
#include "storage/file_place.h"
#include "storage/page.h"
#include "storage/window_file.h"
#include "storage/window_name.h"

#define SYMBOL_LEVEL   15 /* of zstd: beyond it symbols take as much room; measured */
#define SYMBOL_ENTRIES (UINT32_C(1) << 16) /* of a page; a page is a step */
#define HELD_MAX       ((size_t)16 << 20)  /* bytes of heads and sums that wait for their place */
#define LISTING_MAX    ((size_t)256 << 20) /* rows of a window's blocks */
#define CONTENTS_MAX   ((size_t)1 << 30)   /* of the blocks at hand */
#define BODY_MAX       (PAGE_RAW_MAX + 64) /* an envelope around a payload */

/* A block whose detail is in the file; heads and sums follow behind those of its family. */
struct held_block {
	struct block_row row;
	struct strbuf heads;
	struct strbuf sums;
};

struct sealing {
	struct sealing_source source;
	char *path;
	struct database *database;
	struct block_table *blocks; /* of the file */
	struct statement *put_page;
	int kind; /* of the symbols that come next */
	uint32_t first;
	bool has_series;
	struct symbols symbols;
	struct block_listing listing; /* of the window's blocks */
	size_t next;
	struct held_block *held;
	size_t held_count;
	size_t held_capacity;
	size_t held_bytes;
	int64_t last_body;      /* id */
	struct arena *arena;    /* of the listing */
	struct arena *contents; /* of the blocks at hand */
	struct strbuf raw;
	struct strbuf body;
};

/* ---- beginning ---- */

static int prepare(struct sealing *sealing, struct error *err)
{
	const struct window_file_options options = {
		.path = sealing->path,
		.tenant = sealing->source.tenant,
		.day = sealing->source.day,
	};

	(void)unlink(sealing->path); /* of somebody who was killed */
	if (window_file_create_sealed(&options, &sealing->database, err) < 0 ||
	    block_table_open(sealing->database, &sealing->blocks, err) < 0)
		return -1;
	return database_prepare(sealing->database, "INSERT INTO page VALUES(?, ?, ?)",
	                        &sealing->put_page, err);
}

static int list_blocks(struct sealing *sealing, struct error *err)
{
	struct reader *reader = sealing->source.reader;
	bool has_rows;

	if (reader_has_rows(reader, &has_rows, err) < 0)
		return -1;
	if (has_rows)
		return error_set(err, ERROR_UNAVAILABLE, "%s has profiles that are in no block",
		                 sealing->source.path);
	if (!reader_blocks(reader))
		return 0;
	return block_table_list_all(reader_blocks(reader), sealing->arena, &sealing->listing, err);
}

int sealing_begin(const struct sealing_source *source, struct sealing **out, struct error *err)
{
	CLEANUP(sealing_endp) struct sealing *sealing = mem_zalloc(1, sizeof(*sealing));
	const size_t size = strlen(source->path) + sizeof(WINDOW_SEALING_TAIL);

	sealing->source = *source;
	sealing->path = mem_zalloc(size, 1);
	(void)snprintf(sealing->path, size, "%s%s", source->path, WINDOW_SEALING_TAIL);
	sealing->arena = arena_new(LISTING_MAX, source->budget);
	sealing->contents = arena_new(CONTENTS_MAX, source->budget);
	strbuf_init(&sealing->raw, PAGE_RAW_MAX);
	strbuf_init(&sealing->body, PAGE_RAW_MAX);
	symbol_table_view(source->tables->symbols, &sealing->symbols);
	if (list_blocks(sealing, err) < 0 || prepare(sealing, err) < 0)
		return -1;
	*out = TAKE(sealing);
	return 0;
}

static void held_fini(struct held_block *held)
{
	strbuf_fini(&held->heads);
	strbuf_fini(&held->sums);
}

void sealing_end(struct sealing *sealing)
{
	if (!sealing)
		return;
	for (size_t i = 0; i < sealing->held_count; i++)
		held_fini(&sealing->held[i]);
	free(sealing->held);
	block_table_close(sealing->blocks);
	database_close(sealing->database); /* with its statements */
	(void)unlink(sealing->path);
	arena_free(sealing->arena);
	arena_free(sealing->contents);
	strbuf_fini(&sealing->raw);
	strbuf_fini(&sealing->body);
	free(sealing->path);
	free(sealing);
}

const char *sealing_path(const struct sealing *sealing)
{
	return sealing->path;
}

/* ---- symbols ---- */

static uint32_t symbol_count(const struct sealing *sealing, enum symbol_kind kind)
{
	const uint32_t counts[SYMBOL_KIND_COUNT] = {
		[SYMBOL_STRING] = sealing->symbols.string_count,
		[SYMBOL_FUNCTION] = sealing->symbols.function_count,
		[SYMBOL_MAPPING] = sealing->symbols.mapping_count,
		[SYMBOL_LINE] = sealing->symbols.line_count,
		[SYMBOL_LOCATION] = sealing->symbols.location_count,
		[SYMBOL_STACK] = sealing->symbols.stack_count,
	};

	return counts[kind];
}

static int put_page(struct sealing *sealing, enum page_kind kind, uint32_t first, uint32_t end,
                    struct error *err)
{
	strbuf_reset(&sealing->raw);
	strbuf_reset(&sealing->body);
	symbol_page_encode(sealing->source.tables->symbols, kind, first, end, &sealing->raw);
	page_seal(strbuf_view(&sealing->raw), SYMBOL_LEVEL, &sealing->body);
	if (strbuf_overflowed(&sealing->raw) || strbuf_overflowed(&sealing->body))
		return error_set(err, ERROR_TOO_LARGE, "page of %u symbols is over %zu bytes",
		                 end - first, PAGE_RAW_MAX);
	statement_bind_int(sealing->put_page, 1, (int64_t)kind << 32 | first);
	statement_bind_int(sealing->put_page, 2, end - first);
	statement_bind_bytes(sealing->put_page, 3, strbuf_view(&sealing->body));
	return statement_run(sealing->put_page, err);
}

/* The next page of symbols. */
static int step_symbols(struct sealing *sealing, struct error *err)
{
	const struct symbol_page_kind kind = symbol_page_kinds[sealing->kind];
	const uint32_t count = symbol_count(sealing, kind.symbol);
	const uint32_t first = sealing->first ? sealing->first : kind.first;
	const uint32_t end = count - first > SYMBOL_ENTRIES ? first + SYMBOL_ENTRIES : count;

	sealing->first = end;
	if (end == count) {
		sealing->kind++;
		sealing->first = 0;
	}
	return end > first ? put_page(sealing, kind.page, first, end, err) : 0;
}

/* ---- series ---- */

/* Rows of an id and bytes, as they are: they were decoded when the tables were read. */
static int copy_rows(struct sealing *sealing, const char *from_sql, const char *to_sql,
                     struct error *err)
{
	CLEANUP(statement_freep) struct statement *from = NULL;
	CLEANUP(statement_freep) struct statement *to = NULL;
	int more;

	if (reader_prepare(sealing->source.reader, from_sql, &from, err) < 0 ||
	    database_prepare(sealing->database, to_sql, &to, err) < 0)
		return -1;
	while ((more = statement_step(from, err)) > 0) {
		statement_bind_int(to, 1, statement_int(from, 0));
		statement_bind_bytes(to, 2, statement_bytes(from, 1));
		if (statement_run(to, err) < 0)
			return -1;
	}
	return more;
}

static int copy_series(struct sealing *sealing, struct error *err)
{
	sealing->has_series = true;
	if (copy_rows(sealing, "SELECT id, labels FROM series ORDER BY id",
	              "INSERT INTO series VALUES(?, ?)", err) < 0)
		return -1;
	return copy_rows(sealing, "SELECT id, series FROM series_group ORDER BY id",
	                 "INSERT INTO series_group VALUES(?, ?)", err);
}

/* ---- blocks: their bodies ---- */

static int check_stacks(const struct sealing *sealing, const struct block_row *row,
                        const struct block_contents *contents, const struct block_sums *sums,
                        struct error *err)
{
	const struct block_rows *rows = &contents->rows;
	uint32_t largest = sums->largest_stack;

	for (uint32_t i = 0; i < rows->firsts[rows->profile_count]; i++)
		largest = rows->stacks[i] > largest ? rows->stacks[i] : largest;
	if (largest >= sealing->symbols.stack_count)
		return block_row_damaged(row, "it names a stack that is not there", err);
	if (sums->series_count != contents->series_count)
		return block_row_damaged(row, "sums have other series than heads", err);
	return 0;
}

/* Whether a block reads back, with all that queries read of it. */
static int check_block(struct sealing *sealing, const struct block_row *row, struct error *err)
{
	struct block_table *blocks = reader_blocks(sealing->source.reader);
	struct block_contents contents;
	struct block_sums sums;

	arena_reset(sealing->contents);
	if (block_contents_read(blocks, row, sealing->contents, &contents, err) < 0 ||
	    block_table_sums(blocks, row, sealing->contents, &sums, err) < 0)
		return -1;
	return check_stacks(sealing, row, &contents, &sums, err);
}

static int copy_body(struct sealing *sealing, const struct block_row *row, enum block_body body,
                     struct strbuf *out, struct error *err)
{
	strbuf_init(out, BODY_MAX);
	if (block_table_copy_body(reader_blocks(sealing->source.reader), row, body, out, err) < 0)
		return -1;
	return strbuf_overflowed(out) ? block_row_damaged(row, "a body is too large", err) : 0;
}

/* The bodies of a block as they are. */
static int copy_block(struct sealing *sealing, const struct block_row *row,
                      struct block_bodies *out, struct error *err)
{
	if (copy_body(sealing, row, BLOCK_BODY_HEADS, &out->heads, err) < 0 ||
	    copy_body(sealing, row, BLOCK_BODY_SUMS, &out->sums, err) < 0)
		return -1;
	return copy_body(sealing, row, BLOCK_BODY_DETAIL, &out->detail, err);
}

/* ---- blocks: their places ---- */

static int put_body(struct sealing *sealing, const struct strbuf *body, int64_t *out_id,
                    struct error *err)
{
	*out_id = ++sealing->last_body;
	return block_table_put_body(sealing->blocks, *out_id, strbuf_view(body), err);
}

/* Heads and sums of what is held: each kind side by side. */
static int flush(struct sealing *sealing, struct error *err)
{
	for (size_t i = 0; i < sealing->held_count; i++)
		if (put_body(sealing, &sealing->held[i].heads,
		             &sealing->held[i].row.bodies[BLOCK_BODY_HEADS], err) < 0)
			return -1;
	for (size_t i = 0; i < sealing->held_count; i++) {
		struct held_block *held = &sealing->held[i];

		if (put_body(sealing, &held->sums, &held->row.bodies[BLOCK_BODY_SUMS], err) < 0 ||
		    block_table_put_row(sealing->blocks, &held->row, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < sealing->held_count; i++)
		held_fini(&sealing->held[i]);
	sealing->held_count = 0;
	sealing->held_bytes = 0;
	return 0;
}

static bool is_next_family(const struct sealing *sealing, const struct block_row *row)
{
	return sealing->held_count > 0 && sealing->held[0].row.key.family != row->key.family;
}

/* Puts the detail, and takes the rest. */
static int put_block(struct sealing *sealing, const struct block_row *row,
                     struct block_bodies *bodies, struct error *err)
{
	struct held_block held = { .row = *row };

	if ((is_next_family(sealing, row) || sealing->held_bytes > HELD_MAX) &&
	    flush(sealing, err) < 0)
		return -1;
	memset(held.row.bodies, 0, sizeof(held.row.bodies));
	if (put_body(sealing, &bodies->detail, &held.row.bodies[BLOCK_BODY_DETAIL], err) < 0)
		return -1;
	if (sealing->held_count == sealing->held_capacity) {
		sealing->held_capacity = sealing->held_capacity ? 2 * sealing->held_capacity : 32;
		sealing->held =
			mem_resize(sealing->held, sealing->held_capacity, sizeof(*sealing->held));
	}
	held.heads = bodies->heads;
	held.sums = bodies->sums;
	bodies->heads = bodies->sums = (struct strbuf){ 0 };
	sealing->held_bytes += held.heads.length + held.sums.length;
	sealing->held[sealing->held_count++] = held;
	return 0;
}

/* ---- blocks: one after the other ---- */

static int step_single(struct sealing *sealing, struct error *err)
{
	CLEANUP(block_bodies_fini) struct block_bodies bodies = { 0 };
	const struct block_row *row = &sealing->listing.rows[sealing->next];

	if (check_block(sealing, row, err) < 0 || copy_block(sealing, row, &bodies, err) < 0)
		return -1;
	sealing->next++;
	return put_block(sealing, row, &bodies, err);
}

static int put_joined(struct sealing *sealing, size_t count, struct block_joined *joined,
                      struct error *err)
{
	const struct block_join_parts parts = {
		.table = reader_blocks(sealing->source.reader),
		.rows = &sealing->listing.rows[sealing->next],
		.count = count,
		.kept = sealing->arena,
		.scratch = sealing->contents,
		.budget = sealing->source.budget,
	};

	for (size_t i = 0; i < count; i++)
		if (check_block(sealing, &parts.rows[i], err) < 0)
			return -1;
	arena_reset(sealing->contents);
	if (block_join_make(&parts, joined, err) < 0)
		return -1;
	if (!joined->fits)
		return 0;
	sealing->next += count;
	return put_block(sealing, &joined->row, &joined->bodies, err);
}

static int step_blocks(struct sealing *sealing, struct error *err)
{
	const size_t count = block_join_count(&sealing->listing, sealing->next);
	struct block_joined joined = { 0 };
	int result = 0;

	if (count > 1) {
		result = put_joined(sealing, count, &joined, err);
		block_bodies_fini(&joined.bodies);
	}
	return result < 0 || joined.fits ? result : step_single(sealing, err);
}

/* ---- the end ---- */

/* From here on the file is whole, and stays so. */
static int finish(struct sealing *sealing, struct error *err)
{
	if (flush(sealing, err) < 0 || database_run(sealing->database, "COMMIT", err) < 0)
		return -1;
	block_table_close(TAKE(sealing->blocks));
	sealing->put_page = NULL;
	database_close(TAKE(sealing->database));
	return file_place_prepare(sealing->path, sealing->source.path, err);
}

int sealing_step(struct sealing *sealing, struct error *err)
{
	if (!sealing->database)
		return 0;
	if (sealing->kind < SYMBOL_PAGE_KINDS)
		return step_symbols(sealing, err) < 0 ? -1 : 1;
	if (!sealing->has_series)
		return copy_series(sealing, err) < 0 ? -1 : 1;
	if (sealing->next < sealing->listing.count)
		return step_blocks(sealing, err) < 0 ? -1 : 1;
	return finish(sealing, err);
}
