#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collector/live/cuda_error.h"
#include "collector/live/gpu_account_parts.h"
#include "collector/live/stack_table.h"

#define ALL_DEVICES (-1)

void gpu_account_init(struct gpu_account *account, struct budget *budget)
{
	*account = (struct gpu_account){ 0 };
	memory_sums_init(&account->sums, budget);
	for (int i = 0; i < BLOCK_SPACES; i++)
		live_table_init(&account->blocks[i], budget);
	physical_memory_init(&account->physical, budget, account_physical_freed);
	device_handles_init(&account->handles, budget);
	account->sweep_slots = SWEEP_SLOTS_SAVED;
}

/* Nothing lives any more. */
static void forget_blocks(struct gpu_account *account)
{
	for (int i = 0; i < BLOCK_SPACES; i++)
		live_table_fini(&account->blocks[i]);
	physical_memory_fini(&account->physical);
	device_handles_fini(&account->handles);
	account->contexts = (struct device_contexts){ 0 };
	free(account->undoable);
	account->undoable = NULL;
}

void gpu_account_fini(struct gpu_account *account)
{
	account_forget_devices(account);
	memory_sums_fini(&account->sums);
	forget_blocks(account);
	free(account->failures);
	*account = (struct gpu_account){ 0 };
}

/* ---- what is lost ---- */

/* Frees without a block of ours: so many of the lost blocks, of average size, are gone. */
static void free_lost_blocks(struct gpu_account *account, enum cuda_class memory_class,
                             uint64_t count)
{
	struct class_books *books = &account->books[memory_class];
	const uint64_t blocks = count < books->lost_blocks ? count : books->lost_blocks;
	struct movement move = { memory_sums_at(&account->sums, memory_class), 0, blocks };

	if (blocks == 0)
		return;
	/* the last one takes the rest */
	move.bytes = blocks == books->lost_blocks ? books->lost_bytes
	                                          : books->lost_bytes / books->lost_blocks * blocks;
	books->lost_bytes -= move.bytes;
	books->lost_blocks -= blocks;
	account_lower(account, &move);
	account_count_freed(account, &move);
}

/* The same where the class of the blocks is not known: that of the function goes first. */
void account_free_lost(struct gpu_account *account, enum cuda_class memory_class, uint64_t count)
{
	for (int i = -1; i < CUDA_CLASS_COUNT && count > 0; i++) {
		const enum cuda_class from = i < 0 ? memory_class : (enum cuda_class)i;
		const uint64_t before = account->books[from].lost_blocks;

		free_lost_blocks(account, from, count);
		count -= before - account->books[from].lost_blocks;
	}
}

static void lose(struct gpu_account *account, enum cuda_class memory_class, uint64_t bytes,
                 uint64_t calls)
{
	struct class_books *books = &account->books[memory_class];
	const struct movement move = { memory_sums_at(&account->sums, memory_class), bytes, calls };

	account_allocate(account, &move);
	account->oddities.lost_calls += calls;
	account->oddities.unstacked_bytes += bytes;
	account->counted[memory_class].alloc_bytes += bytes;
	account->counted[memory_class].alloc_calls += calls;
	if (calls == 0) { /* bytes of no call: nothing to wait a free for */
		account_count_implicit(account, &move);
		return;
	}
	account_raise(account, &move, 0);
	books->lost_bytes += bytes;
	books->lost_blocks += calls;
}

/* What is missing now and was missing before: it does not come any more. */
static uint64_t settled(uint64_t before, uint64_t now)
{
	/* a difference is of numbers that wrap; a negative one is no loss */
	if ((int64_t)now <= 0 || (int64_t)before <= 0)
		return 0;
	return before < now ? before : now;
}

