#include "storage/block_table.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/wire.h"
#include "storage/byte_cursor.h"
#include "storage/page.h"

#define GROUPS_BYTES_MAX ((size_t)1 << 20) /* of a block's list: it has some thousand profiles */

/* The columns of a row, in the order of the table. */
enum {
	COLUMN_FAMILY,
	COLUMN_HOUR,
	COLUMN_PART,
	COLUMN_FIRST_TIME,
	COLUMN_LAST_TIME,
	COLUMN_PROFILES,
	COLUMN_GROUPS,
	COLUMN_BODIES, /* as many as there are kinds */
};

struct block_table {
	struct database *database;
	struct statement *list;
	struct statement *list_all;
	struct statement *read;
	struct statement *next_part;
	struct statement *put;
	struct statement *put_body;
	struct statement *delete;
	struct statement *delete_body;
	struct strbuf groups;
};

bool block_row_find(const struct block_row *row, uint32_t group, uint32_t *out_index)
{
	uint32_t low = 0;
	uint32_t high = row->group_count;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;

		if (row->groups[middle] < group)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == row->group_count || row->groups[low] != group)
		return false;
	*out_index = low;
	return true;
}

/* ---- opening ---- */

static int prepare(struct block_table *table, struct error *err)
{
	const struct {
		const char *sql;
		struct statement **statement;
	} all[] = {
		{ "SELECT * FROM block WHERE family = ? AND hour >= ? AND hour <= ? "
		  "ORDER BY hour, part",
		  &table->list },
		{ "SELECT * FROM block ORDER BY family, hour, part", &table->list_all },
		{ "SELECT body FROM block_page WHERE id = ?", &table->read },
		{ "SELECT coalesce(max(part) + 1, 0) FROM block WHERE family = ? AND hour = ?",
		  &table->next_part },
		{ "INSERT INTO block VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", &table->put },
		{ "INSERT INTO block_page VALUES(?, ?)", &table->put_body },
		{ "DELETE FROM block WHERE family = ? AND hour = ? AND part = ?", &table->delete },
		{ "DELETE FROM block_page WHERE id = ?", &table->delete_body },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(all); i++)
		if (database_prepare(table->database, all[i].sql, all[i].statement, err) < 0)
			return -1;
	return 0;
}

int block_table_open(struct database *database, struct block_table **out, struct error *err)
{
	CLEANUP(block_table_closep) struct block_table *table = mem_zalloc(1, sizeof(*table));

	table->database = database;
	strbuf_init(&table->groups, GROUPS_BYTES_MAX);
	if (prepare(table, err) < 0)
		return -1;
	*out = TAKE(table);
	return 0;
}

void block_table_close(struct block_table *table)
{
	if (!table)
		return;
	statement_free(table->list);
	statement_free(table->list_all);
	statement_free(table->read);
	statement_free(table->next_part);
	statement_free(table->put);
	statement_free(table->put_body);
	statement_free(table->delete);
	statement_free(table->delete_body);
	strbuf_fini(&table->groups);
	free(table);
}

/* ---- reading ---- */

int block_row_damaged(const struct block_row *row, const char *what, struct error *err)
{
	return error_set(err, ERROR_CORRUPT, "block %u/%lld/%lld: %s", row->key.family,
	                 (long long)row->key.hour, (long long)row->key.part, what);
}

static int decode_groups(struct str bytes, struct arena *arena, struct block_row *row,
                         struct error *err)
{
	struct byte_cursor cursor = byte_cursor(bytes);
	uint32_t *groups = arena_array_raw(arena, bytes.length, sizeof(*groups));
	uint64_t last = 0;

