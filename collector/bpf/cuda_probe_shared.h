/*
 * What the programs on the driver's functions keep in maps, and user space reads.
 *
 * Shape    fixed widths, padding named.
 * Units    bytes and calls since the process began; times of the boot-time clock.
 * Source   collector specification 4.5
 */
#ifndef COLLECTOR_BPF_CUDA_PROBE_SHARED_H
#define COLLECTOR_BPF_CUDA_PROBE_SHARED_H

#include "collector/cuda_function.h"

#ifndef __BPF__
#include <linux/types.h>
#endif

#define PROCESS_COUNT_MAX   8192  /* that called the driver, at a time; the rest shares an entry */
#define THREAD_CALLS_MAX    65536 /* calls at a time, where the kernel has no task storage */
#define CONTEXT_WATCHES_MAX 256   /* processes whose contexts are watched, at a time */
#define CONTEXTS_TOLD_MAX   4096  /* contexts whose device was told; of others it is told again */

/* A process, also when ids are used again. All zero: those that found no place. */
struct process_key {
	__u64 start_ns;
	__u32 tgid;
	__u32 reserved; /* zero: hash maps compare every byte */
};

/* Counted before anything is sent, so what the ring lost is known to the byte. */
struct cuda_counters {
	__u64 alloc_bytes;
	__u64 alloc_calls;
	__u64 alloc_failures;
	__u64 free_calls;    /* entered */
	__u64 free_failures; /* of them */
};

struct process_calls {
	struct cuda_counters by_class[CUDA_CLASS_COUNT];
	__u64 exited;    /* 1: its last thread has ended */
	__u64 announced; /* 1: CUDA_EVENT_INIT was sent since it began or ran exec */
	__u64 noticed;   /* 1: user space was woken for it since */
	__u64 several;   /* 1: likewise, since it sees several devices */
	__u64 unseen;    /* 1: a context was current otherwise than was seen */
	__u64 storm_ns;  /* until when its stacks have used up their limit */
	__u64 share_ns;  /* until when what it sent counts: ring_share.bpf.h */
};

/* A process whose contexts are watched. */
struct watched_contexts {
	__u64 watch; /* another number for each */
	__u64 ends;  /* of its contexts so far: what was told of a handle may be of one of these */
};

#define RING_SHARE_NS 4000000000ULL /* for so long it counts what a process has sent */

/* Bytes of the ring between which those that sent much are refused, more and more. */
struct ring_region {
	__u64 start;
	__u64 end;
};

/* What went otherwise than it should; the names are in probe_loss.def. */
enum probe_loss {
#define PROBE_LOSS(id, name, help) id,
#include "collector/bpf/probe_loss.def"
#undef PROBE_LOSS
	PROBE_LOSS_COUNT,
};

#endif
