#include "storage/due_blocks.h"

#include <stdlib.h>

#include "base/clock.h"

static bool has_settled(const struct due_rule *rule, int64_t hour, int64_t received_s)
{
	const int64_t before = rule->now_unix_ns - rule->grace_ns;
	const int64_t received_before = before / NS_PER_S;

	/* a clock that was set back must not stop the work: its future is not believed */
	return block_hour_last(hour) < before &&
	       (received_s <= received_before || received_s > rule->now_unix_ns / NS_PER_S);
}

bool due_block_is_due(const struct due_block *block, uint64_t profile_count,
                      const struct due_rule *rule)
{
	return profile_count > BLOCK_PROFILES_MAX ||
	       has_settled(rule, block->hour, block->received_s);
}

bool due_blocks_any(const struct reader_hours *hours, const struct due_rule *rule)
{
	uint64_t profiles = 0;

	for (size_t i = 0; i < hours->count; i++) {
		profiles += hours->hours[i].profile_count;
		if (has_settled(rule, hours->hours[i].hour, hours->hours[i].received_s))
			return true;
	}
	return profiles > BLOCK_PROFILES_MAX;
}

static int by_hour_and_family(const void *left, const void *right)
{
	const struct reader_hour *a = left;
	const struct reader_hour *b = right;

	if (a->hour != b->hour)
		return a->hour < b->hour ? -1 : 1;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	return (a->group > b->group) - (a->group < b->group);
}

static int find_families(struct reader_hours *hours, const struct series_view *series,
                         struct error *err)
{
	for (size_t i = 0; i < hours->count; i++) {
		struct reader_hour *hour = &hours->hours[i];

		if (hour->group >= series->group_count)
			return error_set(err, ERROR_CORRUPT,
			                 "a profile is of group %u, which is not there",
			                 hour->group);
		hour->family = series_view_group(series, hour->group)->family;
	}
	if (hours->count > 1)
		qsort(hours->hours, hours->count, sizeof(*hours->hours), by_hour_and_family);
	return 0;
}

/* The block that begins at the hours' first entry. */
static struct due_block gather(const struct reader_hour *first, const struct reader_hour *end)
{
	struct due_block block = {
		.family = first->family,
		.hour = first->hour,
		.groups = first,
		.received_s = first->received_s,
	};

	for (const struct reader_hour *hour = first;
	     hour < end && hour->family == first->family && hour->hour == first->hour; hour++) {
		block.group_count++;
		block.profile_count += hour->profile_count;
		if (hour->received_s > block.received_s)
			block.received_s = hour->received_s;
	}
	return block;
}

int due_blocks_find(struct reader_hours *hours, const struct series_view *series,
                    const struct due_rule *rule, struct arena *arena, struct due_blocks *out,
                    struct error *err)
{
	size_t capacity = 0;
	size_t step;

	*out = (struct due_blocks){ 0 };
	if (find_families(hours, series, err) < 0)
		return -1;
	for (size_t i = 0; i < hours->count; i += step) {
		const struct due_block block =
			gather(&hours->hours[i], hours->hours + hours->count);

		step = block.group_count;
		if (!due_block_is_due(&block, block.profile_count, rule))
			continue;
		if (!ARENA_GROW(arena, out->blocks, out->count, capacity))
			return arena_error(arena, err);
		out->blocks[out->count++] = block;
		out->profile_count += block.profile_count;
	}
	return 0;
}
