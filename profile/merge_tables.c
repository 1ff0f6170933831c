#include "profile/merge_tables.h"

#include "base/uuid.h"

#define PAGE_MASK UINT64_C(0xfff)

_Static_assert(MERGE_FULL == INTERN_NONE, "ids pass through");

bool merge_tables_init(struct merge_tables *tables, struct arena *arena)
{
	const struct uuid random = uuid_random();

	*tables = (struct merge_tables){ .arena = arena };
	memcpy(&tables->secret, random.bytes, sizeof(tables->secret));
	if (!ARENA_GROW(arena, tables->stacks, tables->stack_count, tables->stack_capacity))
		return false;
	tables->stacks[tables->stack_count++] = (struct merged_stack){ 0 };
	return merge_tables_string(tables, STR("")) == 0;
}

uint32_t merge_tables_string(struct merge_tables *tables, struct str text)
{
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(tables->arena, tables->strings, tables->string_count,
	                tables->string_capacity))
		return MERGE_FULL;
	id = intern_add(&tables->string_ids, tables->arena, hash128_str(tables->secret, text),
	                &is_new);
	if (id == INTERN_NONE || !is_new)
		return id;
	tables->strings[id] = text.length > 0 ? arena_copy(tables->arena, text) : STR("");
	if (!tables->strings[id].data)
		return MERGE_FULL;
	tables->string_count++;
	return id;
}

uint32_t merge_tables_function(struct merge_tables *tables, const struct profile_function *function)
{
	const struct {
		int64_t start_line;
		uint32_t name;
		uint32_t system_name;
		uint32_t file;
		uint32_t reserved;
	} key = { function->start_line, function->name, function->system_name, function->file, 0 };
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(tables->arena, tables->functions, tables->function_count,
	                tables->function_capacity))
		return MERGE_FULL;
	id = intern_add(&tables->function_ids, tables->arena,
	                hash128(tables->secret, &key, sizeof(key)), &is_new);
	if (id != INTERN_NONE && is_new)
		tables->functions[tables->function_count++] = *function;
	return id;
}

static uint32_t add_mapping(struct merge_tables *tables, const struct profile_mapping *mapping,
                            uint64_t is_exact)
{
	const struct {
		uint64_t size;
		uint64_t offset;
		uint64_t exact_start;
		uint64_t is_exact;
		uint64_t identity;
	} key = {
		(mapping->limit - mapping->start + PAGE_MASK) & ~PAGE_MASK,
		mapping->offset,
		is_exact ? mapping->start : 0,
		is_exact,
		mapping->build_id ? mapping->build_id : mapping->file,
	};
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(tables->arena, tables->mappings, tables->mapping_count,
	                tables->mapping_capacity))
		return MERGE_FULL;
	id = intern_add(&tables->mapping_ids, tables->arena,
	                hash128(tables->secret, &key, sizeof(key)), &is_new);
	if (id == INTERN_NONE)
		return id;
	if (is_new)
		tables->mappings[tables->mapping_count++] = *mapping;
	else
		tables->mappings[id].flags &= mapping->flags; /* what holds for all */
	return id;
}

uint32_t merge_tables_mapping(struct merge_tables *tables, const struct profile_mapping *mapping,
                              bool is_exact)
{
	const uint32_t id = add_mapping(tables, mapping, 0);

	if (id == MERGE_FULL || !is_exact || tables->mappings[id].start == mapping->start)
		return id;
	return add_mapping(tables, mapping, 1);
}

/* Lines are hashed one into the next: their padding never counts. */
static struct hash128 location_key(const struct merge_tables *tables,
                                   const struct profile_location *location,
                                   const struct profile_line *lines)
{
	struct {
		struct hash128 before;
		uint64_t a;
		uint64_t b;
	} step = { { 0, 0 }, location->address, (uint64_t)location->mapping << 32 };

	step.b |= location->line_count;
	for (uint32_t i = 0; i < location->line_count; i++) {
		step.before = hash128(tables->secret, &step, sizeof(step));
		step.a = (uint64_t)lines[i].line;
		step.b = lines[i].function;
	}
	return hash128(tables->secret, &step, sizeof(step));
}

uint32_t merge_tables_location(struct merge_tables *tables, const struct profile_location *location,
                               const struct profile_line *lines)
{
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(tables->arena, tables->locations, tables->location_count,
	                tables->location_capacity))
		return MERGE_FULL;
	id = intern_add(&tables->location_ids, tables->arena, location_key(tables, location, lines),
	                &is_new);
	if (id == INTERN_NONE || !is_new)
		return id;
	tables->locations[id] = *location;
	tables->locations[id].first_line = (uint32_t)tables->line_count;
	for (uint32_t i = 0; i < location->line_count; i++) {
		/* lines may be a part of the table that grows here */
		const struct profile_line line = lines[i];

		if (!ARENA_GROW(tables->arena, tables->lines, tables->line_count,
		                tables->line_capacity))
			return MERGE_FULL;
		tables->lines[tables->line_count++] = line;
	}
	tables->location_count++;
	return id;
}

uint32_t merge_tables_stack(struct merge_tables *tables, uint32_t parent, uint32_t location)
{
	bool is_new;
	uint32_t id;

	if (!ARENA_GROW(tables->arena, tables->stacks, tables->stack_count, tables->stack_capacity))
		return MERGE_FULL;
	id = intern_add(&tables->stack_ids, tables->arena,
	                intern_pair(tables->secret, parent, location), &is_new);
	if (id == INTERN_NONE)
		return id;
	if (is_new)
		tables->stacks[tables->stack_count++] =
			(struct merged_stack){ .parent = parent, .location = location };
	return id + 1;
}
