#include <stdlib.h>

#include "base/mem.h"
#include "collector/live/cuda_error.h"
#include "collector/live/gpu_account_parts.h"
#include "collector/live/stack_table.h"

enum cuda_class gpu_account_class_of(const struct cuda_event *event)
{
	return event->flags & CUDA_EVENT_ON_HOST ? CUDA_CLASS_PINNED
	                                         : cuda_function(event->function)->memory_class;
}

/* ---- allocations ---- */

/* Whoever is known at that address was freed unseen. */
static void replace_block(struct gpu_account *account, enum cuda_space space, uint64_t address)
{
	struct live_block missed;
	struct movement gone;

	if (!live_table_take(&account->blocks[space], address, &missed) ||
	    missed.sum == LIVE_BLOCK_NO_SUM)
		return;
	gone = account_movement_of(account, &missed);
	account->oddities.missed_frees++;
	account_lower(account, &gone);
	account_count_freed(account, &gone);
}

static bool put_block(struct gpu_account *account, const struct cuda_event *event, uint64_t bytes,
                      uint32_t sum)
{
	const enum cuda_space space = cuda_function(event->function)->space;
	const struct live_block block = {
		.address = event->address,
		.bytes = bytes,
		.sum = sum,
		.context = device_contexts_current(&account->contexts, event).number,
	};

	if (space == CUDA_SPACE_HANDLE)
		return account_create_handle(account, event, sum);
	replace_block(account, space, event->address);
	return live_table_put(&account->blocks[space], &block);
}

static void book_alloc(struct gpu_account *account, const struct cuda_event *event, uint32_t stack)
{
	const enum cuda_class memory_class = gpu_account_class_of(event);
	const uint64_t bytes = event->bytes < INT64_MAX ? event->bytes : INT64_MAX;
	const uint32_t number = memory_sums_find(
		&account->sums, &(struct memory_place){ stack, memory_class,
	                                                gpu_account_device_of(account, event) });
	const struct movement move = { memory_sums_at(&account->sums, number), bytes, 1 };

	account->counted[memory_class].alloc_bytes += event->bytes;
	account->counted[memory_class].alloc_calls++;
	if (stack <= CUDA_FUNCTION_COUNT)
		account->oddities.unstacked_bytes += bytes;
	account_allocate(account, &move);
	if (memory_class == CUDA_CLASS_GRAPH) { /* its address may be freed, nothing is live */
		(void)put_block(account, event, 0, LIVE_BLOCK_NO_SUM);
		account_count_implicit(account, &move);
	} else if ((event->flags & CUDA_EVENT_NO_ADDRESS) ||
	           !put_block(account, event, bytes, number)) {
		account->oddities.untracked_calls++;
		account_count_implicit(account, &move);
	} else {
		account_raise(account, &move, event->time_ns);
	}
}

/* ---- frees ---- */

struct undoable_free *account_undoable(struct gpu_account *account, uint32_t tid)
{
	if (!account->undoable)
		account->undoable = mem_zalloc(UNDOABLE_FREES, sizeof(*account->undoable));
	return &account->undoable[tid % UNDOABLE_FREES];
}

static void free_block(struct gpu_account *account, const struct cuda_event *event)
{
	const struct cuda_function *function = cuda_function(event->function);
	struct undoable_free undoable = { .tid = event->tid,
		                          .space = function->space,
		                          .memory_class = function->memory_class };
	struct live_block block;
	struct movement move;

	if (!live_table_take(&account->blocks[function->space], event->address, &block)) {
		account->oddities.unknown_frees++;
		account_free_lost(account, function->memory_class, 1);
		return;
	}
	if (block.sum != LIVE_BLOCK_NO_SUM) {
		move = account_movement_of(account, &block);
		account_lower(account, &move);
		account_count_freed(account, &move);
		undoable.memory_class = move.sum->memory_class;
	}
	undoable.sum = block.sum;
	undoable.context = block.context;
	undoable.address = block.address;
	undoable.bytes = block.bytes;
	*account_undoable(account, event->tid) = undoable;
}

static void book_free(struct gpu_account *account, const struct cuda_event *event)
{
	const struct cuda_function *function = cuda_function(event->function);

	account->counted[function->memory_class].free_calls++;
	if (event->address == 0) /* the driver ignores it */
		return;
	if (function->space == CUDA_SPACE_HANDLE)
		account_release_handle(account, event);
	else
		free_block(account, event);
}