	if (!groups)
		return arena_error(arena, err);
	while (cursor.at < cursor.end) {
		const int64_t step = byte_cursor_signed(&cursor);

		/* ascending; the first one may be group 0 */
		if (step < (row->group_count > 0) || (uint64_t)step > UINT32_MAX - last)
			return block_row_damaged(row, "its groups do not ascend", err);
		last += (uint64_t)step;
		groups[row->group_count++] = (uint32_t)last;
	}
	if (cursor.failed || row->group_count == 0)
		return block_row_damaged(row, "its list of groups is cut", err);
	row->groups = groups;
	return 0;
}

static int decode_row(struct statement *from, struct arena *arena, struct block_row *out,
                      struct error *err)
{
	const int64_t profiles = statement_int(from, COLUMN_PROFILES);
	struct block_row row = {
		.key = {
			.family = (uint32_t)statement_int(from, COLUMN_FAMILY),
			.hour = statement_int(from, COLUMN_HOUR),
			.part = statement_int(from, COLUMN_PART),
		},
		.first_unix_ns = statement_int(from, COLUMN_FIRST_TIME),
		.last_unix_ns = statement_int(from, COLUMN_LAST_TIME),
		.profile_count = (uint32_t)profiles,
	};

	for (int i = 0; i < BLOCK_BODY_COUNT; i++)
		row.bodies[i] = statement_int(from, COLUMN_BODIES + i);
	if (profiles < 1 || profiles > UINT32_MAX)
		return block_row_damaged(&row, "its number of profiles is none", err);
	if (block_hour_of(row.first_unix_ns) != row.key.hour ||
	    block_hour_of(row.last_unix_ns) != row.key.hour || row.first_unix_ns > row.last_unix_ns)
		return block_row_damaged(&row, "its times are not of its hour", err);
	if (decode_groups(statement_bytes(from, COLUMN_GROUPS), arena, &row, err) < 0)
		return -1;
	*out = row;
	return 0;
}

static int list_rows(struct statement *from, struct arena *arena, struct block_listing *list,
                     struct error *err)
{
	int more;

	while ((more = statement_step(from, err)) > 0) {
		if (!ARENA_GROW(arena, list->rows, list->count, list->capacity))
			return arena_error(arena, err);
		if (decode_row(from, arena, &list->rows[list->count], err) < 0)
			return -1;
		list->count++;
	}
	return more;
}

int block_table_list(struct block_table *table, uint32_t family, int64_t first_hour,
                     int64_t last_hour, struct arena *arena, struct block_listing *list,
                     struct error *err)
{
	int result;

	statement_bind_int(table->list, 1, family);
	statement_bind_int(table->list, 2, first_hour);
	statement_bind_int(table->list, 3, last_hour);
	result = list_rows(table->list, arena, list, err);
	statement_reset(table->list);
	return result;
}

int block_table_list_all(struct block_table *table, struct arena *arena, struct block_listing *list,
                         struct error *err)
{
	const int result = list_rows(table->list_all, arena, list, err);

	statement_reset(table->list_all);
	return result;
}

/* The payload of the statement's body: SQLite's bytes stay only until the reset. */
static int open_body(struct statement *from, struct arena *arena, struct str *out,
                     struct error *err)
{
	const struct str body = statement_bytes(from, 0);
	struct str payload;

	if (page_open(body, arena, &payload, err) < 0)
		return -1;
	if (payload.data >= body.data && payload.data <= body.data + body.length) {
		payload = arena_copy(arena, payload);
		if (!payload.data)
			return arena_error(arena, err);
	}
	*out = payload;
	return 0;
}

/* The payload of a body, in the arena. */
static int read_body(struct block_table *table, const struct block_row *row, enum block_body body,
                     struct arena *arena, struct str *out_payload, struct error *err)
{
	int result;

	statement_bind_int(table->read, 1, row->bodies[body]);
	result = statement_step(table->read, err);
	if (result == 0)
		result = block_row_damaged(row, "a body is missing", err);
	else if (result > 0)
		result = open_body(table->read, arena, out_payload, err);
	statement_reset(table->read);
	return result;
}

