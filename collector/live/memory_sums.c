#include "collector/live/memory_sums.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collector/live/stack_table.h"

#define FIRST_CAPACITY 16
#define ID_BYTES       48 /* of one entry in ids, while its tables have doubled */
#define SHRINK_MIN     256

_Static_assert(FIRST_CAPACITY >= CUDA_CLASS_COUNT, "the sums of lost stacks always fit");

static struct hash128 key_of(const struct memory_place *place)
{
	const uint32_t words[] = { place->stack, (uint32_t)place->memory_class, place->device };

	return hash128(0, words, sizeof(words)); /* the numbers are ours: no key is needed */
}

static size_t bytes_of(size_t capacity)
{
	return capacity * (sizeof(struct memory_sum) + ID_BYTES);
}

static void append(struct memory_sums *sums, const struct memory_place *place)
{
	bool is_new;
	const uint32_t id = id_map_add(&sums->ids, key_of(place), &is_new);

	assert(is_new && id < sums->capacity);
	sums->sums[id] = (struct memory_sum){ .stack = place->stack,
		                              .memory_class = place->memory_class,
		                              .device = place->device };
}

void memory_sums_init(struct memory_sums *sums, struct budget *budget)
{
	/* the first ones are not asked for: every process has them */
	*sums = (struct memory_sums){ .budget = budget, .capacity = FIRST_CAPACITY };
	high_water_begin(&sums->high, 0, 0); /* of which no sum has kept anything */
	sums->sums = mem_zalloc(FIRST_CAPACITY, sizeof(*sums->sums));
	for (int i = 0; i < CUDA_CLASS_COUNT; i++)
		append(sums, &(struct memory_place){ STACK_LOST, (enum cuda_class)i, 0 });
}

static void give_back(const struct memory_sums *sums)
{
	if (sums->capacity > FIRST_CAPACITY)
		budget_give(sums->budget, bytes_of(sums->capacity));
}

void memory_sums_fini(struct memory_sums *sums)
{
	give_back(sums);
	free(sums->sums);
	id_map_fini(&sums->ids);
	*sums = (struct memory_sums){ 0 };
}

static bool grow(struct memory_sums *sums)
{
	const size_t capacity = sums->capacity * 2;

	if (!budget_take(sums->budget, bytes_of(capacity)))
		return false;
	give_back(sums);
	sums->sums = mem_resize(sums->sums, capacity, sizeof(*sums->sums));
	sums->capacity = capacity;
	return true;
}

uint32_t memory_sums_find(struct memory_sums *sums, const struct memory_place *place)
{
	const uint32_t id = id_map_find(&sums->ids, key_of(place));

	if (id != ID_MAP_NONE)
		return id;
	if (sums->ids.count == sums->capacity && !grow(sums))
		return (uint32_t)place->memory_class; /* that of STACK_LOST */
	append(sums, place);
	return sums->ids.count - 1;
}

void memory_sums_sent(struct memory_sums *sums)
{
	for (uint32_t i = 0; i < sums->ids.count; i++) {
		sums->sums[i].alloc_bytes = 0;
		sums->sums[i].alloc_objects = 0;
	}
}

static bool is_needed(const struct memory_sums *sums, uint32_t number)
{
	const struct memory_sum *sum = &sums->sums[number];

	return number < CUDA_CLASS_COUNT || sum->live_objects > 0 || sum->alloc_objects > 0 ||
	       high_water_of(&sums->high, sum) > 0;
}

/* The least capacity for `count` sums, which is no larger than the one there was. */
static size_t capacity_for(size_t count)
{
	size_t capacity = FIRST_CAPACITY;

	while (capacity < count)
		capacity *= 2;
	return capacity;
}

/* Into new memory, so that the old numbers can be told; the budget only gets back. */
static void rebuild(struct memory_sums *sums, size_t needed, const uint32_t *stack_numbers,
                    uint32_t *numbers)
{
	struct memory_sums old = *sums;

	*sums = (struct memory_sums){ .budget = old.budget,
		                      .capacity = capacity_for(needed),
		                      .high = old.high };
	sums->sums = mem_zalloc(sums->capacity, sizeof(*sums->sums));
	give_back(&old);
	if (sums->capacity > FIRST_CAPACITY) {
		const bool fits = budget_take(sums->budget, bytes_of(sums->capacity));

		assert(fits); /* one thread: it was given back just now */
		(void)fits;
	}
	for (uint32_t i = 0; i < old.ids.count; i++) {
		struct memory_sum sum = old.sums[i];

		numbers[i] = UINT32_MAX;
		if (!is_needed(&old, i))
			continue;
		sum.stack = stack_numbers ? stack_numbers[sum.stack] : sum.stack;
		append(sums, &(struct memory_place){ sum.stack, sum.memory_class, sum.device });
		numbers[i] = sums->ids.count - 1;
		sums->sums[numbers[i]] = sum;
	}
	free(old.sums);
	id_map_fini(&old.ids);
}

void memory_sums_rebuild(struct memory_sums *sums, const uint32_t *stack_numbers,
                         uint32_t **out_numbers)
{
	size_t needed = 0;

	*out_numbers = NULL;
	for (uint32_t i = 0; i < sums->ids.count; i++)
		needed += is_needed(sums, i);
	if (!stack_numbers && (sums->ids.count < SHRINK_MIN || needed * 2 >= sums->ids.count))
		return;
	*out_numbers = mem_zalloc(sums->ids.count, sizeof(**out_numbers));
	rebuild(sums, needed, stack_numbers, *out_numbers);
}

void memory_sums_check(const struct memory_sums *sums)
{
	id_map_check(&sums->ids);
	for (uint32_t i = 0; i < sums->ids.count; i++) {
		const struct memory_sum *sum = &sums->sums[i];
		const struct memory_place place = { sum->stack, sum->memory_class, sum->device };

		assert(id_map_find(&sums->ids, key_of(&place)) == i);
		assert(sum->live_objects > 0 || sum->live_bytes == 0);
		assert(i >= CUDA_CLASS_COUNT || (sum->stack == STACK_LOST && sum->device == 0));
	}
}
