#include "collector/live/physical_memory.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

#define FIRST_BLOCKS 16

void physical_memory_init(struct physical_memory *memory, struct budget *budget,
                          physical_freed freed)
{
	*memory = (struct physical_memory){ .budget = budget,
		                            .freed = freed,
		                            .unused = PHYSICAL_NONE };
	live_table_init(&memory->handles, budget);
	live_table_init(&memory->mappings, budget);
}

void physical_memory_fini(struct physical_memory *memory)
{
	live_table_fini(&memory->handles);
	live_table_fini(&memory->mappings);
	budget_give(memory->budget, memory->capacity * sizeof(*memory->blocks));
	free(memory->blocks);
	free(memory->unmappings);
	physical_memory_init(memory, memory->budget, memory->freed);
}

/* ---- blocks ---- */

static bool is_used(const struct physical_block *block)
{
	return block->references > 0 || block->mappings > 0;
}

static bool grow(struct physical_memory *memory)
{
	const uint32_t capacity = memory->capacity ? memory->capacity * 2 : FIRST_BLOCKS;
	const size_t more = (capacity - memory->capacity) * sizeof(*memory->blocks);

	if (capacity < memory->capacity || !budget_take(memory->budget, more))
		return false;
	memory->blocks = mem_resize(memory->blocks, capacity, sizeof(*memory->blocks));
	memory->capacity = capacity;
	return true;
}

/* The number of a block that is not in use, or PHYSICAL_NONE. */
static uint32_t take_unused(struct physical_memory *memory)
{
	const uint32_t number = memory->unused;

	if (number != PHYSICAL_NONE) {
		memory->unused = memory->blocks[number].next;
		return number;
	}
	if (memory->count == memory->capacity && !grow(memory))
		return PHYSICAL_NONE;
	return memory->count++;
}

static void give_unused(struct physical_memory *memory, uint32_t number)
{
	memory->blocks[number] = (struct physical_block){ .next = memory->unused };
	memory->unused = number;
}

static void free_if_unused(struct physical_memory *memory, uint32_t number)
{
	const struct physical_block block = memory->blocks[number];

	if (is_used(&block))
		return;
	give_unused(memory, number);
	memory->freed(memory, &block);
}

uint32_t physical_memory_number(const struct physical_memory *memory,
                                const struct physical_block *block)
{
	return (uint32_t)(block - memory->blocks);
}

struct physical_block *physical_memory_next(const struct physical_memory *memory, size_t *cursor)
{
	while (*cursor < memory->count) {
		struct physical_block *block = &memory->blocks[(*cursor)++];

		if (is_used(block))
			return block;
	}
	return NULL;
}

/* ---- references ---- */

static uint32_t number_of(const struct live_table *table, uint64_t key)
{
	struct live_block found;

	return live_table_find(table, key, &found) ? found.sum : PHYSICAL_NONE;
}

struct physical_block *physical_memory_find(const struct physical_memory *memory, uint64_t handle)
{
	const uint32_t number = number_of(&memory->handles, handle);

	return number == PHYSICAL_NONE ? NULL : &memory->blocks[number];
}

static void forget_handle(struct physical_memory *memory, struct physical_block *block)
{
	struct live_block gone;

	(void)live_table_take(&memory->handles, block->handle, &gone);
	block->references = 0;
}

/* Whoever has that handle has it no longer. */
static void take_handle(struct physical_memory *memory, uint64_t handle)
{
	struct physical_block *before = physical_memory_find(memory, handle);

	if (!before)
		return;
	forget_handle(memory, before);
	free_if_unused(memory, physical_memory_number(memory, before));
}

/* The first reference by that handle. */
static bool put_handle(struct physical_memory *memory, uint64_t handle, uint32_t number)
{
	if (!live_table_put(&memory->handles,
	                    &(struct live_block){ .address = handle, .sum = number }))
		return false;
	memory->blocks[number].handle = handle;
	memory->blocks[number].references = 1;
	return true;
}

bool physical_memory_add(struct physical_memory *memory, uint64_t handle, uint64_t bytes,
                         uint32_t sum)
{
	uint32_t number;

	take_handle(memory, handle);
	number = take_unused(memory);
	if (number == PHYSICAL_NONE)
		return false;
	memory->blocks[number] = (struct physical_block){ .bytes = bytes, .sum = sum };
	if (put_handle(memory, handle, number))
		return true;
	give_unused(memory, number);
	return false;
}

bool physical_memory_release(struct physical_memory *memory, uint64_t handle)
{
	struct physical_block *block = physical_memory_find(memory, handle);

	if (!block)
		return false;
	if (--block->references > 0)
		return true;
	forget_handle(memory, block);
	free_if_unused(memory, physical_memory_number(memory, block));
	return true;
}

/* One more reference of a block that is there. */
static bool refer(struct physical_memory *memory, uint64_t handle, uint32_t number)
{
	struct physical_block *block = &memory->blocks[number];

	if (block->references > 0 && block->handle == handle) {
		block->references++;
		return true;
	}
	if (block->references > 0)
		forget_handle(memory, block); /* it has one, and this is the newest */
	take_handle(memory, handle);
	return put_handle(memory, handle, number);
}

bool physical_memory_restore(struct physical_memory *memory, uint64_t handle, uint32_t number)
{
	const struct physical_block *block = number < memory->count ? &memory->blocks[number]
	                                                            : NULL;

	return block && is_used(block) && block->handle == handle && refer(memory, handle, number);
}

/* ---- mappings ---- */

