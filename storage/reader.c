#include "storage/reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "storage/window.h"
#include "storage/window_file.h"

#define BATCH_ROWS  512
#define BATCH_BYTES ((size_t)256 << 10) /* then a batch ends; one row may pass it */
#define BODY_MAX    ((size_t)1 << 30)   /* SQLite's own limit */

#define ROW_WHERE                                                                  \
	" WHERE p.grp = ?1 AND p.time >= ?2 AND p.time <= ?3 AND (p.time > ?2 OR " \
	"p.seq > ?4) ORDER BY p.time, p.seq"

struct reader {
	struct window *window;
	struct database *database;
	struct statement *begin;
	struct statement *commit;
	struct statement *version;
	struct statement *totals;
	struct statement *samples;
	struct statement *probe;
	struct statement *bounds;
	int64_t seen_version; /* of the file, when tables were last read through this connection */
	struct reader_row *rows;
	struct strbuf bytes; /* totals and bodies of the rows */
};

static int prepare(struct reader *reader, struct error *err)
{
	const struct {
		const char *sql;
		struct statement **statement;
	} all[] = {
		{ "BEGIN", &reader->begin },
		{ "COMMIT", &reader->commit },
		{ "PRAGMA data_version", &reader->version },
		{ "SELECT p.time, p.seq, p.sample, p.id, p.totals FROM profile p" ROW_WHERE,
		  &reader->totals },
		{ "SELECT p.time, p.seq, p.sample, p.id, p.totals, s.body FROM profile p "
		  "LEFT JOIN sample s ON s.id = p.sample" ROW_WHERE,
		  &reader->samples },
		{ "SELECT 1 FROM profile WHERE grp = ?1 AND time >= ?2 AND time <= ?3 LIMIT 1",
		  &reader->probe },
		{ "SELECT (SELECT min(time) FROM profile WHERE grp = ?1), "
		  "(SELECT max(time) FROM profile WHERE grp = ?1)",
		  &reader->bounds },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (database_prepare(reader->database, all[i].sql, all[i].statement, err) < 0)
			return -1;
	return 0;
}

static void reader_closep(struct reader **reader)
{
	reader_close(*reader);
}

int reader_open(struct window *window, struct reader **out, struct error *err)
{
	CLEANUP(reader_closep) struct reader *reader = mem_zalloc(1, sizeof(*reader));

	reader->window = window;
	reader->seen_version = -1;
	strbuf_init(&reader->bytes, BODY_MAX);
	if (window_file_open_to_read(window->path, &reader->database, err) < 0 ||
	    prepare(reader, err) < 0)
		return -1;
	*out = TAKE(reader);
	return 0;
}

void reader_close(struct reader *reader)
{
	if (!reader)
		return;
	database_close(reader->database); /* with its statements */
	free(reader->rows);
	strbuf_fini(&reader->bytes);
	free(reader);
}

/* Brings tables up to date with the transaction that is open. */
static int refresh(struct reader *reader, struct error *err)
{
	struct window_tables *tables;
	int64_t version;

	if (!reader->window->follows)
		return window_load(reader->window, reader->database, &tables, err);
	if (statement_step(reader->version, err) < 0)
		return -1;
	version = statement_int(reader->version, 0);
	statement_reset(reader->version);
	if (version == reader->seen_version)
		return 0;
	if (window_load(reader->window, reader->database, &tables, err) < 0)
		return -1;
	reader->seen_version = version;
	return 0;
}

static int begin(struct reader *reader, struct error *err)
{
	if (statement_run(reader->begin, err) < 0)
		return -1;
	if (refresh(reader, err) == 0)
		return 0;
	database_rollback(reader->database);
	return -1;
}

/* Ends the transaction of a read that went well or not. */
static int end(struct reader *reader, int result, struct error *err)
{
	if (result < 0) {
		database_rollback(reader->database);
		return -1;
	}
	return statement_run(reader->commit, err);
}

int reader_tables(struct reader *reader, struct window_tables **out, struct error *err)
{
	if (begin(reader, err) < 0 || end(reader, 0, err) < 0)
		return -1;
	*out = window_tables_of(reader->window);
	return 0;
}

/* ---- batches ---- */

/* Copies the statement's row; views become offsets until the batch is whole. */
static int copy_row(struct reader *reader, struct statement *from, enum reader_want want,
                    struct reader_row *row, struct error *err)
{
	const struct str id = statement_bytes(from, 3);
	struct str totals;

	if (id.length != sizeof(row->id.bytes))
		return error_set(err, ERROR_CORRUPT, "a profile's id has %zu bytes", id.length);
	memcpy(row->id.bytes, id.data, sizeof(row->id.bytes));
	row->time_unix_ns = statement_int(from, 0);
	row->seq = statement_int(from, 1);
	row->sample = statement_int(from, 2);
	totals = statement_bytes(from, 4);
	row->totals.length = totals.length;
	strbuf_add_str(&reader->bytes, totals);
	row->body.length = 0;
	if (want == READER_SAMPLES) {
		struct str body;

		if (statement_is_null(from, 5))
			return error_set(err, ERROR_CORRUPT, "samples %lld are missing",
			                 (long long)row->sample);
		body = statement_bytes(from, 5);
		row->body.length = body.length;
		strbuf_add_str(&reader->bytes, body);
	}
	if (strbuf_overflowed(&reader->bytes))
		return error_set(err, ERROR_TOO_LARGE, "samples are over %zu bytes", BODY_MAX);
	return 0;
}

/* Reads on in the run at hand. Gives 1 when the batch is full before its end. */
static int read_run(struct reader *reader, struct reader_cursor *cursor, size_t *count,
                    struct error *err)
{
	struct statement *from = cursor->want == READER_SAMPLES ? reader->samples : reader->totals;
	const struct reader_run *run = &cursor->runs[cursor->run];
	int more;

	statement_bind_int(from, 1, run->group);
	statement_bind_int(from, 2, cursor->within ? cursor->time_unix_ns : run->start_unix_ns);
	statement_bind_int(from, 3, run->end_unix_ns);
	statement_bind_int(from, 4, cursor->within ? cursor->seq : -1);
	while ((more = statement_step(from, err)) > 0) {
		struct reader_row *row = &reader->rows[*count];

		if (copy_row(reader, from, cursor->want, row, err) < 0) {
			more = -1;
			break;
		}
		row->run = cursor->run;
		cursor->time_unix_ns = row->time_unix_ns;
		cursor->seq = row->seq;
		cursor->within = true;
		if (++*count == BATCH_ROWS || reader->bytes.length >= BATCH_BYTES)
			break;
	}
	statement_reset(from);
	return more;
}

static int read_batch(struct reader *reader, struct reader_cursor *cursor, size_t *count,
                      struct error *err)
{
	while (cursor->run < cursor->run_count) {
		const int more = read_run(reader, cursor, count, err);

		if (more != 0)
			return more < 0 ? -1 : 0;
		cursor->run++;
		cursor->within = false;
	}
	return 0;
}

int reader_next(struct reader *reader, struct reader_cursor *cursor,
                const struct reader_row **out_rows, size_t *out_count, struct error *err)
{
	size_t count = 0;
	const char *at;

	if (!reader->rows)
		reader->rows = mem_zalloc(BATCH_ROWS, sizeof(*reader->rows));
	strbuf_reset(&reader->bytes);
	if (begin(reader, err) < 0 || end(reader, read_batch(reader, cursor, &count, err), err) < 0)
		return -1;
	at = reader->bytes.data;
	for (size_t i = 0; i < count; i++) {
		reader->rows[i].totals.data = at;
		at += reader->rows[i].totals.length;
		reader->rows[i].body.data = at;
		at += reader->rows[i].body.length;
	}
	*out_rows = reader->rows;
	*out_count = count;
	return 0;
}

/* ---- small questions ---- */

static int probe_runs(struct reader *reader, const struct reader_run *runs, size_t run_count,
                      bool *found, struct error *err)
{
	for (size_t i = 0; i < run_count; i++) {
		int more;

		statement_bind_int(reader->probe, 1, runs[i].group);
		statement_bind_int(reader->probe, 2, runs[i].start_unix_ns);
		statement_bind_int(reader->probe, 3, runs[i].end_unix_ns);
		more = statement_step(reader->probe, err);
		statement_reset(reader->probe);
		if (more < 0)
			return -1;
		found[i] = more > 0;
	}
	return 0;
}

int reader_probe(struct reader *reader, const struct reader_run *runs, size_t run_count,
                 bool *found, struct error *err)
{
	if (begin(reader, err) < 0)
		return -1;
	return end(reader, probe_runs(reader, runs, run_count, found, err), err);
}

int reader_bounds(struct reader *reader, uint32_t group, bool *out_any, int64_t *out_oldest,
                  int64_t *out_newest, struct error *err)
{
	int result = 0;

	if (begin(reader, err) < 0)
		return -1;
	statement_bind_int(reader->bounds, 1, group);
	if (statement_step(reader->bounds, err) < 0) {
		result = -1;
	} else {
		*out_any = !statement_is_null(reader->bounds, 0);
		*out_oldest = statement_int(reader->bounds, 0);
		*out_newest = statement_int(reader->bounds, 1);
	}
	statement_reset(reader->bounds);
	return end(reader, result, err);
}
