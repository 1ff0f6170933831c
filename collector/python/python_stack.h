/*
 * The whole stack of a captured thread, Python and native in calling order, with names.
 *
 * Shape    leaf first; without the driver's own function, which the caller puts in front. A
 *          run of the evaluation loop is the native frame in whose part of the stack its
 *          marker lies; the Python frames of the run stand in front of it. Where the native
 *          stack ends early, "<native frames missing>" stands before the Python frames that
 *          found no place; "<python frames truncated>" stands behind the last that was read.
 * Errors   none: what cannot be named is said in the frame.
 * Threads  none: the collector's.
 * Source   unwinding specification 7
 */
#pragma once

#include <stdbool.h>

#include "collector/frame.h"
#include "collector/python/code_names.h"
#include "collector/unwind/native_stack.h"

#define PYTHON_SHIM_NAME      "<interpreter trampoline>"
#define PYTHON_SHIM_FILE      "<shim>"
#define PYTHON_TRUNCATED_NAME "<python frames truncated>"
#define NATIVE_MISSING_NAME   "<native frames missing>"

/* The file of the interpreter's own frames that have none: their kind, on the wire. */
#define INTERPRETER_FILE "<interpreter>"

enum python_internals {
	PYTHON_INTERNALS_MARK, /* the interpreter's own native frames have its kind */
	PYTHON_INTERNALS_DROP, /* they are left out */
};

/* Who names native frames: unwind/frame_names, or a test. */
struct native_namer {
	void (*name)(void *context, const struct native_frame *native, struct frame *out);
	/* What the end of the stack says, as a frame; false: nothing. */
	bool (*end)(void *context, const struct native_stack *stack, struct frame *out);
	void *context;
};

struct python_stack_input {
	const struct code_process *process;
	const struct captured_stack *captured;
	const struct native_stack *native;
};

/* Merges into `out`, at most FRAMES_MAX frames. Calls code_names_begin(). */
void python_stack_merge(struct code_names *names, const struct native_namer *namer,
                        enum python_internals internals, const struct python_stack_input *input,
                        struct frame_list *out);
