/* Series and groups: each decodes, ids have no gaps, and no two are equal. */
#include <stdio.h>

#include "base/id_map.h"
#include "storage/care/window_checker.h"

/* One of the two tables. */
struct series_table {
	const char *table;
	const char *rows; /* id and body, by id */
	int (*decode)(struct series_index *index, struct str body, struct error *err);
	void (*stand_in)(struct series_index *index);
	struct hash128 (*identity)(const struct series_index *index, uint32_t id);
	bool (*is_stand_in)(const struct series_index *index, uint32_t id);
};

static void stand_in_series(struct series_index *index)
{
	(void)series_index_add(index, &(struct label_set){ 0 }, (struct hash128){ 0 });
}

static void stand_in_group(struct series_index *index)
{
	(void)series_index_add_group(index, &(uint32_t){ 0 }, 0);
}

static const struct series_entry *entry_at(const struct series_index *index, uint32_t id)
{
	return COLUMN_AT(&index->series, struct series_entry, id);
}

static const struct series_group *group_at(const struct series_index *index, uint32_t id)
{
	return COLUMN_AT(&index->groups, struct series_group, id);
}

static struct hash128 series_identity(const struct series_index *index, uint32_t id)
{
	return entry_at(index, id)->fingerprint;
}

static struct hash128 group_identity(const struct series_index *index, uint32_t id)
{
	const struct series_group *group = group_at(index, id);

	return hash128(0, group->series, group->count * sizeof(*group->series));
}

static bool is_series_stand_in(const struct series_index *index, uint32_t id)
{
	return hash128_is_zero(entry_at(index, id)->fingerprint);
}

static bool is_group_stand_in(const struct series_index *index, uint32_t id)
{
	return group_at(index, id)->count == 0;
}

static const struct series_table series_table = {
	.table = "series",
	.rows = "SELECT id, labels FROM series ORDER BY id",
	.decode = series_index_decode,
	.stand_in = stand_in_series,
	.identity = series_identity,
	.is_stand_in = is_series_stand_in,
};

static const struct series_table group_table = {
	.table = "series_group",
	.rows = "SELECT id, series FROM series_group ORDER BY id",
	.decode = series_index_decode_group,
	.stand_in = stand_in_group,
	.identity = group_identity,
	.is_stand_in = is_group_stand_in,
};

/* Whether the row can stand where it is: ids in front of it that lack are stood in for. */
static bool check_id(struct window_checker *checker, const struct series_table *table, int64_t id,
                     uint32_t *next)
{
	char where[32];

	(void)snprintf(where, sizeof(where), "%lld", (long long)id);
	if (id < *next || id - *next > STAND_INS_MAX) {
		window_checker_tell(checker, table->table, where, "does not follow id %lld",
		                    (long long)*next - 1);
		return false;
	}
	if (id > *next)
		window_checker_tell(checker, table->table, where, "%lld before it are missing",
		                    (long long)(id - *next));
	for (; *next < id; ++*next) {
		table->stand_in(checker->series);
		checker->lost_series = true;
	}
	return true;
}

static void check_row(struct window_checker *checker, const struct series_table *table,
                      struct statement *rows, struct id_map *seen, uint32_t *next)
{
	const int64_t id = statement_int(rows, 0);
	struct error err;
	bool is_new = true;
	char where[32];

	if (!check_id(checker, table, id, next))
		return;
	(void)snprintf(where, sizeof(where), "%lld", (long long)id);
	if (table->decode(checker->series, statement_bytes(rows, 1), &err) < 0) {
		window_checker_tell(checker, table->table, where, "%s", err.message);
		table->stand_in(checker->series);
		checker->lost_series = true;
	} else if (!table->is_stand_in(checker->series, *next)) {
		(void)id_map_add(seen, table->identity(checker->series, *next), &is_new);
	}
	if (!is_new)
		window_checker_tell(checker, table->table, where, "is equal to an earlier one");
	++*next;
}

static int check_table(struct window_checker *checker, const struct series_table *table,
                       struct error *err)
{
	CLEANUP(statement_freep) struct statement *rows = NULL;
	struct id_map seen = { 0 };
	uint32_t next = 0;
	int more;

	if (database_prepare(checker->database, table->rows, &rows, err) < 0)
		return -1;
	while ((more = statement_step(rows, err)) > 0)
		check_row(checker, table, rows, &seen, &next);
	id_map_fini(&seen);
	return more;
}

int series_check(struct window_checker *checker, struct error *err)
{
	const int result = check_table(checker, &series_table, err);

	checker->lacks_series = result < 0;
	return result;
}

int group_check(struct window_checker *checker, struct error *err)
{
	int result;

	/* without all series, groups that refer to them would seem to be damaged */
	if (checker->lacks_series)
		checker->lacks_groups = true;
	if (checker->lacks_series)
		return 0;
	result = check_table(checker, &group_table, err);
	checker->lacks_groups = result < 0;
	return result;
}
