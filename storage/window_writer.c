#include "storage/window_writer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "base/wire.h"
#include "storage/page.h"
#include "storage/row_rewriter.h"
#include "storage/sample_page.h"
#include "storage/window_file.h"

#define SAMPLE_LEVEL     1               /* of zstd; the block that comes later packs well */
#define RETRY_S          86400           /* a profile sent again within this time is stored once */
#define TEND_FRAMES      1000            /* of 4 KiB: then the log is moved */
#define TEND_HARD_FRAMES 8192            /* 32 MiB: then readers are waited for */
#define TEND_AGAIN_NS    (10 * NS_PER_S) /* then again, when one did not end; a guess */

struct window_writer {
	struct window *window;
	struct database *database;
	struct window_tables *tables;
	struct interner *interner;
	struct table_writer *table_writer;
	struct id_map series; /* by fingerprint */
	struct id_map groups; /* by the hash of their series */
	int64_t next_sample;
	bool has_waited; /* for readers that did not end */
	int64_t waited_mono_ns;
	bool dirty; /* a transaction is open */

	struct statement *begin;
	struct statement *commit;
	struct statement *find;
	struct statement *put_sample;
	struct statement *put_profile;
	struct row_rewriter *rewriter; /* made when something is removed */

	uint32_t *stacks; /* scratch, by row */
	size_t stack_capacity;
	struct strbuf raw;
	struct strbuf body;
	struct strbuf totals;
};

