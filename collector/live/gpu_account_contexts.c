/*
 * What is told of contexts and devices. The end of a context in the books: what was allocated
 * in it is implicitly freed. Physical memory is of no context, and memory of the host ends with
 * the last one.
 */
#include "collector/live/gpu_account_parts.h"

struct ending {
	const struct gpu_account *account;
	struct context_end end;
};

static bool ends(const void *context, const struct live_block *block)
{
	const struct ending *ending = context;
	const bool is_of_number = block->context != 0 && block->context == ending->end.number;
	const bool is_of_rest = ending->end.takes_rest && block->context == 0;
	const struct memory_sum *sum;

	if (block->sum == LIVE_BLOCK_NO_SUM)
		return is_of_number || is_of_rest;
	sum = memory_sums_at(&ending->account->sums, block->sum);
	if (!cuda_class_is_gpu(sum->memory_class))
		return ending->end.takes_rest;
	return is_of_number || is_of_rest ||
	       (block->context == 0 && sum->device != 0 && sum->device == ending->end.device);
}

static void take_ended(void *taker, const struct live_block *block)
{
	struct gpu_account *account = taker;
	struct movement move;

	if (block->sum == LIVE_BLOCK_NO_SUM)
		return;
	move = account_movement_of(account, block);
	account_lower(account, &move);
	account_count_implicit(account, &move);
}

/* What no event told was allocated somewhere in what has ended. */
static void end_lost(struct gpu_account *account, enum cuda_class memory_class)
{
	struct class_books *books = &account->books[memory_class];
	const struct movement move = { memory_sums_at(&account->sums, memory_class),
		                       books->lost_bytes, books->lost_blocks };

	if (memory_class == CUDA_CLASS_VMM)
		return;
	account_lower(account, &move);
	account_count_implicit(account, &move);
	books->lost_bytes = 0;
	books->lost_blocks = 0;
}

/* Whether all blocks may be looked at once more; then they are paid for. */
static bool pay_sweep(struct gpu_account *account)
{
	uint64_t slots = 0;

	for (int i = 0; i < BLOCK_SPACES; i++)
		slots += account->blocks[i].slot_count;
	if (slots > account->sweep_slots)
		return false;
	account->sweep_slots -= slots;
	return true;
}

void account_book_context(struct gpu_account *account, const struct cuda_event *event)
{
	struct ending ending = { .account = account };

	told_devices_book(&account->told, event);
	device_handles_book(&account->handles, &account->contexts, event);
	if (!device_contexts_book(&account->contexts, event, &ending.end))
		return;
	if (!pay_sweep(account)) {
		account->oddities.untracked_calls++;
		return;
	}
	for (int i = 0; i < BLOCK_SPACES; i++)
		live_table_sweep(&account->blocks[i], ends, &ending, take_ended, account);
	for (int i = 0; ending.end.takes_rest && i < CUDA_CLASS_COUNT; i++)
		end_lost(account, (enum cuda_class)i);
}
