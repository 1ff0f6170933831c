/*
 * The books of one process: what it allocated, freed and holds, by stack, class and device.
 *
 * Shape    events go in, in their order; sums come out. For each class
 *
 *              allocated - freed - implicitly freed = live        (always, to the byte)
 *
 *          and live is what the sums of that class hold, plus nothing. How what is odd
 *          is booked:
 *
 *          free of an address not seen    no bytes; counted; takes an average block off
 *                                         what was lost (below), if there is any
 *          free that then fails           the block is live again, where it was
 *          allocation at a live address   its free was missed: that block is freed first
 *          address not known, or no room  allocated and implicitly freed at once: what is
 *                                         live is understated, never negative
 *          not in the events, but counted lost: allocated by STACK_LOST and live there
 *          by the kernel                  until as many frees without a block have come
 *          end of the process             everything live is implicitly freed
 *          end of a context               what was allocated in it is (device_contexts.h);
 *                                         of a great many it is not followed, and counted
 *          memory of another process      known by its address, and counts nowhere
 *          node of a graph                allocated and implicitly freed: its address is,
 *                                         its memory comes and goes with launches
 *          held before it was watched     in no book: beside them, by STACK_EARLIER
 *
 *          The same holds for each device of its own, of what is certain to lie there when
 *          it is allocated; a block stays on its device. Managed memory lies on any, memory
 *          of the host on none.
 *
 * Units    bytes; times are those of the events; devices are 1 + their number, 0: not known.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 2.2, 2.5, 3.2, 3.5, 4.5
 *
 * Invariants, asserted by gpu_account_check(): the equation above, and that live bytes
 * and blocks of a class are those of its sums but for STACK_EARLIER, and of the table plus
 * what is lost; the same for each device; and that the sums held at the highest point what
 * was live then.
 */
#pragma once

#include "base/budget.h"
#include "collector/cuda_event.h"
#include "collector/live/device_contexts.h"
#include "collector/live/device_handles.h"
#include "collector/live/live_table.h"
#include "collector/live/memory_sums.h"
#include "collector/live/physical_memory.h"
#include "collector/live/told_devices.h"

#define BLOCK_SPACES   CUDA_SPACE_HANDLE /* the other spaces; it is the last one */
#define UNDOABLE_FREES 1024              /* threads of which the last free can be undone */

/*
 * Whoever ends a context has every slot of the tables looked at. Each event pays for some, some
 * are saved up: 1.5 GB of memory.
 */
#define SWEEP_SLOTS_EVENT 1024
#define SWEEP_SLOTS_SAVED (UINT64_C(64) << 20)

struct class_books {
	wide_sum alloc_bytes;
	wide_sum free_bytes;
	wide_sum implicit_bytes;
	wide_sum live_bytes;
	wide_sum lost_bytes; /* live ones, of blocks that no event told */
	uint64_t alloc_calls;
	uint64_t free_calls;
	uint64_t implicit_calls;
	uint64_t live_blocks;
	uint64_t lost_blocks;
};

/* The books of one device. */
struct device_ledger {
	struct class_books books[CUDA_CLASS_COUNT];
};

/* Failed calls with one stack and result, since the last tick. */
struct failure_sum {
	uint32_t stack;
	enum cuda_class memory_class;
	uint16_t device; /* where the memory would have been */
	int32_t result;
	wide_sum requested_bytes; /* of allocations that failed for want of memory */
	uint64_t failures;
};

/* What the kernel counted for a process and class, since it first saw the process. */
struct kernel_counters {
	uint64_t alloc_bytes; /* of calls that succeeded, modulo 2^64 */
	uint64_t alloc_calls;
	uint64_t free_calls; /* entered, those that fail included */
	uint64_t failures;   /* of allocations and frees */
};

/* A thread's last free, which may still turn out to have failed. */
struct undoable_free {
	uint32_t tid;
	uint32_t sum;
	uint32_t number; /* of the physical memory whose handle was released */
	uint16_t context;
	enum cuda_space space;
	enum cuda_class memory_class; /* of that sum */
	uint64_t address;
	uint64_t bytes;
};