void gpu_account_reconcile(struct gpu_account *account, enum cuda_class memory_class,
                           const struct kernel_counters *counters, enum reconcile_moment moment)
{
	struct kernel_counters *counted = &account->counted[memory_class];
	struct kernel_counters *deficit = &account->deficit[memory_class];
	const struct kernel_counters missing = {
		.alloc_bytes = counters->alloc_bytes - counted->alloc_bytes,
		.alloc_calls = counters->alloc_calls - counted->alloc_calls,
		.free_calls = counters->free_calls - counted->free_calls,
		.failures = counters->failures - counted->failures,
	};
	const struct kernel_counters before = moment == RECONCILE_ENDED ? missing : *deficit;
	const uint64_t bytes = settled(before.alloc_bytes, missing.alloc_bytes);
	const uint64_t calls = settled(before.alloc_calls, missing.alloc_calls);
	const uint64_t frees = settled(before.free_calls, missing.free_calls);
	const uint64_t failures = settled(before.failures, missing.failures);

	*deficit = missing;
	if (bytes > 0 || calls > 0) {
		lose(account, memory_class, bytes, calls);
		deficit->alloc_bytes -= bytes;
		deficit->alloc_calls -= calls;
	}
	account_free_lost(account, memory_class, frees);
	counted->free_calls += frees;
	deficit->free_calls -= frees;
	account->oddities.failed_calls += failures;
	counted->failures += failures;
	deficit->failures -= failures;
}

void gpu_account_close(struct gpu_account *account)
{
	for (uint32_t i = 0; i < memory_sums_count(&account->sums); i++) {
		struct memory_sum *sum = memory_sums_at(&account->sums, i);
		const struct movement move = { sum, sum->live_bytes, sum->live_objects };

		if (sum->stack == STACK_EARLIER)
			continue;
		account_lower(account, &move);
		account_count_implicit(account, &move);
	}
	gpu_account_set_earlier(account, 0);
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		account->books[i].lost_bytes = 0;
		account->books[i].lost_blocks = 0;
	}
	forget_blocks(account);
}

/* ---- what it held before ---- */

void gpu_account_set_earlier(struct gpu_account *account, wide_sum bytes)
{
	struct memory_sum *sum;

	if (bytes == account->earlier_bytes)
		return;
	sum = memory_sums_at(
		&account->sums,
		memory_sums_find(&account->sums,
	                         &(struct memory_place){ STACK_EARLIER, CUDA_CLASS_DEVICE, 0 }));
	if (sum->stack != STACK_EARLIER)
		return;
	high_water_keep(&account->sums.high, sum);
	sum->live_bytes = bytes;
	sum->live_objects = bytes > 0;
	account->gpu_live_bytes += bytes - account->earlier_bytes;
	account->earlier_bytes = bytes;
	high_water_rise(&account->sums.high, account->gpu_live_bytes);
	if (account->gpu_live_bytes > account->gpu_peak_bytes)
		account->gpu_peak_bytes = account->gpu_live_bytes;
}

void gpu_account_watch_least(struct gpu_account *account)
{
	account->least_live_bytes = gpu_account_told_bytes(account);
}

/* ---- ticks ---- */

void gpu_account_sent(struct gpu_account *account)
{
	memory_sums_sent(&account->sums);
	account->failure_count = 0;
}

/* Where the sum of a block that is freed has gone, it would be live again as a lost one. */
static void renumber_undoable(struct gpu_account *account, const uint32_t *numbers)
{
	for (size_t i = 0; account->undoable && i < UNDOABLE_FREES; i++) {
		struct undoable_free *undoable = &account->undoable[i];

		if (undoable->address == 0 || undoable->sum == LIVE_BLOCK_NO_SUM)
			continue;
		undoable->sum = numbers[undoable->sum];
		if (undoable->sum == UINT32_MAX)
			undoable->sum = (uint32_t)undoable->memory_class;
	}
}

static void renumber_blocks(struct gpu_account *account, const uint32_t *numbers)
{
	struct physical_block *physical;
	struct live_block *block;
	size_t cursor;

	for (int i = 0; i < BLOCK_SPACES; i++) {
		cursor = 0;
		while ((block = live_table_next(&account->blocks[i], &cursor)))
			if (block->sum != LIVE_BLOCK_NO_SUM)
				block->sum = numbers[block->sum];
	}
	cursor = 0;
	while ((physical = physical_memory_next(&account->physical, &cursor)))
		if (physical->sum != LIVE_BLOCK_NO_SUM)
			physical->sum = numbers[physical->sum];
}

