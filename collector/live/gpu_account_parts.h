/*
 * What the parts of gpu_account.h share: movements of bytes between its books, and what is
 * booked in more than one way.
 *
 * Invariant  an account changes by these movements alone, so its equation always holds.
 */
#pragma once

#include "collector/live/gpu_account.h"

/* What is booked as one: bytes of some blocks in one sum. */
struct movement {
	struct memory_sum *sum;
	wide_sum bytes;
	uint64_t blocks;
};

void account_allocate(struct gpu_account *account, const struct movement *move);
void account_raise(struct gpu_account *account, const struct movement *move, uint64_t time_ns);
void account_lower(struct gpu_account *account, const struct movement *move);
void account_count_freed(struct gpu_account *account, const struct movement *move);
void account_count_implicit(struct gpu_account *account, const struct movement *move);

/* A free was undone: raised again, it counts as freed no longer. */
void account_return(struct gpu_account *account, const struct movement *move, uint64_t time_ns);

/* Of a block with a sum. */
struct movement account_movement_of(const struct gpu_account *account,
                                    const struct live_block *block);

/* A free of what no event told: some of the lost blocks go, of that class first. */
void account_free_lost(struct gpu_account *account, enum cuda_class memory_class, uint64_t count);

/* Where the last free of a thread is kept; threads may share a place. */
struct undoable_free *account_undoable(struct gpu_account *account, uint32_t tid);

void account_book_failure(struct gpu_account *account, const struct cuda_event *event,
                          uint32_t stack);

/* ---- devices ---- */

/* Gives the memory of all ledgers back. */
void account_forget_devices(struct gpu_account *account);

/* ---- physical memory ---- */

/* False when there is no room: it cannot live. */
bool account_create_handle(struct gpu_account *account, const struct cuda_event *event,
                           uint32_t sum);
void account_release_handle(struct gpu_account *account, const struct cuda_event *event);
void account_undo_release(struct gpu_account *account, const struct cuda_event *event,
                          const struct undoable_free *undoable);
void account_physical_freed(struct physical_memory *memory, const struct physical_block *block);

/* UNMAP, UNMAPPED, and what is DONE to handles. */
void account_book_handle(struct gpu_account *account, const struct cuda_event *event);

/* ---- contexts ---- */

/* What is DONE to contexts, streams and pools, and told of devices. */
void account_book_context(struct gpu_account *account, const struct cuda_event *event);
