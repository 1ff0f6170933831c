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
	struct statement *format;
	struct statement *version;
	struct statement *wants[READER_WHOLE + 1];
	struct statement *probe;
	struct statement *bounds;
	struct block_table *blocks; /* NULL: the file had none when it was last looked at */
	bool visiting;
	/* of the file, when that part of the tables was last read through this connection */
	int64_t seen_versions[WINDOW_TABLES_PARTS];
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
		{ "PRAGMA user_version", &reader->format },
		{ "PRAGMA data_version", &reader->version },
		{ "SELECT p.time, p.seq, p.sample, p.id, p.totals FROM profile p" ROW_WHERE,
		  &reader->wants[READER_TOTALS] },
		{ "SELECT p.time, p.seq, p.sample, p.id, p.totals, s.body FROM profile p "
		  "LEFT JOIN sample s ON s.id = p.sample" ROW_WHERE,
		  &reader->wants[READER_SAMPLES] },
		{ "SELECT p.time, p.seq, p.sample, p.id, p.totals, s.body, p.origin, p.duration, "
		  "p.received FROM profile p LEFT JOIN sample s ON s.id = p.sample" ROW_WHERE,
		  &reader->wants[READER_WHOLE] },
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
	for (int i = 0; i < WINDOW_TABLES_PARTS; i++)
		reader->seen_versions[i] = -1;
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
	reader_end(reader);
	block_table_close(reader->blocks);
	database_close(reader->database); /* with its statements */
	free(reader->rows);
	strbuf_fini(&reader->bytes);
	free(reader);
}

/* ---- visits ---- */

/* The first look at the file: from here on the transaction shows one moment. */
static int look_at_format(struct reader *reader, struct error *err)
{
	int64_t format;

	if (statement_step(reader->format, err) < 0)
		return -1;
	format = statement_int(reader->format, 0);
	statement_reset(reader->format);
	if (reader->blocks || format < WINDOW_FORMAT_BLOCKS)
		return 0;
	return block_table_open(reader->database, &reader->blocks, err);
}

/* Brings tables up to date with the transaction that is open. */
static int refresh(struct reader *reader, enum window_tables_part part, struct error *err)
{
	struct window_tables *tables;
	int64_t version;

	if (!reader->window->follows)
		return window_load(reader->window, part, reader->database, &tables, err);
	if (statement_step(reader->version, err) < 0)
		return -1;
	version = statement_int(reader->version, 0);
	statement_reset(reader->version);
	if (version == reader->seen_versions[part])
		return 0;
	if (version != reader->seen_versions[WINDOW_TABLES_LABELS])
		group_times_forget_all(reader->window->times);
	if (window_load(reader->window, part, reader->database, &tables, err) < 0)
		return -1;
	reader->seen_versions[part] = reader->seen_versions[WINDOW_TABLES_LABELS] = version;
	return 0;
}

int reader_begin(struct reader *reader, enum window_tables_part part, struct window_tables **out,
                 struct error *err)
{
	if (statement_run(reader->begin, err) < 0)
		return -1;
	reader->visiting = true;
	if (look_at_format(reader, err) < 0 || refresh(reader, part, err) < 0) {
		reader_end(reader);
		return -1;
	}
	*out = window_tables_of(reader->window);
	return 0;
}

void reader_end(struct reader *reader)
{
	if (reader->visiting)
		database_rollback(reader->database); /* nothing was written */
	reader->visiting = false;
}

int reader_tenant(struct reader *reader, struct arena *arena, struct str *out, struct error *err)
{
	CLEANUP(statement_freep) struct statement *find = NULL;
	int more;

	if (database_prepare(reader->database, "SELECT value FROM meta WHERE key = 'tenant'", &find,
	                     err) < 0)
		return -1;
	more = statement_step(find, err);
	if (more < 0)
		return -1;
	if (more == 0)
		return error_set(err, ERROR_CORRUPT, "%s does not name its tenant",
		                 reader->window->path);
	*out = arena_copy(arena, statement_bytes(find, 0));
	return out->data ? 0 : arena_error(arena, err);
}

/* ---- batches ---- */

static int copy_body(struct reader *reader, struct statement *from, struct reader_row *row,
                     struct error *err)
{
	struct str body;

	if (statement_is_null(from, 5))
		return error_set(err, ERROR_CORRUPT, "samples %lld are missing",
		                 (long long)row->sample);
	body = statement_bytes(from, 5);
	row->body.length = body.length;
	strbuf_add_str(&reader->bytes, body);
	return 0;
}

