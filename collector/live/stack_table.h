/*
 * Stacks of allocations, each kept once: frames interned, stacks as a tree of them.
 *
 * Shape    strings, frames and stacks are numbered densely. A stack is a node: its parent
 *          (the calling stack) and its innermost frame; parents have smaller numbers. The
 *          innermost frame of every stack of a call is the driver's function. A frame is the same
 *          only when all of it is the same, so that a process that lies about its files
 *          cannot name frames of another.
 *          Stacks that always are there: STACK_LOST, one frame "[stack lost]", and below
 *          it one for each driver function, stack_lost(). They stand for calls whose
 *          stack was not captured, was left out, or finds no room here. And of one frame
 *          each, for what no call did: STACK_DEVICE, "[device]", and STACK_EARLIER,
 *          "[allocated before profiling started]".
 * Units    memory in bytes.
 * Errors   none: what does not fit the limit is a lost stack, and counted.
 * Threads  none: the collector's.
 * Source   collector specification 3.2, 4.5; unwinding specification 7.4
 *
 * Invariants, asserted by stack_table_check():
 *   1. every stack but those without a caller has a parent with a smaller number;
 *   2. no two stacks have the same parent and frame, no two frames were given alike;
 *   3. no stack is deeper than STACK_DEPTH_MAX, every string is UTF-8 and no longer than
 *      STACK_STRING_MAX.
 */
#pragma once

#include "base/arena.h"
#include "base/id_map.h"
#include "collector/cuda_function.h"
#include "collector/frame.h"

#define STACK_DEPTH_MAX  1000 /* what the pipeline takes whole */
#define STACK_STRING_MAX 4096 /* longer names lose their end */
#define STACK_NONE       UINT32_MAX
#define STACK_LOST       0

/* The stack of a call of `function` of which no more is known. */
static inline uint32_t stack_lost(enum cuda_function_id function)
{
	return 1 + (uint32_t)function;
}

#define STACK_DEVICE  (1 + (uint32_t)CUDA_FUNCTION_COUNT)
#define STACK_EARLIER (STACK_DEVICE + 1)

/* An interned frame; the first five are numbers of strings, 0 is "". */
struct stack_frame {
	uint32_t name;
	uint32_t system_name;
	uint32_t file;
	uint32_t module;
	uint32_t build_id;
	enum function_kind kind;
	int64_t line;
	int64_t start_line;
	uint64_t address;
};

struct stack_node {
	uint32_t parent; /* STACK_NONE: the outermost */
	uint32_t frame;
	uint32_t depth; /* 1: the outermost */
};

struct stack_table;

struct stack_table *stack_table_new(size_t limit_bytes) __attribute__((returns_nonnull));
void stack_table_free(struct stack_table *table);
DEFINE_FREEP(stack_table)

/*
 * The stack of a call of `function` with these callers, leaf first. Where it is deeper
 * than STACK_DEPTH_MAX its middle is left out, and a frame says so.
 *
 * `share` is what whoever calls has stored so far, and grows; NULL: nobody counts. It may
 * be as much as there is still room for, so however many stacks one makes, something is
 * left. A stack that is there already is found in any case.
 */
uint32_t stack_table_add(struct stack_table *table, enum cuda_function_id function,
                         const struct frame_list *callers, size_t *share);

/*
 * The stack of a call of `function` whose own was left out, and is taken to be that of
 * another call: the same callers, and a frame "[sampled]" that says so.
 */
uint32_t stack_table_sampled(struct stack_table *table, enum cuda_function_id function,
                             uint32_t stack);

size_t stack_table_count(const struct stack_table *table);
const struct stack_node *stack_table_node(const struct stack_table *table, uint32_t stack);
size_t stack_table_frame_count(const struct stack_table *table);
const struct stack_frame *stack_table_frame(const struct stack_table *table, uint32_t frame);
size_t stack_table_string_count(const struct stack_table *table);
struct str stack_table_string(const struct stack_table *table, uint32_t string);

/* Memory that the table takes, and stacks that found no room since its making. */
size_t stack_table_bytes(const struct stack_table *table);
uint64_t stack_table_overflows(const struct stack_table *table);

/* ---- throwing away what nothing refers to ---- */

/*
 * Which stacks are still in use: a table of marks by stack number, all zero; the caller
 * marks stacks with 1 and gives it back to stack_table_shrink().
 */
uint8_t *stack_table_marks(const struct stack_table *table) __attribute__((returns_nonnull));

/*
 * When the marked stacks and their callers are less than half of all, the table is made
 * anew of them, and *out_numbers has the new number of each old one (STACK_NONE for those
 * that are gone); free() it. Else *out_numbers is NULL and nothing has changed. The marks
 * are gone in any case.
 */
void stack_table_shrink(struct stack_table *table, uint8_t *marks, uint32_t **out_numbers);

void stack_table_check(const struct stack_table *table);
