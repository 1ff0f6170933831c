#include "storage/interner.h"

#include <stdlib.h>

#include "base/id_map.h"
#include "base/mem.h"
#include "storage/pair_index.h"
#include "storage/stack_cache.h"

#define AHEAD 6 /* rows whose slots are fetched before they are looked up; a guess */

struct interner {
	struct symbol_table *table;
	uint64_t key;
	struct id_map strings; /* ids are those of the table */
	struct id_map functions;
	struct id_map mappings;
	struct id_map locations;
	struct pair_index stacks;
	struct pair_index function_stacks;
	struct stack_cache cache; /* by the hash of a row */

	/* of the profile at hand */
	const struct profile *profile;
	const struct profile_hashes *hashes;
	uint32_t *location_ids; /* by index, id + 1; made with the first new stack */
	size_t location_capacity;
	bool has_location_ids;
	struct symbol_line *lines; /* of one location */
	size_t line_capacity;
};

/* ---- nodes of the trees ---- */

static uint32_t *stack_place(const struct interner *interner, uint32_t parent, uint32_t location)
{
	const struct pair_index *index = &interner->stacks;
	uint32_t at = pair_index_hash(interner->key, parent, location) & (index->slot_count - 1);

	while (index->slots[at]) {
		const struct symbol_stack *stack =
			symbol_table_stack(interner->table, index->slots[at]);

		if (stack->parent == parent && stack->location == location)
			break;
		at = (at + 1) & (index->slot_count - 1);
	}
	return &index->slots[at];
}

static uint32_t *function_stack_place(const struct interner *interner, uint32_t parent,
                                      uint32_t frame)
{
	const struct pair_index *index = &interner->function_stacks;
	uint32_t at = pair_index_hash(interner->key, parent, frame) & (index->slot_count - 1);

	while (index->slots[at]) {
		const struct symbol_function_stack *stack =
			symbol_table_function_stack(interner->table, index->slots[at]);

		if (stack->parent == parent && stack->frame == frame)
			break;
		at = (at + 1) & (index->slot_count - 1);
	}
	return &index->slots[at];
}

static void make_room_for_stack(struct interner *interner)
{
	const uint32_t count = interner->table->counts[SYMBOL_STACK];

	if (!pair_index_is_full(&interner->stacks))
		return;
	do {
		pair_index_grow(&interner->stacks);
	} while ((uint64_t)count * 4 > (uint64_t)interner->stacks.slot_count * 3);
	for (uint32_t id = 1; id < count; id++) {
		const struct symbol_stack *stack = symbol_table_stack(interner->table, id);

		*stack_place(interner, stack->parent, stack->location) = id;
		interner->stacks.count++;
	}
}

static void make_room_for_function_stack(struct interner *interner)
{
	const uint32_t count = interner->table->counts[SYMBOL_FUNCTION_STACK];

	if (!pair_index_is_full(&interner->function_stacks))
		return;
	do {
		pair_index_grow(&interner->function_stacks);
	} while ((uint64_t)count * 4 > (uint64_t)interner->function_stacks.slot_count * 3);
	for (uint32_t id = 1; id < count; id++) {
		const struct symbol_function_stack *stack =
			symbol_table_function_stack(interner->table, id);

		*function_stack_place(interner, stack->parent, stack->frame) = id;
		interner->function_stacks.count++;
	}
}

static uint32_t add_function_stack(struct interner *interner, uint32_t parent, uint32_t frame)
{
	uint32_t *place;

	make_room_for_function_stack(interner);
	place = function_stack_place(interner, parent, frame);
	if (!*place) {
		*place = symbol_table_add_function_stack(interner->table, parent, frame);
		interner->function_stacks.count++;
	}
	return *place;
}

/* The function stack of a stack that ends in `location`: its lines, outermost first. */
static uint32_t add_frames(struct interner *interner, uint32_t function_stack, uint32_t location_id)
{
	const struct symbol_location *location =
		symbol_table_location(interner->table, location_id);

	if (location->line_count == 0)
		return add_function_stack(interner, function_stack, SYMBOLS_BARE | location_id);
	for (uint32_t i = location->line_count; i-- > 0;) {
		const struct symbol_line *line =
			symbol_table_line(interner->table, location->first_line + i);

		function_stack = add_function_stack(interner, function_stack, line->function);
	}
	return function_stack;
}

