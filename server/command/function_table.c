#include "server/command/function_table.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- from samples to a tree ---- */

static struct str location_name(const struct profile *profile,
                                const struct profile_location *location, struct arena *arena)
{
	struct str file = { NULL, 0 };

	if (location->mapping != PROFILE_NONE)
		file = profile_basename(
			profile_string(profile, profile->mappings[location->mapping].file));
	if (file.length == 0)
		file = STR("unknown");
	return arena_printf(arena, "%.*s!0x%" PRIx64, STR_ARGS(file), location->address);
}

/*
 * The node below `node` for one location, whose outermost call is the last of its lines.
 */
static uint32_t add_location(struct function_tree *tree, uint32_t node,
                             const struct profile *profile, const struct profile_location *location)
{
	if (location->line_count == 0)
		return function_tree_child(tree, node,
		                           location_name(profile, location, tree->arena));
	for (uint32_t i = location->line_count; i-- > 0 && node != FUNCTION_TREE_NONE;) {
		const struct profile_line *line = &profile->lines[location->first_line + i];
		struct str name = STR("unknown");

		if (line->function != PROFILE_NONE)
			name = profile_string(profile, profile->functions[line->function].name);
		node = function_tree_child(tree, node, name);
	}
	return node;
}

int function_tree_of_profile(const struct profile *profile, size_t sample_type, struct arena *arena,
                             struct function_tree **out, struct error *err)
{
	struct function_tree *tree = NULL;

	if (profile->sample_count > 0 && sample_type >= profile->sample_type_count)
		return error_set(err, ERROR_INVALID, "the profile has no such sample type");
	if (function_tree_new(arena, &tree, err) < 0)
		return -1;
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const int64_t value = profile->values[i * profile->sample_type_count + sample_type];
		uint32_t node = 0;

		for (uint32_t frame = sample->depth; frame-- > 0 && node != FUNCTION_TREE_NONE;) {
			const uint32_t location = profile->stacks[sample->first_frame + frame];

			if (location != PROFILE_NONE)
				node = add_location(tree, node, profile,
				                    &profile->locations[location]);
		}
		if (node == FUNCTION_TREE_NONE)
			return arena_error(arena, err);
		tree->nodes[node].self =
			(int64_t)((uint64_t)tree->nodes[node].self + (uint64_t)value);
	}
	if (function_tree_finish(tree, err) < 0)
		return -1;
	*out = tree;
	return 0;
}

/* ---- from a tree to rows ---- */

static int compare_values(int64_t a, int64_t b)
{
	return (b > a) - (b < a);
}

static int compare_by_self(const void *left, const void *right)
{
	const struct function_row *a = left;
	const struct function_row *b = right;
	const int order = compare_values(a->self, b->self);
	const int second = order ? order : compare_values(a->total, b->total);

	return second ? second : str_compare(a->name, b->name);
}

static int compare_by_total(const void *left, const void *right)
{
	const struct function_row *a = left;
	const struct function_row *b = right;
	const int order = compare_values(a->total, b->total);
	const int second = order ? order : compare_values(a->self, b->self);

	return second ? second : str_compare(a->name, b->name);
}

/* Walks depth first; `open` counts how often a name is on the way from the root. */
static void sum_rows(const struct function_tree *tree, struct function_row *rows, uint32_t *open)
{
	uint32_t node = tree->nodes[0].first_child;

	while (node != FUNCTION_TREE_NONE) {
		const struct function_node *at = &tree->nodes[node];
		struct function_row *row = &rows[at->name];

		row->self = (int64_t)((uint64_t)row->self + (uint64_t)at->self);
		if (open[at->name]++ == 0)
			row->total = (int64_t)((uint64_t)row->total + (uint64_t)at->total);
		if (at->first_child != FUNCTION_TREE_NONE) {
			node = at->first_child;
			continue;
		}
		while (node != 0) {
			open[tree->nodes[node].name]--;
			if (tree->nodes[node].next_sibling != FUNCTION_TREE_NONE)
				break;
			node = tree->nodes[node].parent;
		}
		node = node == 0 ? FUNCTION_TREE_NONE : tree->nodes[node].next_sibling;
	}
}