/* The block is live again, unless its address was given out: then the free was a good one. */
static void undo_free(struct gpu_account *account, const struct cuda_event *event,
                      const struct undoable_free *undoable)
{
	struct live_table *blocks = &account->blocks[undoable->space];
	const struct live_block block = { .address = undoable->address,
		                          .bytes = undoable->bytes,
		                          .sum = undoable->sum,
		                          .context = undoable->context };
	struct live_block other;
	struct movement move;

	if (live_table_find(blocks, block.address, &other))
		return;
	if (!live_table_put(blocks, &block)) {
		account->oddities.untracked_calls++;
		return; /* no room: it stays freed */
	}
	if (block.sum == LIVE_BLOCK_NO_SUM)
		return;
	move = account_movement_of(account, &block);
	account_return(account, &move, event->time_ns);
}

static void book_undone(struct gpu_account *account, const struct cuda_event *event)
{
	const struct undoable_free undoable = *account_undoable(account, event->tid);

	account_book_failure(account, event, stack_lost(event->function));
	if (undoable.tid != event->tid || undoable.address != event->address ||
	    undoable.space != cuda_function(event->function)->space || undoable.address == 0)
		return;
	*account_undoable(account, event->tid) = (struct undoable_free){ 0 };
	if (undoable.space == CUDA_SPACE_HANDLE)
		account_undo_release(account, event, &undoable);
	else
		undo_free(account, event, &undoable);
}

/* ---- failures ---- */

static struct failure_sum *failure_of(struct gpu_account *account, const struct failure_sum *key)
{
	struct failure_sum *found = NULL;

	for (size_t i = 0; i < account->failure_count && !found; i++) {
		struct failure_sum *sum = &account->failures[i];

		if (sum->stack == key->stack && sum->memory_class == key->memory_class &&
		    sum->device == key->device && sum->result == key->result)
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

/* Whether a failed call would have given memory. */
static bool wants_memory(const struct cuda_event *event)
{
	const enum cuda_role role = cuda_function(event->function)->role;

	return role == CUDA_ROLE_ALLOC || role == CUDA_ROLE_REGISTER;
}

void account_book_failure(struct gpu_account *account, const struct cuda_event *event,
                          uint32_t stack)
{
	const enum cuda_class memory_class = gpu_account_class_of(event);
	struct failure_sum key = {
		.stack = account->failure_count < FAILURES_MAX ? stack
		                                               : stack_lost(event->function),
		.memory_class = memory_class,
		.device = wants_memory(event) ? gpu_account_device_of(account, event) : 0,
		.result = event->result,
	};
	struct failure_sum *sum;

	if (account->failure_count >= 2 * FAILURES_MAX) { /* results that nobody knows */
		key.result = CUDA_ERROR_UNKNOWN;
		key.device = 0;
	}
	sum = failure_of(account, &key);
	sum->failures++;
	if (wants_memory(event) && event->result == CUDA_ERROR_OUT_OF_MEMORY)
		sum->requested_bytes += event->bytes < INT64_MAX ? event->bytes : INT64_MAX;
	account->oddities.failed_calls++;
	account->counted[memory_class].failures++;
}

/* ---- all ---- */

static void book_done(struct gpu_account *account, const struct cuda_event *event)
{
	const struct cuda_function *function = cuda_function(event->function);

	if (event->flags & CUDA_EVENT_NO_ADDRESS)
		return;
	if (function->space == CUDA_SPACE_HANDLE)
		account_book_handle(account, event);
	else if (function->role == CUDA_ROLE_IMPORT)
		(void)put_block(account, event, 0, LIVE_BLOCK_NO_SUM);
	else
		account_book_context(account, event);
}

void gpu_account_book(struct gpu_account *account, const struct cuda_event *event, uint32_t stack)
{
	if (account->sweep_slots < SWEEP_SLOTS_SAVED)
		account->sweep_slots += SWEEP_SLOTS_EVENT;
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
		account_book_failure(account, event, stack);
		break;
	case CUDA_EVENT_DONE:
		book_done(account, event);
		break;
	case CUDA_EVENT_UNMAP:
	case CUDA_EVENT_UNMAPPED:
		account_book_handle(account, event);
		break;
	default:
		break;
	}
}
