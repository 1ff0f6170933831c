#include "storage/row_rewriter.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/wire.h"
#include "storage/byte_cursor.h"
#include "storage/page.h"
#include "storage/sample_page.h"

struct row_rewriter {
	struct statement *next;
	struct statement *read_sample;
	struct statement *delete_profile;
	struct statement *delete_sample;
	struct statement *next_seq;
	struct statement *move_profile;
	struct statement *put_sample;
	struct arena *arena;
	struct strbuf raw;
	struct strbuf body;
	struct strbuf totals;
};

/* The row at hand. */
struct row {
	int64_t time_unix_ns;
	int64_t seq;
	int64_t sample;
	struct uuid id;
};

static int prepare(struct row_rewriter *rewriter, struct database *database, struct error *err)
{
	const struct {
		const char *sql;
		struct statement **statement;
	} all[] = {
		{ "SELECT time, seq, sample, id, totals FROM profile WHERE grp = ?1 AND "
		  "time >= ?2 AND time <= ?3 AND (time > ?2 OR seq > ?4) "
		  "ORDER BY time, seq LIMIT 1",
		  &rewriter->next },
		{ "SELECT body FROM sample WHERE id = ?", &rewriter->read_sample },
		{ "DELETE FROM profile WHERE grp = ? AND time = ? AND seq = ?",
		  &rewriter->delete_profile },
		{ "DELETE FROM sample WHERE id = ?", &rewriter->delete_sample },
		{ "SELECT coalesce(max(seq) + 1, 0) FROM profile WHERE grp = ? AND time = ?",
		  &rewriter->next_seq },
		{ "INSERT INTO profile SELECT ?4, time, ?5, id, origin, duration, received, ?6, ?7 "
		  "FROM profile WHERE grp = ?1 AND time = ?2 AND seq = ?3",
		  &rewriter->move_profile },
		{ "INSERT INTO sample VALUES(?, ?)", &rewriter->put_sample },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (database_prepare(database, all[i].sql, all[i].statement, err) < 0)
			return -1;
	return 0;
}

int row_rewriter_new(struct database *database, struct row_rewriter **out, struct error *err)
{
	CLEANUP(row_rewriter_freep)
	struct row_rewriter *rewriter = mem_zalloc(1, sizeof(*rewriter));

	rewriter->arena = arena_new(2 * PAGE_RAW_MAX, NULL);
	strbuf_init(&rewriter->raw, PAGE_RAW_MAX);
	strbuf_init(&rewriter->body, PAGE_RAW_MAX);
	strbuf_init(&rewriter->totals, (size_t)SAMPLE_SERIES_MAX * VARINT_MAX);
	if (prepare(rewriter, database, err) < 0)
		return -1;
	*out = TAKE(rewriter);
	return 0;
}

void row_rewriter_free(struct row_rewriter *rewriter)
{
	if (!rewriter)
		return;
	statement_free(rewriter->next);
	statement_free(rewriter->read_sample);
	statement_free(rewriter->delete_profile);
	statement_free(rewriter->delete_sample);
	statement_free(rewriter->next_seq);
	statement_free(rewriter->move_profile);
	statement_free(rewriter->put_sample);
	arena_free(rewriter->arena);
	strbuf_fini(&rewriter->raw);
	strbuf_fini(&rewriter->body);
	strbuf_fini(&rewriter->totals);
	free(rewriter);
}

/* ---- samples without some series ---- */

static int read_page(struct row_rewriter *rewriter, int64_t sample, struct sample_page *out,
                     struct error *err)
{
	struct str raw = { 0 };
	struct str body = { 0 };
	int result = statement_step(rewriter->read_sample, err);

	if (result == 0)
		result = error_set(err, ERROR_CORRUPT, "samples %lld are missing",
		                   (long long)sample);
	if (result > 0) {
		body = arena_copy(rewriter->arena, statement_bytes(rewriter->read_sample, 0));
		result = body.data ? page_open(body, rewriter->arena, &raw, err)
		                   : arena_error(rewriter->arena, err);
	}
	return result < 0 ? -1 : sample_page_decode(raw, rewriter->arena, out, err);
}

/* Keeps the rows in which a series that stays has a value. */
static void drop_empty_rows(struct sample_columns *columns, uint32_t *stacks,
                            int64_t *const *values, uint64_t *spans,
                            uint8_t (*traces)[TRACE_ID_SIZE])
{
	size_t kept = 0;

	for (size_t row = 0; row < columns->row_count; row++) {
		bool any = false;

		for (size_t i = 0; i < columns->series_count; i++)
			any = any || values[i][row] != 0;
		if (!any)
			continue;
		stacks[kept] = stacks[row];
		for (size_t i = 0; i < columns->series_count; i++)
			values[i][kept] = values[i][row];
		if (spans)
			spans[kept] = spans[row];
		if (traces)
			memmove(traces[kept], traces[row], TRACE_ID_SIZE);
		kept++;
	}
	columns->row_count = kept;
}

static int encode_kept(struct row_rewriter *rewriter, const struct sample_page *page,
                       const bool *keep, struct error *err)
{
	struct arena *arena = rewriter->arena;
	int64_t **values = arena_array(arena, page->series_count + 1, sizeof(int64_t *));
	uint32_t *stacks = arena_array_raw(arena, page->row_count, sizeof(*stacks));
	uint64_t *spans = NULL;
	uint8_t(*traces)[TRACE_ID_SIZE] = NULL;
	struct sample_columns columns = { .row_count = page->row_count };

	if (!values || !stacks)
		return arena_error(arena, err);
	if (page->row_count > 0)
		memcpy(stacks, page->stacks, page->row_count * sizeof(*stacks));
	for (uint32_t i = 0; i < page->series_count; i++)
		if (keep[i] &&
		    sample_page_values(page, i, arena, &values[columns.series_count++], err) < 0)
			return -1;
	if (sample_page_spans(page, arena, &spans, err) < 0 ||
	    sample_page_traces(page, arena, &traces, err) < 0)
		return -1;
	columns.stacks = stacks;
	columns.values = (const int64_t *const *)values;
	columns.span_ids = spans;
	columns.trace_ids = (const uint8_t(*)[TRACE_ID_SIZE])traces;
	drop_empty_rows(&columns, stacks, values, spans, traces);
	sample_page_encode(&columns, &rewriter->raw);
	page_seal(strbuf_view(&rewriter->raw), 1, &rewriter->body);
	return 0;
}

static int write_kept(struct row_rewriter *rewriter, const struct row *row,
                      const struct window_removal *removal, uint32_t target, int64_t sample,
                      struct error *err)
{
	struct statement *move = rewriter->move_profile;
	int64_t seq = 0;
	int more;

	statement_bind_int(rewriter->next_seq, 1, target);
	statement_bind_int(rewriter->next_seq, 2, row->time_unix_ns);
	more = statement_step(rewriter->next_seq, err);
	if (more > 0)
		seq = statement_int(rewriter->next_seq, 0);
	statement_reset(rewriter->next_seq);
	if (more < 0)
		return -1;
	statement_bind_int(rewriter->put_sample, 1, sample);
	statement_bind_bytes(rewriter->put_sample, 2, strbuf_view(&rewriter->body));
	if (statement_run(rewriter->put_sample, err) < 0)
		return -1;
	statement_bind_int(move, 1, removal->group);
	statement_bind_int(move, 2, row->time_unix_ns);
	statement_bind_int(move, 3, row->seq);
	statement_bind_int(move, 4, target);
	statement_bind_int(move, 5, seq);
	statement_bind_bytes(move, 6, strbuf_view(&rewriter->totals));
	statement_bind_int(move, 7, sample);
	return statement_run(move, err);
}

static int copy_kept(struct row_rewriter *rewriter, const struct row *row,
                     const struct window_removal *removal, uint32_t target, int64_t *next_sample,
                     struct error *err)
{
	struct sample_page page;
	int result;

	statement_bind_int(rewriter->read_sample, 1, row->sample);
	result = read_page(rewriter, row->sample, &page, err);
	statement_reset(rewriter->read_sample);
	if (result < 0 || encode_kept(rewriter, &page, removal->keep, err) < 0)
		return -1;
	return write_kept(rewriter, row, removal, target, (*next_sample)++, err);
}

/* ---- rows ---- */

/*
 * Reads the next row; its kept totals go to rewriter->totals. Gives 1, or 0 at the end.
 */
static int read_row(struct row_rewriter *rewriter, const struct window_removal *removal,
                    struct row *out, struct error *err)
{
	struct statement *next = rewriter->next;
	struct byte_cursor totals;
	int more;

	statement_bind_int(next, 1, removal->group);
	statement_bind_int(next, 2,
	                   removal->within ? removal->time_unix_ns : removal->start_unix_ns);
	statement_bind_int(next, 3, removal->end_unix_ns);
	statement_bind_int(next, 4, removal->within ? removal->seq : -1);
	more = statement_step(next, err);
	if (more > 0) {
		const struct str id = statement_bytes(next, 3);

		*out = (struct row){
			.time_unix_ns = statement_int(next, 0),
			.seq = statement_int(next, 1),
			.sample = statement_int(next, 2),
		};
		if (id.length == sizeof(out->id.bytes))
			memcpy(out->id.bytes, id.data, sizeof(out->id.bytes));
		strbuf_reset(&rewriter->totals);
		totals = byte_cursor(statement_bytes(next, 4));
		for (size_t i = 0; totals.at < totals.end; i++) {
			const uint64_t total = byte_cursor_number(&totals);

			if (removal->keep && i < SAMPLE_SERIES_MAX && removal->keep[i])
				wire_put_varint(&rewriter->totals, total);
		}
	}
	statement_reset(next);
	return more;
}

static int remove_row(struct row_rewriter *rewriter, const struct row *row,
                      const struct window_removal *removal, uint32_t target, int64_t *next_sample,
                      struct error *err)
{
	arena_reset(rewriter->arena);
	strbuf_reset(&rewriter->raw);
	strbuf_reset(&rewriter->body);
	if (removal->keep && copy_kept(rewriter, row, removal, target, next_sample, err) < 0)
		return -1;
	statement_bind_int(rewriter->delete_profile, 1, removal->group);
	statement_bind_int(rewriter->delete_profile, 2, row->time_unix_ns);
	statement_bind_int(rewriter->delete_profile, 3, row->seq);
	if (statement_run(rewriter->delete_profile, err) < 0)
		return -1;
	statement_bind_int(rewriter->delete_sample, 1, row->sample);
	return statement_run(rewriter->delete_sample, err);
}

int row_rewriter_remove(struct row_rewriter *rewriter, struct window_removal *removal,
                        uint32_t target, int64_t *next_sample, size_t *out_rows,
                        size_t *out_removed, struct error *err)
{
	size_t rows = 0;
	size_t removed = 0;

	while (rows < removal->limit) {
		struct row row;
		const int more = read_row(rewriter, removal, &row, err);

		if (more < 0)
			return -1;
		if (more == 0)
			break;
		removal->time_unix_ns = row.time_unix_ns;
		removal->seq = row.seq;
		removal->within = true;
		rows++;
		if (removal->filter && !sample_filter_has_profile(removal->filter, &row.id))
			continue;
		if (remove_row(rewriter, &row, removal, target, next_sample, err) < 0)
			return -1;
		removed++;
	}
	*out_rows = rows;
	*out_removed = removed;
	return 0;
}
