/*
 * The stacks of a recording: names, frames and stacks of all its chunks, each once.
 *
 * Shape    a function for each distinct name "<class>.<method>", a frame for each
 *          distinct pair of function and line, a stack for each distinct run of frames,
 *          leaf first. A stack trace of a chunk becomes a stack when it is first asked
 *          for; frames whose method or class nobody describes are left out of it.
 * Units    at most JFR_FRAMES_MAX frames; names take at most as many bytes as
 *          jfr_stacks_init() says, and JFR_NAMES_WORK times as many are put together of
 *          class and method, known before or not: each chunk has its own.
 * Errors   ERROR_TOO_LARGE past a limit, arena_error().
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "formats/jfr_pools.h"
#include "formats/jfr_symbol.h"
#include "profile/intern.h"
#include "profile/number_map.h"

#define JFR_FRAMES_MAX UINT32_C(0x1000000)

#define JFR_NAMES_WORK 8 /* a guess */

#define JFR_STACK_NONE UINT32_MAX

struct jfr_frame {
	uint32_t function;
	int32_t line;
};

/* A run of `runs`. */
struct jfr_stack {
	uint32_t first_frame;
	uint32_t depth;
};

/* A method's key in the chunk and a line, and the frame that they are. */
struct jfr_known_frame {
	uint64_t method;
	int32_t line;
	uint32_t frame;
};

struct jfr_stacks {
	struct arena *arena;
	uint64_t secret;
	size_t name_bytes_left;
	size_t name_work_left; /* bytes */

	struct intern name_ids;
	struct str *names; /* by function */
	size_t name_capacity;

	struct number_map frame_ids; /* of function and line */
	struct jfr_frame *frames;
	size_t frame_count;
	size_t frame_capacity;

	struct intern stack_ids;
	struct jfr_stack *stacks;
	size_t stack_capacity;
	uint32_t *runs; /* frames */
	size_t run_length;
	size_t run_capacity;

	/* of the chunk that is being read */
	const struct jfr_pools *pools;
	struct jfr_symbol *symbols; /* those that names are made of; the first is empty */
	size_t symbol_count;
	size_t symbol_capacity;
	uint32_t *symbol_places;       /* in `symbols`, by entry of the symbols' pool */
	uint32_t *classes;             /* their names in `symbols`, by entry of the classes' pool */
	uint32_t *methods;             /* functions, by entry of the methods' pool */
	uint32_t *traces;              /* stacks, by entry of the stack traces' pool */
	struct jfr_known_frame *known; /* those met last, by a hash */
};

int jfr_stacks_init(struct jfr_stacks *stacks, size_t name_bytes, struct arena *arena,
                    struct error *err);

/* Turns to the next chunk. */
int jfr_stacks_begin(struct jfr_stacks *stacks, const struct jfr_pools *pools, struct error *err);

/* The stack of a stack trace's key, or JFR_STACK_NONE when there is no such trace. */
int jfr_stacks_find(struct jfr_stacks *stacks, uint64_t key, uint32_t *out_stack,
                    struct error *err);
