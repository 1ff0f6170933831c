#include "server/query/instant.h"

#include "base/uuid.h"
#include "profile/intern.h"
#include "server/query/instant_moments.h"
#include "server/query/instant_source.h"

/* A source while its profiles are counted; of max, what has one maximum. */
struct source {
	int64_t ticks;         /* mean: distinct times */
	int64_t newest_ns;     /* of all its profiles */
	int64_t time_ns;       /* last: the newest; max: that of the largest moment */
	int64_t total;         /* max: of that one, and */
	struct hash128 moment; /* its identity beside its time */
	uint32_t part;
	bool is_merged; /* some series of it is in the answer */
};

struct instant_plan {
	enum profile_merge merge;
	struct arena *arena;
	uint64_t key;          /* of all hashes */
	struct intern sources; /* by service and place; of max, by label set */
	struct source *items;
	size_t capacity;
	struct intern ticks;            /* (source, time), mean only */
	struct instant_moments moments; /* max only */

	uint32_t *of_series; /* the source of a scan's series, or INTERN_NONE */
	size_t series_capacity;

	struct store_parts parts;
	int64_t *numbers; /* by part: ticks, or the time */
};

/* What a series' profiles are counted by. */
static struct hash128 source_key(const struct instant_plan *plan, const struct label_set *labels)
{
	return plan->merge == PROFILE_MERGE_MAX ? instant_maximum_key(plan->key, labels)
	                                        : instant_source_key(plan->key, labels);
}

/*
 * The source of a point's series, looked up once a series. INTERN_NONE: the arena is
 * full.
 */
static uint32_t source_of(struct instant_plan *plan, const struct store_point *point)
{
	uint32_t source;
	bool is_new;

	while (point->series >= plan->series_capacity) {
		const size_t before = plan->series_capacity;

		if (!arena_grow(plan->arena, (void **)&plan->of_series, sizeof(*plan->of_series),
		                &plan->series_capacity))
			return INTERN_NONE;
		for (size_t i = before; i < plan->series_capacity; i++)
			plan->of_series[i] = INTERN_NONE;
	}
	if (plan->of_series[point->series] != INTERN_NONE)
		return plan->of_series[point->series];
	source = intern_add(&plan->sources, plan->arena, source_key(plan, point->labels), &is_new);
	if (source == INTERN_NONE)
		return INTERN_NONE;
	if (is_new) {
		if (!ARENA_GROW(plan->arena, plan->items, source, plan->capacity))
			return INTERN_NONE;
		plan->items[source] = (struct source){ .newest_ns = INT64_MIN,
			                               .time_ns = INT64_MIN,
			                               .total = INT64_MIN };
	}
	plan->of_series[point->series] = source;
	return source;
}

/* A part of a moment, which may be the largest now. */
static int count_moment(struct instant_plan *plan, struct source *source,
                        const struct store_point *point, struct error *err)
{
	const struct hash128 moment = instant_moment_key(plan->key, point->labels);
	int64_t total;

	if (!instant_moments_add(&plan->moments, plan->arena, moment, point->time_unix_ns,
	                         point->total, &total))
		return arena_error(plan->arena, err);
	if (total < source->total ||
	    (total == source->total && point->time_unix_ns <= source->time_ns))
		return 0;
	source->total = total;
	source->time_ns = point->time_unix_ns;
	source->moment = moment;
	return 0;
}

/* One profile that counts. */
static int count_point(void *context, const struct store_point *point, struct error *err)
{
	struct instant_plan *plan = context;
	const uint32_t number = source_of(plan, point);
	struct source *source;
	bool is_new = false;

	if (number == INTERN_NONE)
		return arena_error(plan->arena, err);
	source = &plan->items[number];
	if (point->time_unix_ns > source->newest_ns)
		source->newest_ns = point->time_unix_ns;
	if (plan->merge == PROFILE_MERGE_MEAN) {
		const struct hash128 tick = { (uint64_t)point->time_unix_ns, number };

		if (intern_add(&plan->ticks, plan->arena, hash128(plan->key, &tick, sizeof(tick)),
		               &is_new) == INTERN_NONE)
			return arena_error(plan->arena, err);
		source->ticks += is_new;
	} else if (plan->merge == PROFILE_MERGE_LAST) {
		if (point->time_unix_ns > source->time_ns)
			source->time_ns = point->time_unix_ns;
	} else {
		return count_moment(plan, source, point, err);
	}
	return 0;
}