static uint32_t add_stack(struct interner *interner, uint32_t parent, uint32_t location)
{
	struct symbol_stack stack = { .parent = parent, .location = location };
	uint32_t *place;

	make_room_for_stack(interner);
	place = stack_place(interner, parent, location);
	if (*place)
		return *place;
	stack.function_stack = add_frames(
		interner, symbol_table_stack(interner->table, parent)->function_stack, location);
	*place = symbol_table_add_stack(interner->table, &stack);
	interner->stacks.count++;
	return *place;
}

/* ---- contents ---- */

static uint32_t add_string(struct interner *interner, uint32_t index)
{
	const struct str string = interner->profile->strings[index];
	bool is_new;
	const uint32_t id =
		id_map_add(&interner->strings, hash128_str(interner->key, string), &is_new);

	if (is_new)
		(void)symbol_table_add_string(interner->table, string);
	return id;
}

/* What a function and a mapping are in a window: strings have their ids there. */
static struct hash128 function_key(const struct interner *interner,
                                   const struct symbol_function *function)
{
	const uint64_t parts[] = { function->name, function->system_name, function->file,
		                   function->kind, (uint64_t)function->start_line };

	return hash128(interner->key, parts, sizeof(parts));
}

static struct hash128 mapping_key(const struct interner *interner,
                                  const struct symbol_mapping *mapping)
{
	const uint64_t parts[] = { mapping->start, mapping->limit,    mapping->offset,
		                   mapping->file,  mapping->build_id, mapping->flags };

	return hash128(interner->key, parts, sizeof(parts));
}

static uint32_t add_function(struct interner *interner, uint32_t index, struct str mapping_file)
{
	const struct profile *profile = interner->profile;
	const struct profile_function *from = &profile->functions[index];
	const struct symbol_function function = {
		.name = add_string(interner, from->name),
		.system_name = add_string(interner, from->system_name),
		.file = add_string(interner, from->file),
		.start_line = from->start_line,
		.kind = function_kind_of(profile->strings[from->name], profile->strings[from->file],
		                         mapping_file),
	};
	bool is_new;
	const uint32_t id =
		id_map_add(&interner->functions, function_key(interner, &function), &is_new);

	if (is_new)
		(void)symbol_table_add_function(interner->table, &function);
	return id;
}

static uint32_t add_mapping(struct interner *interner, uint32_t index)
{
	const struct profile_mapping *from = &interner->profile->mappings[index];
	const struct symbol_mapping mapping = {
		.start = from->start,
		.limit = from->limit,
		.offset = from->offset,
		.file = add_string(interner, from->file),
		.build_id = add_string(interner, from->build_id),
		.flags = from->flags,
	};
	bool is_new;
	const uint32_t id =
		id_map_add(&interner->mappings, mapping_key(interner, &mapping), &is_new);

	if (is_new)
		(void)symbol_table_add_mapping(interner->table, &mapping);
	return id;
}

static uint32_t add_location(struct interner *interner, uint32_t index)
{
	const struct profile *profile = interner->profile;
	const struct profile_location *from = &profile->locations[index];
	struct str mapping_file = { 0 };
	uint32_t mapping = PROFILE_NONE;
	bool is_new;
	const uint32_t id =
		id_map_add(&interner->locations, interner->hashes->locations[index], &is_new);

	if (!is_new)
		return id;
	if (from->mapping != PROFILE_NONE) {
		mapping = add_mapping(interner, from->mapping);
		mapping_file = profile->strings[profile->mappings[from->mapping].file];
	}
	if (from->line_count > interner->line_capacity) {
		interner->line_capacity = from->line_count;
		interner->lines = mem_resize(interner->lines, interner->line_capacity,
		                             sizeof(*interner->lines));
	}
	for (uint32_t i = 0; i < from->line_count; i++) {
		const struct profile_line *line = &profile->lines[from->first_line + i];

		interner->lines[i] = (struct symbol_line){
			.line = line->line,
			.function = add_function(interner, line->function, mapping_file),
		};
	}
	(void)symbol_table_add_location(interner->table, mapping, from->address, interner->lines,
	                                from->line_count);
	return id;
}