/* The block that is mapped at `address`, which may lie within the mapping. */
static uint32_t mapped_at(const struct physical_memory *memory, uint64_t address)
{
	const uint32_t exact = number_of(&memory->mappings, address);
	const struct live_block *mapping;
	size_t cursor = 0;

	if (exact != PHYSICAL_NONE)
		return exact;
	while ((mapping = live_table_next(&memory->mappings, &cursor)))
		if (address >= mapping->address && address - mapping->address < mapping->bytes)
			return mapping->sum;
	return PHYSICAL_NONE;
}

bool physical_memory_retain(struct physical_memory *memory, uint64_t handle, uint64_t address)
{
	uint32_t number = mapped_at(memory, address);

	if (number == PHYSICAL_NONE)
		number = number_of(&memory->handles, handle);
	return number != PHYSICAL_NONE && refer(memory, handle, number);
}

static void unmap_one(struct physical_memory *memory, uint32_t number)
{
	memory->blocks[number].mappings--;
	free_if_unused(memory, number);
}

bool physical_memory_map(struct physical_memory *memory, uint64_t address, uint64_t bytes,
                         uint64_t handle)
{
	const uint32_t number = number_of(&memory->handles, handle);
	const struct live_block mapping = { .address = address, .bytes = bytes, .sum = number };
	struct live_block before;

	if (number == PHYSICAL_NONE || bytes == 0)
		return false;
	memory->blocks[number].mappings++; /* first: it may be the one that was mapped there */
	if (live_table_take(&memory->mappings, address, &before))
		unmap_one(memory, before.sum);
	if (live_table_put(&memory->mappings, &mapping))
		return true;
	unmap_one(memory, number);
	return false;
}

static void note_unmapping(struct physical_memory *memory, uint32_t tid,
                           const struct live_block *mapping)
{
	if (memory->unmapping_count == memory->unmapping_capacity) {
		memory->unmapping_capacity =
			memory->unmapping_capacity ? memory->unmapping_capacity * 2 : FIRST_BLOCKS;
		memory->unmappings = mem_resize(memory->unmappings, memory->unmapping_capacity,
		                                sizeof(*memory->unmappings));
	}
	memory->unmappings[memory->unmapping_count++] =
		(struct physical_unmapping){ *mapping, tid };
}

/* All mappings that lie in the range, wherever they are in the table. */
static void take_range(struct physical_memory *memory, uint32_t tid, uint64_t start, uint64_t end)
{
	const size_t first = memory->unmapping_count;
	const struct live_block *mapping;
	struct live_block taken;
	size_t cursor = 0;

	while ((mapping = live_table_next(&memory->mappings, &cursor)))
		if (mapping->address >= start && mapping->address < end &&
		    mapping->bytes <= end - mapping->address)
			note_unmapping(memory, tid, mapping);
	for (size_t i = first; i < memory->unmapping_count; i++)
		(void)live_table_take(&memory->mappings, memory->unmappings[i].mapping.address,
		                      &taken);
}

/* One behind the other, as far as they lie side by side; returns where that ends. */
static uint64_t take_row(struct physical_memory *memory, uint32_t tid, uint64_t start, uint64_t end)
{
	struct live_block mapping;

	while (start < end && live_table_find(&memory->mappings, start, &mapping) &&
	       mapping.bytes <= end - start) {
		(void)live_table_take(&memory->mappings, start, &mapping);
		note_unmapping(memory, tid, &mapping);
		start += mapping.bytes;
	}
	return start;
}

void physical_memory_unmap(struct physical_memory *memory, uint32_t tid, uint64_t address,
                           uint64_t bytes)
{
	const uint64_t end = bytes < UINT64_MAX - address ? address + bytes : UINT64_MAX;
	uint64_t rest;

	physical_memory_unmapped(memory, tid, UNMAP_DONE); /* one whose end was not seen */
	rest = take_row(memory, tid, address, end);
	if (rest < end && memory->mappings.count > 0)
		take_range(memory, tid, rest, end);
}

static void map_again(struct physical_memory *memory, const struct live_block *mapping)
{
	struct live_block other;

	/* who was given the address meanwhile has it */
	if (live_table_find(&memory->mappings, mapping->address, &other) ||
	    !live_table_put(&memory->mappings, mapping))
		unmap_one(memory, mapping->sum);
}

void physical_memory_unmapped(struct physical_memory *memory, uint32_t tid,
                              enum unmap_outcome outcome)
{
	size_t kept = 0;

	for (size_t i = 0; i < memory->unmapping_count; i++) {
		const struct physical_unmapping unmapping = memory->unmappings[i];

		if (unmapping.tid != tid)
			memory->unmappings[kept++] = unmapping;
		else if (outcome == UNMAP_DONE)
			unmap_one(memory, unmapping.mapping.sum);
		else
			map_again(memory, &unmapping.mapping);
	}
	memory->unmapping_count = kept;
	if (kept > 0)
		return;
	free(memory->unmappings);
	memory->unmappings = NULL;
	memory->unmapping_capacity = 0;
}

/* ---- check ---- */

static size_t count_mappings(const struct physical_memory *memory, uint32_t number)
{
	const struct live_block *mapping;
	size_t cursor = 0;
	size_t count = 0;

	while ((mapping = live_table_next(&memory->mappings, &cursor)))
		count += mapping->sum == number;
	for (size_t i = 0; i < memory->unmapping_count; i++)
		count += memory->unmappings[i].mapping.sum == number;
	return count;
}

void physical_memory_check(const struct physical_memory *memory)
{
	size_t with_references = 0;

	live_table_check(&memory->handles);
	live_table_check(&memory->mappings);
	for (uint32_t i = 0; i < memory->count; i++) {
		const struct physical_block *block = &memory->blocks[i];

		assert(count_mappings(memory, i) == block->mappings);
		if (block->references == 0)
			continue;
		with_references++;
		assert(number_of(&memory->handles, block->handle) == i);
	}
	assert(with_references == memory->handles.count);
}