/* What all sources of one part have in common. */
static int64_t part_number(const struct instant_plan *plan, const struct source *source)
{
	return plan->merge == PROFILE_MERGE_MEAN ? source->ticks : source->time_ns;
}

/* Whether the largest moment has this series. */
static bool is_of(const struct instant_plan *plan, const struct source *source,
                  const struct label_set *labels)
{
	return hash128_equal(instant_moment_key(plan->key, labels), source->moment);
}

static uint32_t part_of(void *context, const struct label_set *labels)
{
	struct instant_plan *plan = context;
	const uint32_t source = intern_find(&plan->sources, source_key(plan, labels));

	if (source == INTERN_NONE ||
	    (plan->merge == PROFILE_MERGE_MAX && !is_of(plan, &plan->items[source], labels)))
		return STORE_SKIP;
	plan->items[source].is_merged = true;
	return plan->items[source].part;
}

/* Gives every source its part. */
static int make_parts(struct instant_plan *plan, struct error *err)
{
	struct intern numbers = { 0 };
	struct store_range *ranges = NULL;
	const size_t most = plan->sources.count + (size_t)1;

	plan->numbers = arena_array(plan->arena, most, sizeof(*plan->numbers));
	if (plan->merge != PROFILE_MERGE_MEAN)
		ranges = arena_array(plan->arena, most, sizeof(*ranges));
	if (!plan->numbers || (plan->merge != PROFILE_MERGE_MEAN && !ranges))
		return arena_error(plan->arena, err);
	for (uint32_t i = 0; i < plan->sources.count; i++) {
		struct source *source = &plan->items[i];
		const int64_t number = part_number(plan, source);
		bool is_new;

		source->part = intern_add(&numbers, plan->arena,
		                          hash128(plan->key, &number, sizeof(number)), &is_new);
		if (source->part == INTERN_NONE)
			return arena_error(plan->arena, err);
		plan->numbers[source->part] = number;
		if (ranges)
			ranges[source->part] = (struct store_range){ number, number };
	}
	plan->parts = (struct store_parts){
		.part_of = part_of,
		.context = plan,
		.count = numbers.count,
		.ranges = ranges,
	};
	return 0;
}

int instant_plan_new(struct store *store, const struct store_query *query, enum profile_merge merge,
                     struct instant_plan **out, struct error *err)
{
	struct instant_plan *plan = arena_alloc(query->arena, sizeof(*plan));
	const struct uuid random = uuid_random();
	struct instant_question question = { .query = *query };

	if (!plan)
		return arena_error(query->arena, err);
	plan->merge = merge;
	plan->arena = query->arena;
	memcpy(&plan->key, random.bytes, sizeof(plan->key));
	*out = plan;
	if (merge == PROFILE_MERGE_SUM)
		return 0;
	if (merge != PROFILE_MERGE_MAX && instant_question_widen(query, &question, err) < 0)
		return -1;
	if (store_scan(store, &question.query, count_point, plan, err) < 0)
		return -1;
	return make_parts(plan, err);
}

const struct store_parts *instant_plan_parts(const struct instant_plan *plan)
{
	return plan->merge == PROFILE_MERGE_SUM ? NULL : &plan->parts;
}

bool instant_plan_is_empty(const struct instant_plan *plan)
{
	return plan->merge != PROFILE_MERGE_SUM && plan->sources.count == 0;
}

int64_t instant_plan_divisor(const struct instant_plan *plan, uint32_t part)
{
	return plan->merge == PROFILE_MERGE_MEAN ? plan->numbers[part] : 1;
}

bool instant_plan_snapshots(const struct instant_plan *plan, struct instant_snapshots *out)
{
	const bool is_mean = plan->merge == PROFILE_MERGE_MEAN;

	if (plan->merge == PROFILE_MERGE_SUM)
		return false;
	*out = (struct instant_snapshots){ .newest_unix_ns = INT64_MIN };
	for (uint32_t i = 0; i < plan->sources.count; i++) {
		const struct source *source = &plan->items[i];
		const int64_t newest_ns = is_mean ? source->newest_ns : source->time_ns;

		if (!source->is_merged)
			continue;
		out->count += is_mean ? source->ticks : 1;
		out->is_rounded |= is_mean && source->ticks > 1;
		if (newest_ns > out->newest_unix_ns)
			out->newest_unix_ns = newest_ns;
	}
	return true;
}
