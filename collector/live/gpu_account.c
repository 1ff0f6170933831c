#include "collector/live/gpu_account.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collector/live/cuda_error.h"
#include "collector/live/stack_table.h"

bool cuda_class_is_gpu(enum cuda_class memory_class)
{
	static const bool is_gpu[CUDA_CLASS_COUNT] = {
		[CUDA_CLASS_DEVICE] = true, [CUDA_CLASS_MANAGED] = true, [CUDA_CLASS_VMM] = true,
		[CUDA_CLASS_POOL] = true,   [CUDA_CLASS_ARRAY] = true,
	};

	return is_gpu[memory_class];
}

void gpu_account_init(struct gpu_account *account, struct budget *budget)
{
	*account = (struct gpu_account){ 0 };
	memory_sums_init(&account->sums, budget);
	live_table_init(&account->blocks, budget);
}

void gpu_account_fini(struct gpu_account *account)
{
	memory_sums_fini(&account->sums);
	live_table_fini(&account->blocks);
	free(account->failures);
	free(account->undoable);
	*account = (struct gpu_account){ 0 };
}

/* ---- the four movements: everything below is made of them ---- */

/* What is booked as one: bytes of some blocks in one sum. */
struct movement {
	struct memory_sum *sum;
	wide_sum bytes;
	uint64_t blocks;
};

static void allocate(struct gpu_account *account, const struct movement *move)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	move->sum->alloc_bytes += move->bytes;
	move->sum->alloc_objects += move->blocks;
	books->alloc_bytes += move->bytes;
	books->alloc_calls += move->blocks;
}

static void raise_live(struct gpu_account *account, const struct movement *move, uint64_t time_ns)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	high_water_keep(&account->sums.high, move->sum);
	move->sum->live_bytes += move->bytes;
	move->sum->live_objects += move->blocks;
	books->live_bytes += move->bytes;
	books->live_blocks += move->blocks;
	if (!cuda_class_is_gpu(move->sum->memory_class))
		return;
	account->gpu_live_bytes += move->bytes;
	high_water_rise(&account->sums.high, account->gpu_live_bytes);
	if (account->gpu_live_bytes > account->gpu_peak_bytes) {
		account->gpu_peak_bytes = account->gpu_live_bytes;
		account->peak_time_ns = time_ns > 0 ? time_ns : account->peak_time_ns;
	}
}

static void lower_live(struct gpu_account *account, const struct movement *move)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	high_water_keep(&account->sums.high, move->sum);
	move->sum->live_bytes -= move->bytes;
	move->sum->live_objects -= move->blocks;
	books->live_bytes -= move->bytes;
	books->live_blocks -= move->blocks;
	if (cuda_class_is_gpu(move->sum->memory_class))
		account->gpu_live_bytes -= move->bytes;
}

static void count_freed(struct gpu_account *account, const struct movement *move)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	books->free_bytes += move->bytes;
	books->free_calls += move->blocks;
}

static void count_implicit(struct gpu_account *account, const struct movement *move)
{
	struct class_books *books = &account->books[move->sum->memory_class];

	books->implicit_bytes += move->bytes;
	books->implicit_calls += move->blocks;
}

static struct movement movement_of(const struct gpu_account *account,
                                   const struct live_block *block)
{
	return (struct movement){ memory_sums_at(&account->sums, block->sum), block->bytes, 1 };
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
	lower_live(account, &move);
	count_freed(account, &move);
}

/* The same where the class of the blocks is not known: that of the function goes first. */
static void free_lost(struct gpu_account *account, enum cuda_class memory_class, uint64_t count)
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

	allocate(account, &move);
	account->oddities.lost_calls += calls;
	account->oddities.unstacked_bytes += bytes;
	account->counted[memory_class].alloc_bytes += bytes;
	account->counted[memory_class].alloc_calls += calls;
	if (calls == 0) { /* bytes of no call: nothing to wait a free for */
		count_implicit(account, &move);
		return;
	}
	raise_live(account, &move, 0);
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
	free_lost(account, memory_class, frees);
	counted->free_calls += frees;
	deficit->free_calls -= frees;
	account->oddities.failed_calls += failures;
	counted->failures += failures;
	deficit->failures -= failures;
}

/* ---- events ---- */