/* What went otherwise than it should, for metrics. */
struct account_oddities {
	uint64_t unknown_frees;   /* no such block */
	uint64_t missed_frees;    /* a block was given out again */
	uint64_t untracked_calls; /* no address, or no room */
	uint64_t failed_calls;
	uint64_t lost_calls;      /* known from the kernel's counters alone */
	wide_sum unstacked_bytes; /* booked, but without a stack: lost, sampled, no capture */
};

struct gpu_account {
	struct memory_sums sums;
	struct live_table blocks[BLOCK_SPACES];
	struct physical_memory physical; /* blocks of CUDA_SPACE_HANDLE */
	struct device_contexts contexts;
	uint64_t sweep_slots;          /* that are paid for */
	struct device_handles handles; /* streams and pools */
	struct told_devices told;
	struct class_books books[CUDA_CLASS_COUNT]; /* of all devices, and of none that is known */

	struct device_ledger *ledgers[DEVICES_MAX]; /* by device - 1; NULL: nothing was there */
	uint16_t device_count;                      /* behind it there is none */

	struct failure_sum *failures; /* FAILURES_MAX at most */
	size_t failure_count;
	size_t failure_capacity;

	struct undoable_free *undoable; /* by tid, UNDOABLE_FREES of them; NULL: no free yet */

	wide_sum gpu_live_bytes; /* of classes that occupy GPU memory, and the earlier ones */
	wide_sum gpu_peak_bytes;
	wide_sum earlier_bytes;    /* no call told of them: by STACK_EARLIER, as device memory */
	wide_sum least_live_bytes; /* on GPUs, of the books, since gpu_account_watch_least() */
	uint64_t peak_time_ns;

	struct account_oddities oddities;

	/* the kernel's view, for the difference */
	struct kernel_counters counted[CUDA_CLASS_COUNT]; /* by events and as lost, so far */
	struct kernel_counters deficit[CUDA_CLASS_COUNT]; /* at the last reconciliation */
};

#define FAILURES_MAX 256 /* stacks and results of failed calls in one tick; others join */

/* Whether memory of this class lies on a GPU, as far as is known. */
bool cuda_class_is_gpu(enum cuda_class memory_class);

/* The class of what an event is about. */
enum cuda_class gpu_account_class_of(const struct cuda_event *event);

/* Where what an event of this process allocates lies: a device that has a ledger, or 0. */
uint16_t gpu_account_device_of(struct gpu_account *account, const struct cuda_event *event);

/* The budget is shared by all accounts and outlives them. */
void gpu_account_init(struct gpu_account *account, struct budget *budget);
void gpu_account_fini(struct gpu_account *account);

/*
 * Books one event; `stack` is that of its call (stack_table.h). EXIT and INIT book
 * nothing: gpu_account_close() does.
 */
void gpu_account_book(struct gpu_account *account, const struct cuda_event *event, uint32_t stack);

/*
 * What it holds since before it was watched, in one lump: live, never allocated. Where
 * there is no room for its sum it is nothing.
 */
void gpu_account_set_earlier(struct gpu_account *account, wide_sum bytes);

/* Live bytes on GPUs that calls told of. */
static inline wide_sum gpu_account_told_bytes(const struct gpu_account *account)
{
	return account->gpu_live_bytes - account->earlier_bytes;
}

/* From now on the least of them is kept. */
void gpu_account_watch_least(struct gpu_account *account);

/* The process has ended, or has become another program: nothing of it lives. */
void gpu_account_close(struct gpu_account *account);

enum reconcile_moment {
	RECONCILE_RUNNING, /* what is missing may still be under way: only what was missing
	                      the last time too is lost */
	RECONCILE_ENDED,   /* nothing is under way any more */
};

/*
 * Books what the kernel has counted and no event has told. The counters were read before
 * the events that were booked last.
 */
void gpu_account_reconcile(struct gpu_account *account, enum cuda_class memory_class,
                           const struct kernel_counters *counters, enum reconcile_moment moment);

/* Deltas and failures were handed on. */
void gpu_account_sent(struct gpu_account *account);

/*
 * As memory_sums_rebuild(), with blocks and failures renumbered. Failures must have been
 * handed on when there are stack_numbers.
 */
void gpu_account_rebuild(struct gpu_account *account, const uint32_t *stack_numbers);

void gpu_account_check(const struct gpu_account *account);