/* ---- rows ---- */

static void need_location_ids(struct interner *interner)
{
	const size_t count = interner->profile->location_count;

	if (interner->has_location_ids)
		return;
	if (count > interner->location_capacity) {
		free(interner->location_ids);
		interner->location_ids = mem_zalloc(count, sizeof(*interner->location_ids));
		interner->location_capacity = count;
	} else if (count > 0) {
		memset(interner->location_ids, 0, count * sizeof(*interner->location_ids));
	}
	interner->has_location_ids = true;
}

static uint32_t walk(struct interner *interner, const struct stored_row *row)
{
	const uint32_t *stack = interner->profile->stacks + row->first_frame;
	uint32_t node = 0;

	need_location_ids(interner);
	for (uint32_t i = row->depth; i-- > 0;) {
		uint32_t *location = &interner->location_ids[stack[i]];

		if (!*location)
			*location = add_location(interner, stack[i]) + 1;
		node = add_stack(interner, node, *location - 1);
	}
	return node;
}

static uint32_t add_row(struct interner *interner, const struct stored_row *row,
                        struct hash128 hash)
{
	uint32_t stack;

	if (row->depth == 0)
		return 0;
	stack = stack_cache_find(&interner->cache, hash);
	if (!stack) {
		stack = walk(interner, row);
		stack_cache_put(&interner->cache, hash, stack);
	}
	return stack;
}

/*
 * A profile adds at most as many of each kind as its bytes, far fewer than what is left
 * then.
 */
static int check_room(const struct interner *interner, struct error *err)
{
	for (int kind = 0; kind < SYMBOL_KIND_COUNT; kind++)
		if (interner->table->counts[kind] > SYMBOL_COUNT_MAX / 2)
			return error_set(err, ERROR_TOO_LARGE,
			                 "the day has more than %u symbols of a kind",
			                 SYMBOL_COUNT_MAX / 2);
	return 0;
}

int interner_add(struct interner *interner, const struct series_profile *profile,
                 const struct profile_hashes *hashes, uint32_t *out_stacks, struct error *err)
{
	if (check_room(interner, err) < 0)
		return -1;
	interner->profile = profile->profile;
	interner->hashes = hashes;
	interner->has_location_ids = false;
	for (size_t i = 0; i < profile->row_count; i++) {
		if (i + AHEAD < profile->row_count)
			stack_cache_prefetch(&interner->cache, hashes->rows[i + AHEAD]);
		out_stacks[i] = add_row(interner, &profile->rows[i], hashes->rows[i]);
	}
	return 0;
}

/* ---- indexing what a table has ---- */

/*
 * Gives the entry that comes next in a map. False when an equal one is there: a table has
 * each once.
 */
static bool index_one(struct id_map *map, struct hash128 hash)
{
	bool is_new;

	(void)id_map_add(map, hash, &is_new);
	return is_new;
}

static bool index_contents(struct interner *interner)
{
	const struct symbol_table *table = interner->table;
	bool good = true;

	for (uint32_t id = 0; good && id < table->counts[SYMBOL_STRING]; id++)
		good = index_one(&interner->strings,
		                 hash128_str(interner->key, *symbol_table_string(table, id)));
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_FUNCTION]; id++)
		good = index_one(&interner->functions,
		                 function_key(interner, symbol_table_function(table, id)));
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_MAPPING]; id++)
		good = index_one(&interner->mappings,
		                 mapping_key(interner, symbol_table_mapping(table, id)));
	return good;
}

/* The parts of all strings, functions and mappings, as a sender's side has them. */
struct parts {
	uint64_t *strings;
	uint64_t *functions;
	uint64_t *mappings;
};