int block_table_copy_body(struct block_table *table, const struct block_row *row,
                          enum block_body body, struct strbuf *out, struct error *err)
{
	int more;

	statement_bind_int(table->read, 1, row->bodies[body]);
	more = statement_step(table->read, err);
	if (more == 0)
		more = block_row_damaged(row, "a body is missing", err);
	else if (more > 0)
		strbuf_add_str(out, statement_bytes(table->read, 0));
	statement_reset(table->read);
	return more < 0 ? -1 : 0;
}

int block_table_heads(struct block_table *table, const struct block_row *row, struct arena *arena,
                      struct block_heads *out, struct error *err)
{
	struct str payload;

	if (read_body(table, row, BLOCK_BODY_HEADS, arena, &payload, err) < 0 ||
	    block_heads_decode(payload, arena, out, err) < 0)
		return -1;
	if (out->profile_count != row->profile_count || out->group_count != row->group_count ||
	    memcmp(out->groups, row->groups, row->group_count * sizeof(*row->groups)) != 0)
		return block_row_damaged(row, "heads are not those of its row", err);
	return 0;
}

int block_table_sums(struct block_table *table, const struct block_row *row, struct arena *arena,
                     struct block_sums *out, struct error *err)
{
	struct str payload;

	if (read_body(table, row, BLOCK_BODY_SUMS, arena, &payload, err) < 0 ||
	    block_sums_decode(payload, arena, out, err) < 0)
		return -1;
	if (out->group_count != row->group_count)
		return block_row_damaged(row, "sums are not those of its row", err);
	return 0;
}

int block_table_detail(struct block_table *table, const struct block_row *row, struct arena *arena,
                       struct block_detail *out, struct error *err)
{
	struct str payload;

	if (read_body(table, row, BLOCK_BODY_DETAIL, arena, &payload, err) < 0 ||
	    block_detail_decode(payload, arena, out, err) < 0)
		return -1;
	if (out->profile_count != row->profile_count)
		return block_row_damaged(row, "detail is not that of its row", err);
	return 0;
}

int block_table_origins(struct block_table *table, const struct block_row *row, struct arena *arena,
                        const struct hash128 **out, struct error *err)
{
	struct str payload;

	*out = NULL;
	if (row->bodies[BLOCK_BODY_ORIGINS] == 0)
		return 0;
	if (read_body(table, row, BLOCK_BODY_ORIGINS, arena, &payload, err) < 0)
		return -1;
	return block_origins_decode(payload, row->profile_count, arena, out, err);
}

int block_table_bounds(struct block_table *table, bool *out_any, int64_t *out_oldest,
                       int64_t *out_newest, struct error *err)
{
	int64_t oldest = INT64_MAX;
	int64_t newest = INT64_MIN;

	if (database_number(table->database, "SELECT min(first_time) FROM block", oldest, &oldest,
	                    err) < 0 ||
	    database_number(table->database, "SELECT max(last_time) FROM block", newest, &newest,
	                    err) < 0)
		return -1;
	*out_any = oldest <= newest;
	*out_oldest = oldest;
	*out_newest = newest;
	return 0;
}

int block_table_last_hour(struct block_table *table, int64_t *out, struct error *err)
{
	return database_number(table->database, "SELECT max(hour) FROM block", INT64_MIN, out, err);
}

/* ---- writing ---- */

/* NULL is the next number. */
static int put_body(struct block_table *table, const struct strbuf *body, int64_t *out_id,
                    struct error *err)
{
	*out_id = 0;
	if (body->length == 0)
		return 0;
	statement_bind_null(table->put_body, 1);
	statement_bind_bytes(table->put_body, 2, strbuf_view(body));
	if (statement_run(table->put_body, err) < 0)
		return -1;
	*out_id = database_last_id(table->database);
	return 0;
}