void gpu_account_rebuild(struct gpu_account *account, const uint32_t *stack_numbers)
{
	uint32_t *numbers;

	assert(!stack_numbers || account->failure_count == 0);
	memory_sums_rebuild(&account->sums, stack_numbers, &numbers);
	if (!numbers)
		return;
	renumber_blocks(account, numbers);
	renumber_undoable(account, numbers);
	free(numbers);
}

/* Blocks of the tables, as `lost` ones of `seen`. */
static void count_block(const struct gpu_account *account, uint32_t number, uint64_t bytes,
                        struct class_books *seen)
{
	const struct memory_sum *sum;

	if (number == LIVE_BLOCK_NO_SUM)
		return;
	sum = memory_sums_at(&account->sums, number);
	seen[sum->memory_class].lost_bytes += bytes;
	seen[sum->memory_class].lost_blocks++;
}

static void count_blocks(const struct gpu_account *account, struct class_books *seen)
{
	const struct physical_block *physical;
	const struct live_block *block;
	size_t cursor;

	for (int i = 0; i < BLOCK_SPACES; i++) {
		live_table_check(&account->blocks[i]);
		cursor = 0;
		while ((block = live_table_next(&account->blocks[i], &cursor)))
			count_block(account, block->sum, block->bytes, seen);
	}
	physical_memory_check(&account->physical);
	cursor = 0;
	while ((physical = physical_memory_next(&account->physical, &cursor)))
		count_block(account, physical->sum, physical->bytes, seen);
}

/* What the sums hold, by class; of one device (0: of none that is known), or of all. */
static void count_sums(const struct gpu_account *account, int device, struct class_books *seen)
{
	for (uint32_t i = 0; i < memory_sums_count(&account->sums); i++) {
		const struct memory_sum *sum = memory_sums_at(&account->sums, i);

		if ((device != ALL_DEVICES && sum->device != device) || sum->stack == STACK_EARLIER)
			continue;
		seen[sum->memory_class].live_bytes += sum->live_bytes;
		seen[sum->memory_class].live_blocks += sum->live_objects;
	}
}

/* The equation, and that live is what the sums hold. */
static void check_books(const struct class_books *books, const struct class_books *seen)
{
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		assert(books[i].alloc_bytes ==
		       books[i].free_bytes + books[i].implicit_bytes + books[i].live_bytes);
		assert(books[i].alloc_calls ==
		       books[i].free_calls + books[i].implicit_calls + books[i].live_blocks);
		assert(books[i].live_bytes == seen[i].live_bytes);
		assert(books[i].live_blocks == seen[i].live_blocks);
	}
}

static void check_devices(const struct gpu_account *account)
{
	for (int i = 0; i < DEVICES_MAX; i++) {
		struct class_books seen[CUDA_CLASS_COUNT] = { 0 };

		count_sums(account, i + 1, seen);
		if (account->ledgers[i])
			check_books(account->ledgers[i]->books, seen);
		assert(!account->ledgers[i] || i < account->device_count);
		for (int j = 0; j < CUDA_CLASS_COUNT && !account->ledgers[i]; j++)
			assert(seen[j].live_blocks == 0);
	}
}

void gpu_account_check(const struct gpu_account *account)
{
	struct class_books seen[CUDA_CLASS_COUNT] = { 0 };
	wide_sum high = 0;

	memory_sums_check(&account->sums);
	count_blocks(account, seen);
	assert(account->least_live_bytes <= gpu_account_told_bytes(account));
	count_sums(account, ALL_DEVICES, seen);
	check_books(account->books, seen);
	check_devices(account);
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		const struct class_books *books = &account->books[i];

		assert(books->live_bytes == seen[i].lost_bytes + books->lost_bytes);
		assert(books->live_blocks == seen[i].lost_blocks + books->lost_blocks);
	}
	for (uint32_t i = 0; i < memory_sums_count(&account->sums); i++) {
		const struct memory_sum *sum = memory_sums_at(&account->sums, i);

		high += high_water_of(&account->sums.high, sum);
		assert(sum->stack != STACK_EARLIER || sum->live_bytes == account->earlier_bytes);
	}
	assert(high == account->sums.high.bytes);
}
