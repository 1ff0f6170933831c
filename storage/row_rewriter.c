#include "storage/row_rewriter.h"

#include <stdlib.h>

#include "base/mem.h"
#include "storage/byte_cursor.h"
#include "storage/kept_samples.h"
#include "storage/page.h"

struct row_rewriter {
	struct row_rewriter_parts parts;
	struct statement *next;
	struct statement *read_sample;
	struct statement *delete_profile;
	struct statement *delete_sample;
	struct arena *arena; /* of one row */
};

/* The row at hand. */
struct row {
	struct block_profile profile;
	int64_t sample;
	int64_t *totals; /* in the arena */
	size_t total_count;
};

static int prepare(struct row_rewriter *rewriter, struct error *err)
{
	const struct {
		const char *sql;
		struct statement **statement;
	} all[] = {
		{ "SELECT time, seq, sample, id, origin, duration, received, totals FROM profile "
		  "WHERE grp = ?1 AND time >= ?2 AND time <= ?3 AND (time > ?2 OR seq > ?4) "
		  "ORDER BY time, seq LIMIT 1",
		  &rewriter->next },
		{ "SELECT body FROM sample WHERE id = ?", &rewriter->read_sample },
		{ "DELETE FROM profile WHERE grp = ? AND time = ? AND seq = ?",
		  &rewriter->delete_profile },
		{ "DELETE FROM sample WHERE id = ?", &rewriter->delete_sample },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (database_prepare(rewriter->parts.database, all[i].sql, all[i].statement, err) <
		    0)
			return -1;
	return 0;
}

int row_rewriter_new(const struct row_rewriter_parts *parts, struct row_rewriter **out,
                     struct error *err)
{
	CLEANUP(row_rewriter_freep)
	struct row_rewriter *rewriter = mem_zalloc(1, sizeof(*rewriter));

	rewriter->parts = *parts;
	rewriter->arena = arena_new(2 * PAGE_RAW_MAX, NULL);
	if (prepare(rewriter, err) < 0)
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
	arena_free(rewriter->arena);
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

static int decode_columns(const struct sample_page *page, struct arena *arena,
                          struct sample_columns *out, struct error *err)
{
	int64_t **values = arena_array(arena, page->series_count + 1, sizeof(*values));
	uint64_t *spans = NULL;
	uint8_t(*traces)[TRACE_ID_SIZE] = NULL;

	if (!values)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < page->series_count; i++)
		if (sample_page_values(page, i, arena, &values[i], err) < 0)
			return -1;
	if (sample_page_spans(page, arena, &spans, err) < 0 ||
	    sample_page_traces(page, arena, &traces, err) < 0)
		return -1;
	*out = (struct sample_columns){
		.row_count = page->row_count,
		.series_count = page->series_count,
		.stacks = page->stacks,
		.values = (const int64_t *const *)values,
		.span_ids = spans,
		.trace_ids = (const uint8_t(*)[TRACE_ID_SIZE])traces,
	};
	return 0;
}

static int read_columns(struct row_rewriter *rewriter, const struct row *row,
                        struct sample_columns *out, struct error *err)
{
	struct sample_page page;
	int result;

	statement_bind_int(rewriter->read_sample, 1, row->sample);
	result = read_page(rewriter, row->sample, &page, err);
	statement_reset(rewriter->read_sample);
	return result < 0 ? -1 : decode_columns(&page, rewriter->arena, out, err);
}

/* Puts what is left of a row under the group that is left. */
static int copy_kept(struct row_rewriter *rewriter, struct row *row,
                     const struct window_removal *removal, struct error *err)
{
	const struct profile_place place = {
		.family = removal->target_family,
		.group = removal->target,
		.time_unix_ns = row->profile.time_unix_ns,
	};
	struct block_profile profile = row->profile;
	struct sample_columns columns;
	struct sample_columns kept;
	size_t count = 0;
	bool retry;

	if (read_columns(rewriter, row, &columns, err) < 0)
		return -1;
	if (columns.series_count != row->total_count)
		return error_set(err, ERROR_CORRUPT,
		                 "samples %lld have %zu series, their profile %zu",
		                 (long long)row->sample, columns.series_count, row->total_count);
	if (kept_samples_make(&columns, removal->keep, rewriter->arena, &kept, err) < 0 ||
	    profile_places_find(rewriter->parts.places, &place, &profile.seq, &retry, err) < 0)
		return -1;
	for (size_t i = 0; i < row->total_count; i++)
		if (removal->keep[i])
			row->totals[count++] = row->totals[i];
	profile.group = removal->target;
	return fresh_rows_put(rewriter->parts.rows, &profile, &kept, err);
}

/* ---- rows ---- */

static int read_totals(struct row_rewriter *rewriter, struct str bytes, struct row *row,
                       struct error *err)
{
	struct byte_cursor totals = byte_cursor(bytes);

	row->totals = arena_array_raw(rewriter->arena, bytes.length, sizeof(*row->totals));
	if (!row->totals)
		return arena_error(rewriter->arena, err);
	while (totals.at < totals.end && row->total_count < SAMPLE_SERIES_MAX)
		row->totals[row->total_count++] = (int64_t)byte_cursor_number(&totals);
	row->profile.totals = row->totals;
	return 0;
}

static int decode_row(struct row_rewriter *rewriter, uint32_t group, struct row *out,
                      struct error *err)
{
	struct statement *next = rewriter->next;
	const struct str id = statement_bytes(next, 3);
	const struct str origin = statement_bytes(next, 4);

	*out = (struct row){
		.profile = {
			.group = group,
			.time_unix_ns = statement_int(next, 0),
			.seq = statement_int(next, 1),
			.duration_ns = statement_int(next, 5),
			.received_s = statement_int(next, 6),
		},
		.sample = statement_int(next, 2),
	};
	if (id.length == sizeof(out->profile.id))
		memcpy(&out->profile.id, id.data, sizeof(out->profile.id));
	if (origin.length == sizeof(out->profile.origin))
		memcpy(&out->profile.origin, origin.data, sizeof(out->profile.origin));
	return read_totals(rewriter, statement_bytes(next, 7), out, err);
}

/* Reads the next row. Gives 1, or 0 at the end. */
static int read_row(struct row_rewriter *rewriter, const struct window_removal *removal,
                    struct row *out, struct error *err)
{
	struct statement *next = rewriter->next;
	int more;

	arena_reset(rewriter->arena);
	statement_bind_int(next, 1, removal->group);
	statement_bind_int(next, 2,
	                   removal->within ? removal->time_unix_ns : removal->start_unix_ns);
	statement_bind_int(next, 3, removal->end_unix_ns);
	statement_bind_int(next, 4, removal->within ? removal->seq : -1);
	more = statement_step(next, err);
	if (more > 0 && decode_row(rewriter, removal->group, out, err) < 0)
		more = -1;
	statement_reset(next);
	return more;
}

static int remove_row(struct row_rewriter *rewriter, struct row *row,
                      const struct window_removal *removal, struct error *err)
{
	if (removal->keep && copy_kept(rewriter, row, removal, err) < 0)
		return -1;
	statement_bind_int(rewriter->delete_profile, 1, removal->group);
	statement_bind_int(rewriter->delete_profile, 2, row->profile.time_unix_ns);
	statement_bind_int(rewriter->delete_profile, 3, row->profile.seq);
	if (statement_run(rewriter->delete_profile, err) < 0)
		return -1;
	statement_bind_int(rewriter->delete_sample, 1, row->sample);
	return statement_run(rewriter->delete_sample, err);
}

int row_rewriter_remove(struct row_rewriter *rewriter, struct window_removal *removal,
                        size_t *out_rows, size_t *out_removed, struct error *err)
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
		removal->time_unix_ns = row.profile.time_unix_ns;
		removal->seq = row.profile.seq;
		removal->within = true;
		rows++;
		if (removal->filter && !sample_filter_has_profile(removal->filter, &row.profile.id))
			continue;
		if (remove_row(rewriter, &row, removal, err) < 0)
			return -1;
		removed++;
	}
	*out_rows = rows;
	*out_removed = removed;
	return 0;
}