static void parts_fini(struct parts *parts)
{
	free(parts->strings);
	free(parts->functions);
	free(parts->mappings);
}

static void parts_init(struct parts *parts, const struct symbol_table *table, uint64_t key)
{
	const uint32_t *counts = table->counts;

	parts->strings = mem_zalloc(counts[SYMBOL_STRING] + 1, sizeof(uint64_t));
	parts->functions = mem_zalloc(counts[SYMBOL_FUNCTION] + 1, sizeof(uint64_t));
	parts->mappings = mem_zalloc(counts[SYMBOL_MAPPING] + 1, sizeof(uint64_t));
	for (uint32_t id = 0; id < counts[SYMBOL_STRING]; id++)
		parts->strings[id] = part_of_string(key, *symbol_table_string(table, id));
	for (uint32_t id = 0; id < counts[SYMBOL_FUNCTION]; id++) {
		const struct symbol_function *function = symbol_table_function(table, id);

		parts->functions[id] = part_of_function(key, parts->strings[function->name],
		                                        parts->strings[function->system_name],
		                                        parts->strings[function->file],
		                                        function->start_line);
	}
	for (uint32_t id = 0; id < counts[SYMBOL_MAPPING]; id++) {
		const struct symbol_mapping *mapping = symbol_table_mapping(table, id);

		parts->mappings[id] = part_of_mapping(key, parts->strings[mapping->file],
		                                      parts->strings[mapping->build_id], mapping);
	}
}

static struct hash128 location_key(const struct symbol_table *table, const struct parts *parts,
                                   uint64_t key, uint32_t id)
{
	const struct symbol_location *location = symbol_table_location(table, id);
	struct location_hasher hasher;

	location_hasher_begin(
		&hasher, key,
		location->mapping == PROFILE_NONE ? 0 : parts->mappings[location->mapping],
		location->address);
	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct symbol_line *line = symbol_table_line(table, location->first_line + i);

		location_hasher_add(&hasher, parts->functions[line->function], line->line);
	}
	return location_hasher_end(&hasher);
}

static bool index_locations(struct interner *interner)
{
	const struct symbol_table *table = interner->table;
	CLEANUP(parts_fini) struct parts parts = { 0 };
	bool good = true;

	parts_init(&parts, table, interner->key);
	for (uint32_t id = 0; good && id < table->counts[SYMBOL_LOCATION]; id++)
		good = index_one(&interner->locations,
		                 location_key(table, &parts, interner->key, id));
	return good;
}

int interner_new(struct symbol_table *table, uint64_t key, struct interner **out, struct error *err)
{
	CLEANUP(interner_freep) struct interner *interner = mem_zalloc(1, sizeof(*interner));

	interner->table = table;
	interner->key = key;
	if (!index_contents(interner) || !index_locations(interner))
		return error_set(err, ERROR_CORRUPT, "a symbol stands there twice");
	make_room_for_stack(interner);
	make_room_for_function_stack(interner);
	*out = TAKE(interner);
	return 0;
}

void interner_free(struct interner *interner)
{
	if (!interner)
		return;
	id_map_fini(&interner->strings);
	id_map_fini(&interner->functions);
	id_map_fini(&interner->mappings);
	id_map_fini(&interner->locations);
	pair_index_fini(&interner->stacks);
	pair_index_fini(&interner->function_stacks);
	stack_cache_fini(&interner->cache);
	free(interner->location_ids);
	free(interner->lines);
	free(interner);
}

size_t interner_bytes(const struct interner *interner)
{
	return sizeof(*interner) + id_map_bytes(&interner->strings) +
	       id_map_bytes(&interner->functions) + id_map_bytes(&interner->mappings) +
	       id_map_bytes(&interner->locations) + stack_cache_bytes(&interner->cache) +
	       interner->stacks.slot_count * sizeof(*interner->stacks.slots) +
	       interner->function_stacks.slot_count * sizeof(*interner->function_stacks.slots) +
	       interner->location_capacity * sizeof(*interner->location_ids);
}