static int prepare(struct window_writer *writer, struct error *err)
{
	const struct {
		const char *sql;
		struct statement **statement;
	} all[] = {
		{ "BEGIN IMMEDIATE", &writer->begin },
		{ "COMMIT", &writer->commit },
		{ "SELECT seq, origin, received FROM profile WHERE grp = ? AND time = ? "
		  "ORDER BY seq",
		  &writer->find },
		{ "INSERT INTO sample VALUES(?, ?)", &writer->put_sample },
		{ "INSERT INTO profile VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", &writer->put_profile },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (database_prepare(writer->database, all[i].sql, all[i].statement, err) < 0)
			return -1;
	return table_writer_new(writer->database, &writer->table_writer, err);
}

/* ---- series ---- */

static struct hash128 group_hash(const struct window_writer *writer, const uint32_t *series,
                                 uint32_t count)
{
	return hash128(writer->window->key, series, count * sizeof(*series));
}

static int index_series(struct window_writer *writer, struct error *err)
{
	const struct series_index *index = writer->tables->series;
	bool is_new = true;

	for (uint32_t id = 0; is_new && id < index->series_count; id++)
		(void)id_map_add(&writer->series,
		                 COLUMN_AT(&index->series, struct series_entry, id)->fingerprint,
		                 &is_new);
	for (uint32_t id = 0; is_new && id < index->group_count; id++) {
		const struct series_group *group =
			COLUMN_AT(&index->groups, struct series_group, id);

		(void)id_map_add(&writer->groups, group_hash(writer, group->series, group->count),
		                 &is_new);
	}
	return is_new ? 0 : error_set(err, ERROR_CORRUPT, "a series stands there twice");
}

static uint32_t group_of(struct window_writer *writer, const uint32_t *series, uint32_t count)
{
	bool is_new;
	const uint32_t id = id_map_add(&writer->groups, group_hash(writer, series, count), &is_new);

	if (is_new)
		(void)series_index_add_group(writer->tables->series, series, count);
	return id;
}

/* The group of a profile's series; what is new is added. */
static uint32_t add_group(struct window_writer *writer, const struct series_profile *profile,
                          const struct profile_hashes *hashes)
{
	CLEANUP(mem_freep)
	uint32_t *series = mem_zalloc(profile->series_count + 1, sizeof(*series));

	for (size_t i = 0; i < profile->series_count; i++) {
		bool is_new;

		series[i] = id_map_add(&writer->series, hashes->series[i], &is_new);
		if (is_new)
			(void)series_index_add(writer->tables->series, &profile->series[i].labels,
			                       hashes->series[i]);
	}
	return group_of(writer, series, (uint32_t)profile->series_count);
}

/* ---- opening ---- */

static void window_writer_closep(struct window_writer **writer)
{
	window_writer_close(*writer);
}

int window_writer_open(struct window *window, struct str tenant, enum sqlite_store_sync sync,
                       struct window_writer **out, struct error *err)
{
	CLEANUP(window_writer_closep)
	struct window_writer *writer = mem_zalloc(1, sizeof(*writer));
	const struct window_file_options options = {
		.path = window->path,
		.tenant = tenant,
		.day = window->day,
		.sync = sync,
	};
	int64_t last_sample = 0;

	writer->window = window;
	strbuf_init(&writer->raw, PAGE_RAW_MAX);
	strbuf_init(&writer->body, PAGE_RAW_MAX);
	strbuf_init(&writer->totals, (size_t)SAMPLE_SERIES_MAX * VARINT_MAX);
	if (window_file_open(&options, &writer->database, err) < 0 ||
	    window_load(window, writer->database, &writer->tables, err) < 0 ||
	    interner_new(writer->tables->symbols, window->key, &writer->interner, err) < 0 ||
	    index_series(writer, err) < 0 ||
	    database_number(writer->database, "SELECT max(id) FROM sample", 0, &last_sample, err) <
	            0 ||
	    prepare(writer, err) < 0)
		return -1;
	writer->next_sample = last_sample + 1;
	atomic_store_explicit(&window->ready, true, memory_order_release);
	*out = TAKE(writer);
	return 0;
}

void window_writer_close(struct window_writer *writer)
{
	struct error ignored;

	if (!writer)
		return;
	if (writer->database) {
		window_writer_rollback(writer);
		(void)database_checkpoint(writer->database, DATABASE_CHECKPOINT_TRUNCATE, &ignored);
	}
	interner_free(writer->interner);
	table_writer_free(writer->table_writer);
	row_rewriter_free(writer->rewriter);
	id_map_fini(&writer->series);
	id_map_fini(&writer->groups);
	free(writer->stacks);
	strbuf_fini(&writer->raw);
	strbuf_fini(&writer->body);
	strbuf_fini(&writer->totals);
	database_close(writer->database);
	free(writer);
}

/* ---- adding ---- */

static int need_transaction(struct window_writer *writer, struct error *err)
{
	if (writer->dirty)
		return 0;
	if (statement_run(writer->begin, err) < 0)
		return -1;
	writer->dirty = true;
	return 0;
}

/* Whether the found row is the same profile, sent a second time. */
static bool is_retry(struct window_writer *writer, const struct series_profile *profile,
                     int64_t now_s)
{
	const struct str origin = statement_bytes(writer->find, 1);
	const int64_t age = now_s - statement_int(writer->find, 2);

	return !hash128_is_zero(profile->origin) && age <= RETRY_S && age >= -RETRY_S &&
	       origin.length == sizeof(profile->origin) &&
	       memcmp(origin.data, &profile->origin, sizeof(profile->origin)) == 0;
}

/*
 * Looks at the profiles of the same group and time: gives the next number, or that it is
 * a retry.
 */
static int find_place(struct window_writer *writer, uint32_t group,
                      const struct series_profile *profile, int64_t now_s, int64_t *out_seq,
                      bool *out_retry, struct error *err)
{
	int64_t seq = 0;
	bool retry = false;
	int more;

	statement_bind_int(writer->find, 1, group);
	statement_bind_int(writer->find, 2, profile->time_unix_ns);
	while ((more = statement_step(writer->find, err)) > 0) {
		seq = statement_int(writer->find, 0) + 1;
		if (is_retry(writer, profile, now_s)) {
			retry = true;
			break;
		}
	}
	statement_reset(writer->find);
	if (more < 0)
		return -1;
	*out_seq = seq;
	*out_retry = retry;
	return 0;
}

static int encode_samples(struct window_writer *writer, const struct series_profile *profile,
                          struct error *err)
{
	CLEANUP(mem_freep)
	const int64_t **values = mem_zalloc(profile->series_count + 1, sizeof(const int64_t *));
	struct sample_columns columns = {
		.row_count = profile->row_count,
		.series_count = profile->series_count,
		.stacks = writer->stacks,
		.values = values,
		.span_ids = profile->span_ids,
		.trace_ids = profile->trace_ids,
	};

	for (size_t i = 0; i < profile->series_count; i++)
		values[i] = profile->series[i].values;
	strbuf_reset(&writer->raw);
	strbuf_reset(&writer->body);
	strbuf_reset(&writer->totals);
	sample_page_encode(&columns, &writer->raw);
	page_seal(strbuf_view(&writer->raw), SAMPLE_LEVEL, &writer->body);
	for (size_t i = 0; i < profile->series_count; i++)
		wire_put_varint(&writer->totals, (uint64_t)profile->series[i].total);
	if (strbuf_overflowed(&writer->raw) || strbuf_overflowed(&writer->body) ||
	    strbuf_overflowed(&writer->totals))
		return error_set(err, ERROR_TOO_LARGE, "a profile of %zu samples is over %zu bytes",
		                 profile->row_count, PAGE_RAW_MAX);
	return 0;
}

static int insert(struct window_writer *writer, uint32_t group, int64_t seq, int64_t now_s,
                  const struct series_profile *profile, struct error *err)
{
	struct statement *put = writer->put_profile;
	const int64_t sample = writer->next_sample++;

	statement_bind_int(writer->put_sample, 1, sample);
	statement_bind_bytes(writer->put_sample, 2, strbuf_view(&writer->body));
	if (statement_run(writer->put_sample, err) < 0)
		return -1;
	statement_bind_int(put, 1, group);
	statement_bind_int(put, 2, profile->time_unix_ns);
	statement_bind_int(put, 3, seq);
	statement_bind_bytes(put, 4, str_make(profile->id.bytes, sizeof(profile->id.bytes)));
	if (hash128_is_zero(profile->origin))
		statement_bind_null(put, 5);
	else
		statement_bind_bytes(put, 5, str_make(&profile->origin, sizeof(profile->origin)));
	statement_bind_int(put, 6, profile->duration_ns);
	statement_bind_int(put, 7, now_s);
	statement_bind_bytes(put, 8, strbuf_view(&writer->totals));
	statement_bind_int(put, 9, sample);
	return statement_run(put, err);
}

static void need_stacks(struct window_writer *writer, size_t count)
{
	if (count <= writer->stack_capacity)
		return;
	free(writer->stacks);
	writer->stacks = mem_zalloc(count, sizeof(*writer->stacks));
	writer->stack_capacity = count;
}

int window_writer_add(struct window_writer *writer, const struct series_profile *profile,
                      const struct profile_hashes *hashes, int64_t now_unix_ns,
                      enum window_writer_added *out, struct error *err)
{
	const int64_t now_s = now_unix_ns / 1000000000;
	uint32_t group;
	int64_t seq;
	bool retry;

	if (profile->series_count > SAMPLE_SERIES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "a profile of %zu sample types",
		                 profile->series_count);
	if (need_transaction(writer, err) < 0)
		return -1;
	group = add_group(writer, profile, hashes);
	if (find_place(writer, group, profile, now_s, &seq, &retry, err) < 0)
		return -1;
	if (retry) {
		*out = WINDOW_WRITER_DUPLICATE;
		return 0;
	}
	need_stacks(writer, profile->row_count);
	if (interner_add(writer->interner, profile, hashes, writer->stacks, err) < 0 ||
	    encode_samples(writer, profile, err) < 0 ||
	    insert(writer, group, seq, now_s, profile, err) < 0)
		return -1;
	*out = WINDOW_WRITER_STORED;
	return 0;
}

/* ---- transactions ---- */

bool window_writer_is_dirty(const struct window_writer *writer)
{
	return writer->dirty;
}

static void publish(struct window_writer *writer)
{
	struct window *window = writer->window;

	symbol_table_publish(writer->tables->symbols);
	series_index_publish(writer->tables->series);
	atomic_store_explicit(&window->table_bytes, window_tables_bytes(writer->tables),
	                      memory_order_relaxed);
	atomic_store_explicit(&window->writer_bytes,
	                      interner_bytes(writer->interner) + id_map_bytes(&writer->series) +
	                              id_map_bytes(&writer->groups),
	                      memory_order_relaxed);
}

int window_writer_commit(struct window_writer *writer, struct error *err)
{
	if (!writer->dirty)
		return 0;
	/* before the commit: a reader that sees its rows finds what they refer to */
	publish(writer);
	if (table_writer_write(writer->table_writer, writer->tables, err) < 0 ||
	    statement_run(writer->commit, err) < 0) {
		window_writer_rollback(writer);
		return -1;
	}
	writer->dirty = false;
	window_tables_persisted(writer->tables);
	/* committed to a file without a name: nobody would find it again */
	return database_check_place(writer->database, err);
}

void window_writer_rollback(struct window_writer *writer)
{
	database_rollback(writer->database);
	writer->dirty = false;
}

/* Somebody who reads for long, as a check or a copy, is not waited for at every commit. */
static bool may_wait(const struct window_writer *writer)
{
	return !writer->has_waited || clock_mono_ns() - writer->waited_mono_ns >= TEND_AGAIN_NS;
}

static int wait_for_readers(struct window_writer *writer, struct error *err)
{
	const int result = database_checkpoint(writer->database, DATABASE_CHECKPOINT_TRUNCATE, err);

	writer->has_waited = database_wal_frames(writer->database) > 0;
	writer->waited_mono_ns = clock_mono_ns();
	return result;
}

int window_writer_tend(struct window_writer *writer, struct error *err)
{
	const uint32_t frames = database_wal_frames(writer->database);

	if (frames < TEND_FRAMES)
		return 0;
	if (frames >= TEND_HARD_FRAMES && may_wait(writer))
		return wait_for_readers(writer, err);
	return database_checkpoint(writer->database, DATABASE_CHECKPOINT_PASSIVE, err);
}

/* ---- removing ---- */

/* The group that is left when only some series stay. */
static uint32_t kept_group(struct window_writer *writer, uint32_t group, const bool *keep)
{
	const struct series_group *whole =
		COLUMN_AT(&writer->tables->series->groups, struct series_group, group);
	CLEANUP(mem_freep) uint32_t *series = mem_zalloc(whole->count + 1, sizeof(*series));
	uint32_t count = 0;

	for (uint32_t i = 0; i < whole->count; i++)
		if (keep[i])
			series[count++] = whole->series[i];
	return group_of(writer, series, count);
}

int window_writer_remove(struct window_writer *writer, struct window_removal *removal,
                         size_t *out_rows, size_t *out_removed, struct error *err)
{
	uint32_t target = 0;

	if (need_transaction(writer, err) < 0)
		return -1;
	if (!writer->rewriter && row_rewriter_new(writer->database, &writer->rewriter, err) < 0)
		return -1;
	if (removal->keep)
		target = kept_group(writer, removal->group, removal->keep);
	return row_rewriter_remove(writer->rewriter, removal, target, &writer->next_sample,
	                           out_rows, out_removed, err);
}
