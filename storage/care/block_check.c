/*
 * Blocks: each body decodes; what the row says of them is so; totals are the sums of rows, and
 * so are the sums by stack; a profile stands in one place.
 */
#include <stdio.h>

#include "base/id_map.h"
#include "storage/block_contents.h"
#include "storage/care/window_checker.h"
#include "storage/page.h"
#include "storage/window_file.h"
#include "storage/window_name.h"

/* The blocks of a window while they are read. */
struct block_run {
	struct window_checker *checker;
	struct block_table *table;
	struct statement *fresh;  /* whether a group has fresh rows between two times */
	struct statement *places; /* whether there is a fresh row of group, time and number */
	struct arena *arena;      /* of one block */
	struct arena *scratch;    /* of one group's sums */
	struct accumulator sums;
	/* profiles of the family's hour, by group, time and number */
	struct id_map seen;
	uint32_t family;
	int64_t hour;
};

/* The block at hand. */
struct block {
	struct block_run *run;
	const struct block_row *row;
	struct block_contents contents;
	char where[80];
};

#define TELL(block, ...) \
	window_checker_tell((block)->run->checker, "block", (block)->where, __VA_ARGS__)

/* ---- groups ---- */

static void check_group(const struct block *block, uint32_t group)
{
	const struct window_checker *checker = block->run->checker;
	const struct series_group *known;

	if (checker->lacks_groups)
		return;
	if (group >= checker->series->group_count) {
		TELL(block, "its group %u is not there", group);
		return;
	}
	known = COLUMN_AT(&checker->series->groups, struct series_group, group);
	if (known->count == 0)
		return; /* it did not decode: told there */
	if (known->count != block->contents.series_count)
		TELL(block, "has %u series, its group %u has %u", block->contents.series_count,
		     group, known->count);
	else if (!checker->lost_series && known->family != block->row->key.family)
		TELL(block, "its group %u is of family %u", group, known->family);
}

/* ---- profiles ---- */

static void check_time(const struct block *block, uint32_t profile)
{
	const struct window_check_options *options = block->run->checker->options;
	const int64_t time = block->contents.heads.times[profile];

	if (time < block->row->first_unix_ns || time > block->row->last_unix_ns)
		TELL(block, "profile %u: its time, %lld, is outside of what the row says", profile,
		     (long long)time);
	else if (options->folder && day_of(time) != options->day)
		TELL(block, "profile %u: its time is of another day", profile);
	if (block->contents.seqs[profile] < 0)
		TELL(block, "profile %u: its number is negative", profile);
}

/* A query that covers both knows all of the block. */
static void check_bounds(const struct block *block)
{
	const struct block_heads *heads = &block->contents.heads;
	int64_t first = INT64_MAX;
	int64_t last = INT64_MIN;

	for (uint32_t i = 0; i < heads->profile_count; i++) {
		check_time(block, i);
		first = heads->times[i] < first ? heads->times[i] : first;
		last = heads->times[i] > last ? heads->times[i] : last;
	}
	if (first > block->row->first_unix_ns || last < block->row->last_unix_ns)
		TELL(block, "its profiles are of %lld to %lld, its row says %lld to %lld",
		     (long long)first, (long long)last, (long long)block->row->first_unix_ns,
		     (long long)block->row->last_unix_ns);
}

static int any_row(struct statement *statement, uint32_t group, int64_t a, int64_t b,
                   struct error *err)
{
	int more;

	statement_bind_int(statement, 1, group);
	statement_bind_int(statement, 2, a);
	statement_bind_int(statement, 3, b);
	more = statement_step(statement, err);
	statement_reset(statement);
	return more;
}

/* The profiles [first, end) of a group: in no other block, and not fresh. */
static int check_places(struct block *block, uint32_t group, struct block_span span,
                        struct error *err)
{
	const struct block_contents *contents = &block->contents;
	const int fresh = any_row(block->run->fresh, group, block->row->first_unix_ns,
	                          block->row->last_unix_ns, err);

	if (fresh < 0)
		return -1;
	for (uint32_t i = span.first; i < span.end; i++) {
		const int64_t place[] = { group, contents->heads.times[i], contents->seqs[i] };
		int twice = 0;
		bool is_new;

		(void)id_map_add(&block->run->seen, hash128(0, place, sizeof(place)), &is_new);
		if (fresh > 0)
			twice = any_row(block->run->places, group, place[1], place[2], err);
		if (twice < 0)
			return -1;
		if (!is_new || twice > 0)
			TELL(block, "group %u, time %lld, number %lld is there twice", group,
			     (long long)place[1], (long long)place[2]);
	}
	return 0;
}

