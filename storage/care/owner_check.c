/* Bodies of samples and of blocks: each belongs to one profile, or block. */
#include <stdio.h>

#include "storage/care/window_checker.h"

/* One of the two tables. */
struct owned_table {
	const char *table;
	const char *ids; /* all of them, ascending */
	const char *owner;
	const char *owners;
};

static const struct owned_table sample_table = {
	"sample",
	"SELECT id FROM sample ORDER BY id",
	"profile",
	"profiles",
};

static const struct owned_table body_table = {
	"block_page",
	"SELECT id FROM block_page ORDER BY id",
	"block",
	"blocks",
};

/* Sorted: one that stands there twice has two owners. */
static void check_shared(struct window_checker *checker, const struct owned_table *table,
                         const struct id_owners *owners)
{
	for (size_t i = 1; i < owners->count; i++) {
		char where[32];

		if (owners->ids[i] != owners->ids[i - 1])
			continue;
		(void)snprintf(where, sizeof(where), "%lld", (long long)owners->ids[i]);
		window_checker_tell(checker, table->table, where, "belongs to two %s",
		                    table->owners);
	}
}

static int check_table(struct window_checker *checker, const struct owned_table *table,
                       struct id_owners *owners, struct error *err)
{
	CLEANUP(statement_freep) struct statement *rows = NULL;
	size_t at = 0;
	int more;

	id_owners_sort(owners);
	check_shared(checker, table, owners);
	if (database_prepare(checker->database, table->ids, &rows, err) < 0)
		return -1;
	while ((more = statement_step(rows, err)) > 0) {
		const int64_t id = statement_int(rows, 0);
		char where[32];

		while (at < owners->count && owners->ids[at] < id)
			at++;
		if (at < owners->count && owners->ids[at] == id)
			continue;
		(void)snprintf(where, sizeof(where), "%lld", (long long)id);
		window_checker_tell(checker, table->table, where, "belongs to no %s", table->owner);
	}
	return more;
}

/* Without all profiles, samples would seem to be nobody's. */
int sample_check(struct window_checker *checker, struct error *err)
{
	return checker->lacks_profiles
	               ? 0
	               : check_table(checker, &sample_table, &checker->samples, err);
}

int block_page_check(struct window_checker *checker, struct error *err)
{
	return !checker->has_blocks || checker->lacks_blocks
	               ? 0
	               : check_table(checker, &body_table, &checker->bodies, err);
}
