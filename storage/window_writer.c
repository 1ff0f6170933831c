#include "storage/window_writer.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/id_map.h"
#include "base/mem.h"
#include "storage/block_cutter.h"
#include "storage/window_file.h"

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
	bool has_waited;      /* for readers that did not end */
	int64_t waited_mono_ns;
	bool dirty;             /* a transaction is open */
	bool touches_blocks;    /* it puts or deletes some */
	struct group_news news; /* of the transaction */

	struct statement *begin;
	struct statement *commit;
	struct fresh_rows *rows;
	struct profile_places *places;
	struct block_table *blocks;    /* NULL: the window has none */
	struct row_rewriter *rewriter; /* made when something is removed */

	uint32_t *stacks; /* scratch, by row */
	size_t stack_capacity;
};

static int prepare(struct window_writer *writer, struct error *err)
{
	const struct {
		const char *sql;
		struct statement **statement;
	} all[] = {
		{ "BEGIN IMMEDIATE", &writer->begin },
		{ "COMMIT", &writer->commit },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (database_prepare(writer->database, all[i].sql, all[i].statement, err) < 0)
			return -1;
	if (table_writer_new(writer->database, &writer->table_writer, err) < 0 ||
	    fresh_rows_open(writer->database, &writer->window->next_sample, &writer->rows, err) < 0)
		return -1;
	return profile_places_open(writer->database, &writer->places, err);
}

/* ---- blocks ---- */

/* What was kept of blocks in memory is not true any more. */
static int blocks_changed(struct window_writer *writer, struct error *err)
{
	writer->touches_blocks = writer->dirty;
	return profile_places_blocks_changed(writer->places, writer->blocks, err);
}

/* Opens the tables of blocks when the file has them. */
static int look_for_blocks(struct window_writer *writer, struct error *err)
{
	int64_t format = 0;

	if (database_number(writer->database, "PRAGMA user_version", 0, &format, err) < 0)
		return -1;
	if (!writer->blocks && format >= WINDOW_FORMAT_BLOCKS &&
	    block_table_open(writer->database, &writer->blocks, err) < 0)
		return -1;
	return blocks_changed(writer, err);
}

/* After a rollback: tables that it made are gone again. */
static void forget_blocks(struct window_writer *writer)
{
	struct error ignored;

	block_table_close(TAKE(writer->blocks));
	if (look_for_blocks(writer, &ignored) < 0)
		block_table_close(TAKE(writer->blocks));
	writer->touches_blocks = false;
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

static uint32_t family_of(const struct window_writer *writer, uint32_t group)
{
	return COLUMN_AT(&writer->tables->series->groups, struct series_group, group)->family;
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
	if (window_file_open(&options, &writer->database, err) < 0 ||
	    window_load(window, WINDOW_TABLES_ALL, writer->database, &writer->tables, err) < 0 ||
	    interner_new(writer->tables->symbols, window->key, &writer->interner, err) < 0 ||
	    index_series(writer, err) < 0 ||
	    database_number(writer->database, "SELECT max(id) FROM sample", 0, &last_sample, err) <
	            0 ||
	    prepare(writer, err) < 0 || look_for_blocks(writer, err) < 0)
		return -1;
	/* never one that was there since the store was opened: a block may be made of it */
	if (window->next_sample <= last_sample)
		window->next_sample = last_sample + 1;
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
	group_news_fini(&writer->news);
	free(writer->stacks);
	fresh_rows_close(writer->rows);
	profile_places_close(writer->places);
	block_table_close(writer->blocks);
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

/* What is stored of a profile; `totals` has room for one a series. */
static struct block_profile describe(const struct series_profile *profile, uint32_t group,
                                     int64_t received_s, int64_t *totals)
{
	for (size_t i = 0; i < profile->series_count; i++)
		totals[i] = profile->series[i].total;
	return (struct block_profile){
		.group = group,
		.time_unix_ns = profile->time_unix_ns,
		.id = profile->id,
		.origin = profile->origin,
		.duration_ns = profile->duration_ns,
		.received_s = received_s,
		.totals = totals,
	};
}

/* Its place is known and its stacks are found: puts it. */
static int put(struct window_writer *writer, const struct series_profile *profile,
               struct block_profile *stored, struct error *err)
{
	CLEANUP(mem_freep)
	const int64_t **values = mem_zalloc(profile->series_count + 1, sizeof(const int64_t *));
	const struct sample_columns columns = {
		.row_count = profile->row_count,
		.series_count = profile->series_count,
		.stacks = writer->stacks,
		.values = values,
		.span_ids = profile->span_ids,
		.trace_ids = profile->trace_ids,
	};

	for (size_t i = 0; i < profile->series_count; i++)
		values[i] = profile->series[i].values;
	return fresh_rows_put(writer->rows, stored, &columns, err);
}

static struct profile_place place_of(const struct window_writer *writer,
                                     const struct block_profile *profile)
{
	return (struct profile_place){
		.family = family_of(writer, profile->group),
		.group = profile->group,
		.time_unix_ns = profile->time_unix_ns,
		.origin = profile->origin,
		.now_s = profile->received_s,
	};
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
	CLEANUP(mem_freep)
	int64_t *totals = mem_zalloc(profile->series_count + 1, sizeof(*totals));
	struct block_profile stored;
	struct profile_place place;
	bool retry;

	if (profile->series_count > SAMPLE_SERIES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "a profile of %zu sample types",
		                 profile->series_count);
	if (need_transaction(writer, err) < 0)
		return -1;
	stored = describe(profile, add_group(writer, profile, hashes), now_unix_ns / 1000000000,
	                  totals);
	place = place_of(writer, &stored);
	if (profile_places_find(writer->places, &place, &stored.seq, &retry, err) < 0)
		return -1;
	if (retry) {
		*out = WINDOW_WRITER_DUPLICATE;
		return 0;
	}
	need_stacks(writer, profile->row_count);
	if (interner_add(writer->interner, profile, hashes, writer->stacks, err) < 0 ||
	    put(writer, profile, &stored, err) < 0)
		return -1;
	group_news_add(&writer->news, stored.group, stored.time_unix_ns);
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
	writer->touches_blocks = false;
	group_news_tell(&writer->news, writer->window->times);
	atomic_store_explicit(&writer->window->may_have_rows, true, memory_order_release);
	atomic_fetch_add_explicit(&writer->window->commits, 1, memory_order_release);
	window_tables_persisted(writer->tables);
	/* committed to a file without a name: nobody would find it again */
	return database_check_place(writer->database, err);
}

void window_writer_rollback(struct window_writer *writer)
{
	database_rollback(writer->database);
	writer->dirty = false;
	group_news_drop(&writer->news);
	if (writer->touches_blocks)
		forget_blocks(writer);
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

/* Where what stays of a run's profiles goes. */
static void set_target(struct window_writer *writer, struct window_removal *removal)
{
	if (!removal->keep)
		return;
	removal->target = kept_group(writer, removal->group, removal->keep);
	removal->target_family = family_of(writer, removal->target);
}

int window_writer_remove(struct window_writer *writer, struct window_removal *removal,
                         size_t *out_rows, size_t *out_removed, struct error *err)
{
	const struct row_rewriter_parts parts = { writer->database, writer->rows, writer->places };

	if (need_transaction(writer, err) < 0)
		return -1;
	if (!writer->rewriter && row_rewriter_new(&parts, &writer->rewriter, err) < 0)
		return -1;
	writer->news.removes = true;
	set_target(writer, removal);
	return row_rewriter_remove(writer->rewriter, removal, out_rows, out_removed, err);
}

int window_writer_remove_blocks(struct window_writer *writer, struct block_removal *removal,
                                struct block_removed *out, struct error *err)
{
	const struct block_cutter_parts parts = { writer->blocks, writer->rows, writer->places };

	if (!writer->blocks) {
		*out = (struct block_removed){ .done = true };
		return 0;
	}
	if (need_transaction(writer, err) < 0)
		return -1;
	writer->touches_blocks = true;
	writer->news.removes = true;
	for (size_t i = 0; i < removal->run_count; i++)
		set_target(writer, &removal->runs[i]);
	if (block_cutter_next(&parts, removal, out, err) < 0)
		return -1;
	return out->removed > 0 ? blocks_changed(writer, err) : 0;
}

/* ---- exchanging ---- */

static int exchange_rows(struct window_writer *writer, struct block_exchange *exchange,
                         struct error *err)
{
	if (need_transaction(writer, err) < 0)
		return -1;
	writer->touches_blocks = true;
	if (!writer->blocks && (window_file_add_blocks(writer->database, err) < 0 ||
	                        block_table_open(writer->database, &writer->blocks, err) < 0))
		return -1;
	if (block_exchange_run(writer->database, writer->blocks, exchange, err) < 0)
		return -1;
	return blocks_changed(writer, err);
}

int window_writer_exchange(struct window_writer *writer, struct block_exchange *exchange,
                           struct error *err)
{
	if (exchange_rows(writer, exchange, err) < 0) {
		window_writer_rollback(writer);
		return -1;
	}
	return window_writer_commit(writer, err);
}