/* ---- sums ---- */

/* As totals wrap. */
static void check_totals(const struct block *block, uint32_t series)
{
	const struct block_rows *rows = &block->contents.rows;

	for (uint32_t i = 0; i < block->contents.heads.profile_count; i++) {
		const int64_t total = block->contents.totals[series][i];
		uint64_t sum = 0;

		for (uint32_t row = rows->firsts[i]; row < rows->firsts[i + 1]; row++)
			sum += (uint64_t)rows->values[series][row];
		if (sum != (uint64_t)total)
			TELL(block,
			     "profile %u: the total of series %u is %lld, its samples add up "
			     "to %lld",
			     i, series, (long long)total, (long long)sum);
	}
}

/* The group's sums by stack, less those of its rows: nothing is left. */
static int check_group_sums(struct block *block, const struct block_sums *sums,
                            uint32_t group_index, uint32_t series, struct error *err)
{
	const struct block_heads *heads = &block->contents.heads;
	const struct block_rows *rows = &block->contents.rows;
	struct accumulator *accumulator = &block->run->sums;
	struct stack_sums left;
	int64_t rootless;

	arena_reset(block->run->scratch);
	if (block_sums_add(sums, &(struct block_group_list){ &group_index, 1 }, series,
	                   block->run->scratch, accumulator, err) < 0)
		return -1;
	for (uint32_t i = rows->firsts[heads->firsts[group_index]];
	     i < rows->firsts[heads->firsts[group_index + 1]]; i++)
		accumulator_add(accumulator, rows->stacks[i],
		                (int64_t)(0 - (uint64_t)rows->values[series][i]));
	rootless = accumulator->sums[0];
	if (accumulator_take(accumulator, block->run->scratch, &left, err) < 0)
		return -1;
	if (rootless != 0 || left.count > 0)
		TELL(block, "sums of group %u, series %u, are not those of its rows: stack %u",
		     heads->groups[group_index], series, left.count > 0 ? left.stacks[0] : 0);
	return 0;
}

static uint32_t largest_stack(const struct block_rows *rows)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < rows->firsts[rows->profile_count]; i++)
		largest = rows->stacks[i] > largest ? rows->stacks[i] : largest;
	return largest;
}

static int check_sums(struct block *block, struct error *err)
{
	const uint32_t stacks = block->run->checker->symbols->counts[SYMBOL_STACK];
	uint32_t largest = largest_stack(&block->contents.rows);
	struct block_sums sums;

	if (block_table_sums(block->run->table, block->row, block->run->arena, &sums, err) < 0)
		return -1;
	if (sums.series_count != block->contents.series_count)
		return block_row_damaged(block->row, "sums have other series than heads", err);
	largest = sums.largest_stack > largest ? sums.largest_stack : largest;
	if (largest >= stacks) {
		if (!block->run->checker->lacks_stacks)
			TELL(block, "names stack %u, there are %u", largest, stacks);
		return 0;
	}
	if (accumulator_reserve(&block->run->sums, stacks, err) < 0)
		return -1;
	for (uint32_t series = 0; series < sums.series_count; series++)
		for (uint32_t i = 0; i < sums.group_count; i++)
			if (check_group_sums(block, &sums, i, series, err) < 0)
				return -1;
	return 0;
}

/* ---- blocks ---- */

/* A new family, or hour: blocks of others have none of its profiles. */
static void begin_hour(struct block_run *run, const struct block_key *key)
{
	if (run->family == key->family && run->hour == key->hour)
		return;
	id_map_reset(&run->seen);
	run->family = key->family;
	run->hour = key->hour;
}