static int copy_rest(struct statement *from, struct reader_row *row, struct error *err)
{
	const struct str origin = statement_bytes(from, 6);

	row->origin = (struct hash128){ 0 };
	if (origin.length == sizeof(row->origin))
		memcpy(&row->origin, origin.data, sizeof(row->origin));
	else if (origin.length > 0)
		return error_set(err, ERROR_CORRUPT, "a profile's origin has %zu bytes",
		                 origin.length);
	row->duration_ns = statement_int(from, 7);
	row->received_s = statement_int(from, 8);
	return 0;
}

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
	if ((want >= READER_SAMPLES && copy_body(reader, from, row, err) < 0) ||
	    (want >= READER_WHOLE && copy_rest(from, row, err) < 0))
		return -1;
	if (strbuf_overflowed(&reader->bytes))
		return error_set(err, ERROR_TOO_LARGE, "samples are over %zu bytes", BODY_MAX);
	return 0;
}

/* Reads on in the run at hand. Gives 1 when the batch is full before its end. */
static int read_run(struct reader *reader, struct reader_cursor *cursor, size_t *count,
                    struct error *err)
{
	struct statement *from = reader->wants[cursor->want];
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
	if (read_batch(reader, cursor, &count, err) < 0)
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

int reader_probe(struct reader *reader, const struct reader_run *runs, size_t run_count,
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

int reader_bounds(struct reader *reader, uint32_t group, bool *out_any, int64_t *out_oldest,
                  int64_t *out_newest, struct error *err)
{
	int result = 0;

	statement_bind_int(reader->bounds, 1, group);
	if (statement_step(reader->bounds, err) < 0) {
		result = -1;
	} else {
		*out_any = !statement_is_null(reader->bounds, 0);
		*out_oldest = statement_int(reader->bounds, 0);
		*out_newest = statement_int(reader->bounds, 1);
	}
	statement_reset(reader->bounds);
	return result;
}

int reader_has_rows(struct reader *reader, bool *out, struct error *err)
{
	int64_t any;

	if (database_number(reader->database, "SELECT 1 FROM profile LIMIT 1", 0, &any, err) < 0)
		return -1;
	*out = any != 0;
	return 0;
}

int reader_prepare(struct reader *reader, const char *sql, struct statement **out,
                   struct error *err)
{
	return database_prepare(reader->database, sql, out, err);
}

struct block_table *reader_blocks(struct reader *reader)
{
	return reader->blocks;
}

/* ---- hours ---- */

/* From one hour of a group to the next: rows are counted, not read. */
struct hour_statements {
	struct statement *next;
	struct statement *count;
};

/* The group and time of the first row behind these. Gives 1, or 0 at the end. */
static int next_row(struct statement *next, int64_t *group, int64_t *time_unix_ns,
                    struct error *err)
{
	int more;

	statement_bind_int(next, 1, *group);
	statement_bind_int(next, 2, *time_unix_ns);
	more = statement_step(next, err);
	if (more > 0) {
		*group = statement_int(next, 0);
		*time_unix_ns = statement_int(next, 1);
	}
	statement_reset(next);
	return more;
}

/* Counts the hour that begins at that row; moves to its end. */
static int count_hour(struct statement *count, int64_t group, int64_t *time_unix_ns,
                      struct reader_hour *out, struct error *err)
{
	const int64_t hour = block_hour_of(*time_unix_ns);
	const int64_t last = block_hour_last(hour);
	int result;

	statement_bind_int(count, 1, group);
	statement_bind_int(count, 2, *time_unix_ns);
	statement_bind_int(count, 3, last);
	result = statement_step(count, err);
	if (result > 0)
		*out = (struct reader_hour){
			.hour = hour,
			.group = (uint32_t)group,
			.profile_count = (uint32_t)statement_int(count, 0),
			.received_s = statement_int(count, 1),
		};
	statement_reset(count);
	*time_unix_ns = last;
	return result;
}

static int list_hours(const struct hour_statements *statements, struct arena *arena,
                      struct reader_hours *out, struct error *err)
{
	int64_t group = -1;
	int64_t time = INT64_MAX;
	int more;

	while ((more = next_row(statements->next, &group, &time, err)) > 0) {
		if (!ARENA_GROW(arena, out->hours, out->count, out->capacity))
			return arena_error(arena, err);
		if (count_hour(statements->count, group, &time, &out->hours[out->count], err) < 0)
			return -1;
		out->count++;
	}
	return more;
}

int reader_hours(struct reader *reader, struct arena *arena, struct reader_hours *out,
                 struct error *err)
{
	CLEANUP(statement_freep) struct statement *next = NULL;
	CLEANUP(statement_freep) struct statement *count = NULL;
	struct reader_hours hours = { 0 };
	int result;

	if (database_prepare(reader->database,
	                     "SELECT grp, time FROM profile WHERE (grp, time) > (?, ?) "
	                     "ORDER BY grp, time LIMIT 1",
	                     &next, err) < 0 ||
	    database_prepare(reader->database,
	                     "SELECT count(*), max(received) FROM profile "
	                     "WHERE grp = ? AND time >= ? AND time <= ?",
	                     &count, err) < 0 ||
	    statement_run(reader->begin, err) < 0)
		return -1;
	result = list_hours(&(struct hour_statements){ next, count }, arena, &hours, err);
	database_rollback(reader->database);
	if (result == 0)
		*out = hours;
	return result;
}
