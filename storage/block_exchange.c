#include "storage/block_exchange.h"

#define ROWS_WHERE                                                                          \
	"profile WHERE grp = ?1 AND time >= ?2 AND time <= ?3 AND (time < ?3 OR seq <= ?4)" \
	" AND sample <= ?5"

static void bind_rows(struct statement *statement, const struct block_exchange *exchange,
                      const struct exchange_rows *rows)
{
	statement_bind_int(statement, 1, rows->group);
	statement_bind_int(statement, 2, rows->first_unix_ns);
	statement_bind_int(statement, 3, rows->last_unix_ns);
	statement_bind_int(statement, 4, rows->last_seq);
	statement_bind_int(statement, 5, exchange->last_sample);
}

/* Runs a statement for all rows; gives how many it deleted. */
static int delete_all(struct database *database, const char *sql,
                      const struct block_exchange *exchange, int64_t *out_deleted,
                      struct error *err)
{
	CLEANUP(statement_freep) struct statement *delete = NULL;

	*out_deleted = 0;
	if (database_prepare(database, sql, &delete, err) < 0)
		return -1;
	for (size_t i = 0; i < exchange->rows_count; i++) {
		bind_rows(delete, exchange, &exchange->rows[i]);
		if (statement_run(delete, err) < 0)
			return -1;
		*out_deleted += database_changes(database);
	}
	return 0;
}

static int delete_rows(struct database *database, const struct block_exchange *exchange,
                       struct error *err)
{
	int64_t samples = 0;
	int64_t profiles = 0;

	if (delete_all(database,
	               "DELETE FROM sample WHERE id IN (SELECT sample FROM " ROWS_WHERE ")",
	               exchange, &samples, err) < 0 ||
	    delete_all(database, "DELETE FROM " ROWS_WHERE, exchange, &profiles, err) < 0)
		return -1;
	if (profiles != exchange->profile_count || samples != exchange->profile_count)
		return error_set(err, ERROR_UNAVAILABLE,
		                 "a block was made of %lld profiles, and %lld of them are there",
		                 (long long)exchange->profile_count, (long long)profiles);
	return 0;
}

static int delete_blocks(struct block_table *blocks, const struct block_exchange *exchange,
                         struct error *err)
{
	for (size_t i = 0; i < exchange->old_count; i++) {
		if (block_table_delete(blocks, &exchange->old[i], err) == 0)
			continue;
		if (err->code == ERROR_NOT_FOUND)
			err->code = ERROR_UNAVAILABLE;
		return -1;
	}
	return 0;
}

int block_exchange_run(struct database *database, struct block_table *blocks,
                       struct block_exchange *exchange, struct error *err)
{
	/* put first: its number is larger than those of the blocks that go */
	if (block_table_put(blocks, &exchange->row, exchange->bodies, err) < 0 ||
	    delete_rows(database, exchange, err) < 0)
		return -1;
	return delete_blocks(blocks, exchange, err);
}
