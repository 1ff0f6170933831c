/*
 * From a captured thread to the frames of its stack: the processes that are looked into,
 * their code and their interpreters.
 *
 * Shape    a process is looked into from its first driver call, or as soon as it maps a
 *          driver. Its files are opened then, since it may end at any time; after its end
 *          it stays until call_stacks_sweep() has been called twice, for what is still
 *          under way.
 * Units    bytes.
 * Errors   none: what cannot be known is said in the frames.
 * Threads  none: the collector's.
 * Source   collector specification 4.4; unwinding specification 1, 8
 */
#pragma once

#include "base/cleanup.h"
#include "collector/event_source.h"
#include "collector/frame.h"
#include "collector/python/python_stack.h"
#include "collector/unwind/frame_names.h"

#define TRACED_PROCESSES_MAX 8192 /* as many as the programs in the kernel know */

struct call_stacks_options {
	size_t symbol_cache_bytes;
	enum frame_unnamed unnamed;
	enum python_internals internals;
	const struct event_source *source; /* outlives it */
};

struct call_stacks_counts {
	uint64_t truncated; /* there was more stack than was captured */
	uint64_t broken;    /* unwinding ended before the outermost frame */
	uint64_t gone;      /* the process had ended before anybody could look into it */
	uint64_t refused;   /* there were too many processes */
	uint64_t unnamed;   /* Python code objects that nobody could name */
	size_t processes;   /* now */
	size_t modules;
	size_t symbol_bytes;
};

struct call_stacks;

struct call_stacks *call_stacks_new(const struct call_stacks_options *options)
	__attribute__((returns_nonnull));
void call_stacks_free(struct call_stacks *stacks);
DEFINE_FREEP(call_stacks)

/* As the handlers of event_source.h. */
void call_stacks_mapped(struct call_stacks *stacks, uint32_t tgid, const struct mapped_file *file);
void call_stacks_execed(struct call_stacks *stacks, uint32_t tgid);
void call_stacks_exited(struct call_stacks *stacks, uint32_t tgid);
void call_stacks_define(struct call_stacks *stacks, const struct code_definition *definition);

/*
 * The callers of a driver call, leaf first, without the driver's function. Frames are valid
 * until the next call of anything here. `size` as the event's handler got it; nothing is
 * captured when it is too short.
 */
struct frame_list call_stacks_make(struct call_stacks *stacks, const struct cuda_event *event,
                                   size_t size);

/* cuInit: opens the files of the process, and looks for its interpreter. */
void call_stacks_prepare(struct call_stacks *stacks, const struct cuda_event *event, size_t size);

/* The process has ended; nothing of it is under way but what comes before the next sweep. */
void call_stacks_end(struct call_stacks *stacks, uint32_t tgid, uint64_t start_ns);

/* Forgets processes that ended before the last sweep. */
void call_stacks_sweep(struct call_stacks *stacks);

/* Whether an interpreter was met whose version nobody knows, since this was asked; and why. */
bool call_stacks_trouble(struct call_stacks *stacks, struct error *out);

void call_stacks_counts(const struct call_stacks *stacks, struct call_stacks_counts *out);
