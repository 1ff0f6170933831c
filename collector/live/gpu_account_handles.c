/*
 * Physical memory in the books: allocated when its handle is given out, freed when the last
 * of its references and mappings has gone.
 */
#include <stddef.h>

#include "collector/live/gpu_account_parts.h"
#include "collector/live/stack_table.h"

void account_physical_freed(struct physical_memory *memory, const struct physical_block *block)
{
	struct gpu_account *account =
		(void *)((char *)memory - offsetof(struct gpu_account, physical));
	struct movement move;

	if (block->sum == LIVE_BLOCK_NO_SUM)
		return;
	move = (struct movement){ memory_sums_at(&account->sums, block->sum), block->bytes, 1 };
	account_lower(account, &move);
	account_count_freed(account, &move);
}

bool account_create_handle(struct gpu_account *account, const struct cuda_event *event,
                           uint32_t sum)
{
	const uint64_t bytes = event->bytes < INT64_MAX ? event->bytes : INT64_MAX;

	if (physical_memory_find(&account->physical, event->address))
		account->oddities.missed_frees++;
	return physical_memory_add(&account->physical, event->address, bytes, sum);
}

void account_release_handle(struct gpu_account *account, const struct cuda_event *event)
{
	const enum cuda_class memory_class = cuda_function(event->function)->memory_class;
	const struct physical_block *block =
		physical_memory_find(&account->physical, event->address);

	if (!block) {
		account->oddities.unknown_frees++;
		account_free_lost(account, memory_class, 1);
		return;
	}
	*account_undoable(account, event->tid) = (struct undoable_free){
		.tid = event->tid,
		.sum = block->sum,
		.number = physical_memory_number(&account->physical, block),
		.space = CUDA_SPACE_HANDLE,
		.memory_class = block->sum == LIVE_BLOCK_NO_SUM
		                        ? memory_class
		                        : memory_sums_at(&account->sums, block->sum)->memory_class,
		.address = event->address,
		.bytes = block->bytes,
	};
	(void)physical_memory_release(&account->physical, event->address);
}

/* The reference is there again; and so is the memory, if it was the last one. */
void account_undo_release(struct gpu_account *account, const struct cuda_event *event,
                          const struct undoable_free *undoable)
{
	struct physical_memory *physical = &account->physical;
	struct movement move;

	if (physical_memory_restore(physical, undoable->address, undoable->number))
		return;
	if (physical_memory_find(physical, undoable->address))
		return; /* given out again: the release was a good one */
	if (!physical_memory_add(physical, undoable->address, undoable->bytes, undoable->sum)) {
		account->oddities.untracked_calls++;
		return; /* no room: it stays freed */
	}
	if (undoable->sum == LIVE_BLOCK_NO_SUM)
		return;
	move = (struct movement){ memory_sums_at(&account->sums, undoable->sum), undoable->bytes,
		                  1 };
	account_return(account, &move, event->time_ns);
}

static void book_unmapped(struct gpu_account *account, const struct cuda_event *event)
{
	if (!physical_memory_unmapped(&account->physical, event->tid,
	                              event->result == 0 ? UNMAP_DONE : UNMAP_FAILED))
		account->oddities.untracked_calls++;
	if (event->result != 0)
		account_book_failure(account, event, stack_lost(event->function));
}

/* What cannot be booked was created before we looked, or there was no room. */
static void book_done(struct gpu_account *account, const struct cuda_event *event)
{
	struct physical_memory *physical = &account->physical;
	bool is_known = true;

	switch (cuda_function(event->function)->role) {
	case CUDA_ROLE_IMPORT:
		is_known = physical_memory_add(physical, event->address, 0, LIVE_BLOCK_NO_SUM);
		break;
	case CUDA_ROLE_RETAIN:
		/* what was there before us: its release is not of something unknown */
		is_known = physical_memory_retain(physical, event->address, event->other) ||
		           physical_memory_add(physical, event->address, 0, LIVE_BLOCK_NO_SUM);
		break;
	case CUDA_ROLE_MAP:
		is_known =
			physical_memory_map(physical, event->address, event->bytes, event->other);
		break;
	default:
		break;
	}
	if (!is_known)
		account->oddities.untracked_calls++;
}

void account_book_handle(struct gpu_account *account, const struct cuda_event *event)
{
	switch (event->kind) {
	case CUDA_EVENT_UNMAP:
		if (!physical_memory_unmap(&account->physical, event->tid, event->address,
		                           event->bytes))
			account->oddities.untracked_calls++;
		break;
	case CUDA_EVENT_UNMAPPED:
		book_unmapped(account, event);
		break;
	default:
		book_done(account, event);
		break;
	}
}