static void book_alloc(struct gpu_account *account, const struct cuda_event *event, uint32_t stack)
{
	const enum cuda_class memory_class = cuda_function(event->function)->memory_class;
	const uint64_t bytes = event->bytes < INT64_MAX ? event->bytes : INT64_MAX;
	const uint32_t number = memory_sums_find(&account->sums, stack, memory_class);
	const struct movement move = { memory_sums_at(&account->sums, number), bytes, 1 };
	struct live_block missed;

	account->counted[memory_class].alloc_bytes += event->bytes;
	account->counted[memory_class].alloc_calls++;
	if (stack <= CUDA_FUNCTION_COUNT)
		account->oddities.unstacked_bytes += bytes;
	allocate(account, &move);
	if (event->flags & CUDA_EVENT_NO_ADDRESS) {
		account->oddities.untracked_calls++;
		count_implicit(account, &move);
		return;
	}
	if (live_table_take(&account->blocks, event->address, &missed)) {
		const struct movement gone = movement_of(account, &missed);

		account->oddities.missed_frees++;
		lower_live(account, &gone);
		count_freed(account, &gone);
	}
	if (!live_table_put(&account->blocks, event->address, bytes, number)) {
		account->oddities.untracked_calls++;
		count_implicit(account, &move);
		return;
	}
	raise_live(account, &move, event->time_ns);
}

/* Where the last free of a thread is kept; threads may share a place. */
static struct undoable_free *undoable_of(struct gpu_account *account, uint32_t tid)
{
	if (!account->undoable)
		account->undoable = mem_zalloc(UNDOABLE_FREES, sizeof(*account->undoable));
	return &account->undoable[tid % UNDOABLE_FREES];
}

static void book_free(struct gpu_account *account, const struct cuda_event *event)
{
	const enum cuda_class memory_class = cuda_function(event->function)->memory_class;
	struct live_block block;
	struct movement move;

	account->counted[memory_class].free_calls++;
	if (event->address == 0) /* the driver ignores it */
		return;
	if (!live_table_take(&account->blocks, event->address, &block)) {
		account->oddities.unknown_frees++;
		free_lost(account, memory_class, 1);
		return;
	}
	move = movement_of(account, &block);
	lower_live(account, &move);
	count_freed(account, &move);
	*undoable_of(account, event->tid) = (struct undoable_free){
		.tid = event->tid,
		.sum = block.sum,
		.memory_class = move.sum->memory_class,
		.address = block.address,
		.bytes = block.bytes,
	};
}

static struct failure_sum *failure_of(struct gpu_account *account, const struct failure_sum *key)
{
	struct failure_sum *found = NULL;

	for (size_t i = 0; i < account->failure_count && !found; i++) {
		struct failure_sum *sum = &account->failures[i];

		if (sum->stack == key->stack && sum->memory_class == key->memory_class &&
		    sum->result == key->result)
			found = sum;
	}
	if (found)
		return found;
	if (account->failure_count == account->failure_capacity) {
		account->failure_capacity =
			account->failure_capacity ? account->failure_capacity * 2 : 8;
		account->failures = mem_resize(account->failures, account->failure_capacity,
		                               sizeof(*account->failures));
	}
	account->failures[account->failure_count] = *key;
	return &account->failures[account->failure_count++];
}

static void book_failure(struct gpu_account *account, const struct cuda_event *event,
                         uint32_t stack)
{
	const struct cuda_function *function = cuda_function(event->function);
	struct failure_sum key = {
		.stack = account->failure_count < FAILURES_MAX ? stack
		                                               : stack_lost(event->function),
		.memory_class = function->memory_class,
		.result = event->result,
	};
	struct failure_sum *sum;

	if (account->failure_count >= 2 * FAILURES_MAX) /* results that nobody knows */
		key.result = CUDA_ERROR_UNKNOWN;
	sum = failure_of(account, &key);
	sum->failures++;
	if (function->role == CUDA_ROLE_ALLOC && event->result == CUDA_ERROR_OUT_OF_MEMORY)
		sum->requested_bytes += event->bytes < INT64_MAX ? event->bytes : INT64_MAX;
	account->oddities.failed_calls++;
	account->counted[function->memory_class].failures++;
}

