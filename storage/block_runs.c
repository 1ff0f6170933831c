#include "storage/block_runs.h"

/* The group of each profile. */
static uint32_t *groups_of(const struct block_groups *groups, struct arena *arena)
{
	uint32_t *of = arena_array_raw(arena, groups->firsts[groups->count], sizeof(*of));

	for (uint32_t group = 0; of && group < groups->count; group++)
		for (uint32_t i = groups->firsts[group]; i < groups->firsts[group + 1]; i++)
			of[i] = group;
	return of;
}

/* What is being filled: at most `room` runs. */
struct filler {
	const struct block_groups *groups;
	const uint32_t *group_of; /* by profile */
	uint32_t *firsts;
	uint32_t count;
	uint32_t room;
};

static void begin_run(struct filler *filler, uint32_t row)
{
	if (filler->count < filler->room)
		filler->firsts[filler->count] = row;
	filler->count++;
}

static void add_members(struct filler *filler, uint32_t row, const uint32_t *members,
                        uint32_t count)
{
	uint32_t last = UINT32_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t group = filler->group_of[members[i]];

		if (group != last)
			begin_run(filler, row + i);
		last = group;
	}
}

static void add_bitmap(struct filler *filler, uint32_t row, const struct block_ranks *ranks)
{
	uint32_t below = 0;

	for (uint32_t group = 0; group < filler->groups->count; group++) {
		const uint32_t end = block_ranks_below(ranks, filler->groups->firsts[group + 1]);

		if (end > below)
			begin_run(filler, row + below);
		below = end;
	}
}

int block_runs_make(const struct block_groups *groups, uint32_t list_count, const uint32_t *firsts,
                    const uint32_t *members, struct arena *arena, struct block_runs *out,
                    struct error *err)
{
	const uint32_t rows = firsts[list_count];
	uint32_t *of_lists = arena_array_raw(arena, (size_t)list_count + 1, sizeof(*of_lists));
	struct filler filler = {
		.groups = groups,
		.group_of = groups_of(groups, arena),
		.firsts = arena_array_raw(arena, (size_t)rows + 1, sizeof(*filler.firsts)),
		.room = rows,
	};

	if (!of_lists || !filler.group_of || !filler.firsts)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < list_count; i++) {
		of_lists[i] = filler.count;
		add_members(&filler, firsts[i], members + firsts[i], firsts[i + 1] - firsts[i]);
	}
	of_lists[list_count] = filler.count;
	filler.firsts[filler.count] = rows;
	*out = (struct block_runs){ filler.count, filler.firsts, of_lists };
	return 0;
}

int block_runs_find(const struct block_groups *groups, const struct block_presence *presence,
                    uint32_t count, struct arena *arena, struct block_runs *out, struct error *err)
{
	uint32_t *of_lists =
		arena_array_raw(arena, (size_t)presence->list_count + 1, sizeof(*of_lists));
	struct block_ranks *ranks = arena_alloc_raw(arena, sizeof(*ranks));
	struct filler filler = {
		.groups = groups,
		.group_of = groups_of(groups, arena),
		.firsts = arena_array_raw(arena, (size_t)count + 1, sizeof(*filler.firsts)),
		.room = count,
	};

	if (!of_lists || !ranks || !filler.group_of || !filler.firsts)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < presence->list_count; i++) {
		const struct block_list *list = &presence->lists[i];

		of_lists[i] = filler.count;
		if (list->bitmap) {
			block_ranks_init(ranks, list->bitmap, presence->universe);
			add_bitmap(&filler, presence->firsts[i], ranks);
		} else {
			add_members(&filler, presence->firsts[i], list->members,
			            block_presence_count(presence, i));
		}
	}
	if (filler.count != count)
		return error_set(err, ERROR_CORRUPT, "detail of a block is damaged: %u runs of %u",
		                 filler.count, count);
	of_lists[presence->list_count] = count;
	filler.firsts[count] = presence->firsts[presence->list_count];
	*out = (struct block_runs){ count, filler.firsts, of_lists };
	return 0;
}
