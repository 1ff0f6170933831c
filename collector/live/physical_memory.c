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
	range_tree_init(&memory->mappings, budget);
}

void physical_memory_fini(struct physical_memory *memory)
{
	live_table_fini(&memory->handles);
	range_tree_fini(&memory->mappings);
	budget_give(memory->budget, memory->capacity * sizeof(*memory->blocks));
	free(memory->blocks);
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

static uint32_t number_of(const struct physical_memory *memory, uint64_t handle)
{
	struct live_block found;

	return live_table_find(&memory->handles, handle, &found) ? found.sum : PHYSICAL_NONE;
}

struct physical_block *physical_memory_find(const struct physical_memory *memory, uint64_t handle)
{
	const uint32_t number = number_of(memory, handle);

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
	const struct address_range *mapping = range_tree_find(&memory->mappings, address);

	return mapping && mapping->start <= address ? mapping->number : PHYSICAL_NONE;
}

bool physical_memory_retain(struct physical_memory *memory, uint64_t handle, uint64_t address)
{
	uint32_t number = mapped_at(memory, address);

	if (number == PHYSICAL_NONE)
		number = number_of(memory, handle);
	return number != PHYSICAL_NONE && refer(memory, handle, number);
}

static void drop_mapping(struct physical_memory *memory, uint32_t number)
{
	memory->blocks[number].mappings--;
	free_if_unused(memory, number);
}

static void unmap_one(struct physical_memory *memory, uint64_t start)
{
	struct address_range gone;

	if (range_tree_take(&memory->mappings, start, &gone))
		drop_mapping(memory, gone.number);
}

bool physical_memory_map(struct physical_memory *memory, uint64_t address, uint64_t bytes,
                         uint64_t handle)
{
	const struct address_range mapping = { .start = address,
		                               .bytes = range_bytes(address, bytes),
		                               .made = ++memory->map_count,
		                               .number = number_of(memory, handle) };
	const struct address_range *before;

	if (mapping.number == PHYSICAL_NONE || mapping.bytes == 0)
		return false;
	memory->blocks[mapping.number].mappings++; /* first: it may be the one that lay there */
	while ((before = range_tree_find(&memory->mappings, address)) &&
	       before->start < address + mapping.bytes)
		unmap_one(memory, before->start);
	if (range_tree_put(&memory->mappings, &mapping))
		return true;
	drop_mapping(memory, mapping.number);
	return false;
}

/*
 * Takes what lies in the range and was there before; false: so much was made there meanwhile
 * that the rest was not looked at.
 */
static bool unmap_range(struct physical_memory *memory, const struct physical_unmapping *of)
{
	const struct address_range *mapping;
	uint64_t at = of->start;
	size_t newer = 0;

	while ((mapping = range_tree_find(&memory->mappings, at)) && mapping->start < of->end) {
		const uint64_t start = mapping->start;

		at = start + mapping->bytes;
		if (at > of->end)
			break;
		if (mapping->made > of->begun && ++newer > UNMAPPING_NEWER_MAX)
			return false;
		if (start >= of->start && mapping->made <= of->begun)
			unmap_one(memory, start);
	}
	return true;
}

static struct physical_unmapping *unmapping_of(struct physical_memory *memory, uint32_t tid)
{
	return &memory->unmappings[tid % UNMAPPINGS_MAX];
}

bool physical_memory_unmap(struct physical_memory *memory, uint32_t tid, uint64_t address,
                           uint64_t bytes)
{
	struct physical_unmapping *unmapping = unmapping_of(memory, tid);
	const struct physical_unmapping before = *unmapping;

	*unmapping = (struct physical_unmapping){ .start = address,
		                                  .end = address + range_bytes(address, bytes),
		                                  .begun = memory->map_count,
		                                  .tid = tid };
	return unmap_range(memory, &before);
}

bool physical_memory_unmapped(struct physical_memory *memory, uint32_t tid,
                              enum unmap_outcome outcome)
{
	struct physical_unmapping *unmapping = unmapping_of(memory, tid);
	const struct physical_unmapping ended = *unmapping;

	if (ended.tid != tid)
		return outcome == UNMAP_DONE; /* another thread took its place: it was done */
	*unmapping = (struct physical_unmapping){ 0 };
	return outcome == UNMAP_FAILED || unmap_range(memory, &ended);
}

/* ---- check ---- */

static void check_mappings(const struct physical_memory *memory)
{
	uint32_t *counts = mem_zalloc((size_t)memory->count + 1, sizeof(*counts));
	const struct address_range *mapping;
	uint64_t at = 0;

	range_tree_check(&memory->mappings);
	while ((mapping = range_tree_find(&memory->mappings, at))) {
		assert(mapping->number < memory->count);
		counts[mapping->number]++;
		at = mapping->start + mapping->bytes;
	}
	for (uint32_t i = 0; i < memory->count; i++)
		assert(memory->blocks[i].mappings == counts[i]);
	free(counts);
}

void physical_memory_check(const struct physical_memory *memory)
{
	size_t with_references = 0;

	live_table_check(&memory->handles);
	check_mappings(memory);
	for (uint32_t i = 0; i < memory->count; i++) {
		const struct physical_block *block = &memory->blocks[i];

		if (block->references == 0)
			continue;
		with_references++;
		assert(number_of(memory, block->handle) == i);
	}
	assert(with_references == memory->handles.count);
}