static int find_part(struct block_table *table, struct block_key *key, struct error *err)
{
	int more;

	statement_bind_int(table->next_part, 1, key->family);
	statement_bind_int(table->next_part, 2, key->hour);
	more = statement_step(table->next_part, err);
	if (more > 0)
		key->part = statement_int(table->next_part, 0);
	statement_reset(table->next_part);
	return more < 0 ? -1 : 0;
}

static int encode_groups(struct block_table *table, const struct block_row *row, struct error *err)
{
	strbuf_reset(&table->groups);
	for (uint32_t i = 0; i < row->group_count; i++)
		wire_put_varint(&table->groups,
		                zigzag_encode((int64_t)row->groups[i] -
		                              (i > 0 ? (int64_t)row->groups[i - 1] : 0)));
	if (strbuf_overflowed(&table->groups))
		return error_set(err, ERROR_TOO_LARGE, "a block of %u groups is over %zu bytes",
		                 row->group_count, GROUPS_BYTES_MAX);
	return 0;
}

static void bind_key(struct statement *statement, const struct block_key *key)
{
	statement_bind_int(statement, 1 + COLUMN_FAMILY, key->family);
	statement_bind_int(statement, 1 + COLUMN_HOUR, key->hour);
	statement_bind_int(statement, 1 + COLUMN_PART, key->part);
}

int block_table_put_body(struct block_table *table, int64_t id, struct str body, struct error *err)
{
	statement_bind_int(table->put_body, 1, id);
	statement_bind_bytes(table->put_body, 2, body);
	return statement_run(table->put_body, err);
}

int block_table_put_row(struct block_table *table, const struct block_row *row, struct error *err)
{
	struct statement *put = table->put;

	if (encode_groups(table, row, err) < 0)
		return -1;
	bind_key(put, &row->key);
	statement_bind_int(put, 1 + COLUMN_FIRST_TIME, row->first_unix_ns);
	statement_bind_int(put, 1 + COLUMN_LAST_TIME, row->last_unix_ns);
	statement_bind_int(put, 1 + COLUMN_PROFILES, row->profile_count);
	statement_bind_bytes(put, 1 + COLUMN_GROUPS, strbuf_view(&table->groups));
	for (int i = 0; i < BLOCK_BODY_COUNT; i++) {
		if (row->bodies[i] == 0)
			statement_bind_null(put, 1 + COLUMN_BODIES + i);
		else
			statement_bind_int(put, 1 + COLUMN_BODIES + i, row->bodies[i]);
	}
	return statement_run(put, err);
}

int block_table_put(struct block_table *table, struct block_row *row,
                    const struct block_bodies *bodies, struct error *err)
{
	const struct strbuf *all[BLOCK_BODY_COUNT] = {
		[BLOCK_BODY_HEADS] = &bodies->heads,
		[BLOCK_BODY_ORIGINS] = &bodies->origins,
		[BLOCK_BODY_SUMS] = &bodies->sums,
		[BLOCK_BODY_DETAIL] = &bodies->detail,
	};

	if (find_part(table, &row->key, err) < 0)
		return -1;
	for (int i = 0; i < BLOCK_BODY_COUNT; i++)
		if (put_body(table, all[i], &row->bodies[i], err) < 0)
			return -1;
	return block_table_put_row(table, row, err);
}

int block_table_delete(struct block_table *table, const struct block_row *row, struct error *err)
{
	bind_key(table->delete, &row->key);
	if (statement_run(table->delete, err) < 0)
		return -1;
	if (database_changes(table->database) != 1)
		return error_set(err, ERROR_NOT_FOUND, "block %u/%lld/%lld is gone",
		                 row->key.family, (long long)row->key.hour,
		                 (long long)row->key.part);
	for (int i = 0; i < BLOCK_BODY_COUNT; i++) {
		if (row->bodies[i] == 0)
			continue;
		statement_bind_int(table->delete_body, 1, row->bodies[i]);
		if (statement_run(table->delete_body, err) < 0)
			return -1;
	}
	return 0;
}