int function_table_make(const struct function_tree *tree, enum function_table_order order,
                        struct arena *arena, struct function_table *out, struct error *err)
{
	struct function_row *rows = arena_array(arena, tree->name_count + 1, sizeof(*rows));
	uint32_t *open = arena_array(arena, tree->name_count + 1, sizeof(*open));
	size_t count = 0;

	if (!rows || !open)
		return arena_error(arena, err);
	for (size_t i = 0; i < tree->name_count; i++)
		rows[i].name = tree->names[i];
	sum_rows(tree, rows, open);

	/* Names of no node (the root's) and of nothing but zeros are no rows. */
	for (size_t i = 0; i < tree->name_count; i++)
		if (rows[i].self != 0 || rows[i].total != 0)
			rows[count++] = rows[i];
	if (count > 0)
		qsort(rows, count, sizeof(*rows),
		      order == FUNCTION_TABLE_BY_SELF ? compare_by_self : compare_by_total);
	*out = (struct function_table){
		.rows = rows,
		.count = count,
		.total = tree->nodes[0].total,
	};
	return 0;
}

/* ---- two sides ---- */

static int compare_names(const void *left, const void *right)
{
	const struct function_row *a = left;
	const struct function_row *b = right;

	return str_compare(a->name, b->name);
}

static uint64_t magnitude(int64_t before, int64_t after)
{
	return after > before ? (uint64_t)after - (uint64_t)before
	                      : (uint64_t)before - (uint64_t)after;
}

static int compare_changes(uint64_t left, uint64_t right, const struct function_change *a,
                           const struct function_change *b)
{
	const int order = (right > left) - (right < left);

	return order ? order : str_compare(a->name, b->name);
}

static int compare_changes_by_self(const void *left, const void *right)
{
	const struct function_change *a = left;
	const struct function_change *b = right;

	return compare_changes(magnitude(a->before.self, a->after.self),
	                       magnitude(b->before.self, b->after.self), a, b);
}

static int compare_changes_by_total(const void *left, const void *right)
{
	const struct function_change *a = left;
	const struct function_change *b = right;

	return compare_changes(magnitude(a->before.total, a->after.total),
	                       magnitude(b->before.total, b->after.total), a, b);
}

/* A copy of the rows by name. NULL when it did not fit (or there are none). */
static struct function_row *by_name(const struct function_table *table, struct arena *arena)
{
	struct function_row *rows = arena_array(arena, table->count, sizeof(*rows));

	if (!rows || table->count == 0)
		return NULL;
	memcpy(rows, table->rows, table->count * sizeof(*rows));
	qsort(rows, table->count, sizeof(*rows), compare_names);
	return rows;
}

int function_changes_make(const struct function_table *before, const struct function_table *after,
                          enum function_table_order order, struct arena *arena,
                          struct function_changes *out, struct error *err)
{
	const struct function_row *left = by_name(before, arena);
	const struct function_row *right = by_name(after, arena);
	struct function_change *rows =
		arena_array(arena, before->count + after->count, sizeof(*rows));
	size_t count = 0;

	if (arena_overflowed(arena))
		return arena_error(arena, err);
	for (size_t l = 0, r = 0; l < before->count || r < after->count;) {
		const int side = l == before->count  ? 1
		                 : r == after->count ? -1
		                                     : str_compare(left[l].name, right[r].name);
		struct function_change *row = &rows[count++];

		row->name = side <= 0 ? left[l].name : right[r].name;
		if (side <= 0)
			row->before = left[l++];
		if (side >= 0)
			row->after = right[r++];
	}
	if (count > 0)
		qsort(rows, count, sizeof(*rows),
		      order == FUNCTION_TABLE_BY_SELF ? compare_changes_by_self
		                                      : compare_changes_by_total);
	*out = (struct function_changes){
		.rows = rows,
		.count = count,
		.total_before = before->total,
		.total_after = after->total,
	};
	return 0;
}