static void book_undone(struct gpu_account *account, const struct cuda_event *event)
{
	struct undoable_free *undoable = undoable_of(account, event->tid);
	struct movement move;

	book_failure(account, event, stack_lost(event->function));
	if (undoable->tid != event->tid || undoable->address != event->address ||
	    undoable->address == 0)
		return;
	move = (struct movement){ memory_sums_at(&account->sums, undoable->sum), undoable->bytes,
		                  1 };
	if (live_table_has(&account->blocks, undoable->address))
		return; /* given out again: the free was a good one */
	if (!live_table_put(&account->blocks, undoable->address, undoable->bytes, undoable->sum)) {
		account->oddities.untracked_calls++;
		return; /* no room: it stays freed */
	}
	account->books[move.sum->memory_class].free_bytes -= move.bytes;
	account->books[move.sum->memory_class].free_calls--;
	raise_live(account, &move, event->time_ns);
	*undoable = (struct undoable_free){ 0 };
}

void gpu_account_book(struct gpu_account *account, const struct cuda_event *event, uint32_t stack)
{
	switch (event->kind) {
	case CUDA_EVENT_ALLOC:
		book_alloc(account, event, stack);
		break;
	case CUDA_EVENT_FREE:
		book_free(account, event);
		break;
	case CUDA_EVENT_FREE_UNDONE:
		book_undone(account, event);
		break;
	case CUDA_EVENT_FAILED:
		book_failure(account, event, stack);
		break;
	default:
		break;
	}
}

void gpu_account_close(struct gpu_account *account)
{
	for (uint32_t i = 0; i < memory_sums_count(&account->sums); i++) {
		struct memory_sum *sum = memory_sums_at(&account->sums, i);
		const struct movement move = { sum, sum->live_bytes, sum->live_objects };

		lower_live(account, &move);
		count_implicit(account, &move);
	}
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		account->books[i].lost_bytes = 0;
		account->books[i].lost_blocks = 0;
	}
	live_table_fini(&account->blocks);
	free(account->undoable);
	account->undoable = NULL;
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

		if (undoable->address == 0)
			continue;
		undoable->sum = numbers[undoable->sum];
		if (undoable->sum == UINT32_MAX)
			undoable->sum = (uint32_t)undoable->memory_class;
	}
}

void gpu_account_rebuild(struct gpu_account *account, const uint32_t *stack_numbers)
{
	uint32_t *numbers;
	struct live_block *block;
	size_t cursor = 0;

	assert(!stack_numbers || account->failure_count == 0);
	memory_sums_rebuild(&account->sums, stack_numbers, &numbers);
	if (!numbers)
		return;
	while ((block = live_table_next(&account->blocks, &cursor)))
		block->sum = numbers[block->sum];
	renumber_undoable(account, numbers);
	free(numbers);
}

void gpu_account_check(const struct gpu_account *account)
{
	struct class_books seen[CUDA_CLASS_COUNT] = { 0 };
	const struct live_block *block;
	size_t cursor = 0;
	wide_sum high = 0;

	memory_sums_check(&account->sums);
	live_table_check(&account->blocks);
	while ((block = live_table_next(&account->blocks, &cursor))) {
		const struct memory_sum *sum = memory_sums_at(&account->sums, block->sum);

		seen[sum->memory_class].lost_bytes += block->bytes; /* here: of the table */
		seen[sum->memory_class].lost_blocks++;
	}
	for (uint32_t i = 0; i < memory_sums_count(&account->sums); i++) {
		const struct memory_sum *sum = memory_sums_at(&account->sums, i);

		seen[sum->memory_class].live_bytes += sum->live_bytes;
		seen[sum->memory_class].live_blocks += sum->live_objects;
		high += high_water_of(&account->sums.high, sum);
	}
	assert(high == account->sums.high.bytes);
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		const struct class_books *books = &account->books[i];

		assert(books->alloc_bytes ==
		       books->free_bytes + books->implicit_bytes + books->live_bytes);
		assert(books->alloc_calls ==
		       books->free_calls + books->implicit_calls + books->live_blocks);
		assert(books->live_bytes == seen[i].live_bytes);
		assert(books->live_blocks == seen[i].live_blocks);
		assert(books->live_bytes == seen[i].lost_bytes + books->lost_bytes);
		assert(books->live_blocks == seen[i].lost_blocks + books->lost_blocks);
	}
}