static int check_contents(struct block *block, struct error *err)
{
	struct block_run *run = block->run;
	const struct block_heads *heads;

	if (block_contents_read(run->table, block->row, run->arena, &block->contents, err) < 0)
		return -1;
	heads = &block->contents.heads;
	run->checker->counts->profiles += heads->profile_count;
	run->checker->counts->rows += block->contents.rows.firsts[heads->profile_count];
	check_bounds(block);
	for (uint32_t i = 0; i < heads->group_count; i++) {
		check_group(block, heads->groups[i]);
		if (check_places(block, heads->groups[i],
		                 (struct block_span){ heads->firsts[i], heads->firsts[i + 1] },
		                 err) < 0)
			return -1;
	}
	for (uint32_t series = 0; series < block->contents.series_count; series++)
		check_totals(block, series);
	return check_sums(block, err);
}

static void check_block(struct block_run *run, const struct block_row *row)
{
	struct block block = { .run = run, .row = row };
	struct error err = { 0 };

	(void)snprintf(block.where, sizeof(block.where), "%u/%lld/%lld", row->key.family,
	               (long long)row->key.hour, (long long)row->key.part);
	begin_hour(run, &row->key);
	for (int i = 0; i < BLOCK_BODY_COUNT; i++) {
		if (row->bodies[i] == 0)
			continue;
		id_owners_note(&run->checker->bodies, row->bodies[i]);
		run->checker->counts->pages++;
	}
	if (check_contents(&block, &err) == 0)
		return;
	TELL(&block, "%s", err.message);
	accumulator_fini(&run->sums); /* a part of a group's may be in it */
}

/* The parts of one family and hour; a row that does not read hides the others. */
static void check_hour(struct block_run *run, uint32_t family, int64_t hour)
{
	CLEANUP(arena_freep) struct arena *listing = arena_new(2 * PAGE_RAW_MAX, NULL);
	struct block_listing list = { 0 };
	struct error err = { 0 };

	if (block_table_list(run->table, family, hour, hour, listing, &list, &err) < 0) {
		window_checker_tell(run->checker, "block", NULL, "%s", err.message);
		run->checker->lacks_blocks = true;
	} else if (list.count == 0) {
		window_checker_tell(run->checker, "block", NULL,
		                    "a row of hour %lld is of no family", (long long)hour);
	}
	for (size_t i = 0; i < list.count; i++) {
		arena_reset(run->arena);
		check_block(run, &list.rows[i]);
	}
}

static int check_all(struct block_run *run, struct error *err)
{
	CLEANUP(statement_freep) struct statement *hours = NULL;
	int more;

	if (database_prepare(run->checker->database,
	                     "SELECT family, hour, (SELECT sum(length(body)) FROM block_page p"
	                     " WHERE p.id IN (b.heads, b.origins, b.sums, b.detail))"
	                     " FROM block b GROUP BY family, hour",
	                     &hours, err) < 0)
		return -1;
	while ((more = statement_step(hours, err)) > 0) {
		check_hour(run, (uint32_t)statement_int(hours, 0), statement_int(hours, 1));
		window_checker_read(run->checker, (uint64_t)statement_int(hours, 2));
	}
	return more;
}

static int run_check(struct block_run *run, struct error *err)
{
	if (block_table_open(run->checker->database, &run->table, err) < 0 ||
	    database_prepare(run->checker->database,
	                     "SELECT 1 FROM profile WHERE grp = ? AND time >= ? AND time <= ?"
	                     " LIMIT 1",
	                     &run->fresh, err) < 0 ||
	    database_prepare(run->checker->database,
	                     "SELECT 1 FROM profile WHERE grp = ? AND time = ? AND seq = ?",
	                     &run->places, err) < 0)
		return -1;
	return check_all(run, err);
}

int block_check(struct window_checker *checker, struct error *err)
{
	struct block_run run = { .checker = checker, .hour = INT64_MIN };
	int64_t format = 0;
	int result;

	if (database_number(checker->database, "PRAGMA user_version", 0, &format, err) < 0)
		return -1;
	checker->has_blocks = format >= WINDOW_FORMAT_BLOCKS;
	if (!checker->has_blocks)
		return 0;
	run.arena = arena_new(4 * PAGE_RAW_MAX, NULL);
	run.scratch = arena_new(4 * PAGE_RAW_MAX, NULL);
	result = run_check(&run, err);
	checker->lacks_blocks = checker->lacks_blocks || result < 0;
	block_table_close(run.table);
	statement_free(run.fresh);
	statement_free(run.places);
	accumulator_fini(&run.sums);
	id_map_fini(&run.seen);
	arena_free(run.arena);
	arena_free(run.scratch);
	return result;
}
