#include "server/query/deletion.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/id_map.h"

#define DAY_NS  (86400 * NS_PER_S)
#define HOUR_NS (3600 * NS_PER_S)

/* ---- counting ---- */

/* A plan under way. */
struct count {
	const struct deletion *deletion;
	struct deletion_plan *plan;
	struct id_map rows;       /* by day and type */
	struct hash128 *type_key; /* by the query's number of a series; zero: not seen */
	size_t type_count;
	size_t type_capacity;
};

static int32_t day_at(int64_t unix_ns)
{
	const int64_t day = unix_ns / DAY_NS;

	return (int32_t)(unix_ns % DAY_NS < 0 ? day - 1 : day);
}

/* A hash that stands for the series' type: names are compared once a series. */
static struct hash128 *key_of(struct count *count, const struct store_point *point,
                              struct error *err)
{
	struct arena *arena = count->deletion->arena;

	while (count->type_count <= point->series) {
		if (!ARENA_GROW(arena, count->type_key, count->type_count, count->type_capacity)) {
			(void)arena_error(arena, err);
			return NULL;
		}
		count->type_key[count->type_count++] = (struct hash128){ 0 };
	}
	if (hash128_is_zero(count->type_key[point->series]))
		count->type_key[point->series] =
			hash128_str(0, label_set_value(point->labels, STR("__profile_type__")));
	return &count->type_key[point->series];
}

static int add_row(struct count *count, int32_t day, const struct label_set *labels,
                   struct error *err)
{
	struct deletion_plan *plan = count->plan;
	struct arena *arena = count->deletion->arena;
	const struct str type = arena_copy(arena, label_set_value(labels, STR("__profile_type__")));

	if (!type.data || !ARENA_GROW(arena, plan->rows, plan->count, plan->capacity))
		return arena_error(arena, err);
	plan->rows[plan->count++] = (struct deletion_row){ .day = day, .type = type };
	return 0;
}

static int count_point(void *context, const struct store_point *point, struct error *err)
{
	struct count *count = context;
	const int32_t day = day_at(point->time_unix_ns);
	const struct hash128 *type = key_of(count, point, err);
	uint32_t row;
	bool is_new;

	if (!type)
		return -1;
	row = id_map_add(&count->rows, hash128((uint64_t)day, type, sizeof(*type)), &is_new);
	if (is_new && add_row(count, day, point->labels, err) < 0)
		return -1;
	count->plan->rows[row].profiles++;
	count->plan->profiles++;
	return 0;
}

static int by_day(const void *left, const void *right)
{
	const struct deletion_row *a = left;
	const struct deletion_row *b = right;

	if (a->day != b->day)
		return a->day < b->day ? -1 : 1;
	return str_compare(a->type, b->type);
}

static struct store_query query_of(const struct deletion *deletion, struct store_range range)
{
	return (struct store_query){
		.tenant = deletion->tenant,
		.selector = deletion->selector,
		.range = range,
		.cancel = deletion->cancel,
		.arena = deletion->arena,
	};
}

int deletion_plan_make(const struct deletion *deletion, struct deletion_plan *out,
                       struct error *err)
{
	const struct store_query query = query_of(deletion, deletion->range);
	struct deletion_plan plan = { 0 };
	struct count count = { .deletion = deletion, .plan = &plan };
	const int result = store_scan(deletion->store, &query, count_point, &count, err);

	id_map_fini(&count.rows);
	if (result < 0)
		return -1;
	if (plan.count > 1)
		qsort(plan.rows, plan.count, sizeof(*plan.rows), by_day);
	*out = plan;
	return 0;
}

/* ---- deleting ---- */

struct store_range deletion_day_range(int32_t day, const struct store_range *range)
{
	struct store_range within = { day * DAY_NS, day * DAY_NS + (DAY_NS - 1) };

	if (within.start_unix_ns < range->start_unix_ns)
		within.start_unix_ns = range->start_unix_ns;
	if (within.end_unix_ns > range->end_unix_ns)
		within.end_unix_ns = range->end_unix_ns;
	return within;
}

static int remove_day(const struct deletion *deletion, struct store_range day,
                      const struct deletion_progress *progress, uint64_t *removed,
                      struct error *err)
{
	while (day.start_unix_ns <= day.end_unix_ns) {
		struct store_range hour = day;
		struct store_query query;
		uint64_t count = 0;

		if (hour.end_unix_ns - hour.start_unix_ns >= HOUR_NS)
			hour.end_unix_ns = hour.start_unix_ns + (HOUR_NS - 1);
		query = query_of(deletion, hour);
		if (store_remove(deletion->store, &query, STORE_REMOVE, &count, err) < 0)
			return -1;
		*removed += count;
		if (progress && progress->tell)
			progress->tell(progress->context, *removed);
		day.start_unix_ns = hour.end_unix_ns + 1;
	}
	return 0;
}

int deletion_run(const struct deletion *deletion, const struct deletion_plan *plan,
                 const struct deletion_progress *progress, uint64_t *out_removed, struct error *err)
{
	*out_removed = 0;
	for (size_t i = 0; i < plan->count; i++) {
		if (i > 0 && plan->rows[i].day == plan->rows[i - 1].day)
			continue;
		if (remove_day(deletion, deletion_day_range(plan->rows[i].day, &deletion->range),
		               progress, out_removed, err) < 0)
			return -1;
	}
	return 0;
}
