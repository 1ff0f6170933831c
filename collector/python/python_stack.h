/*
 * The whole stack of a captured thread, Python and native in calling order, with names.
 *
 * Shape    leaf first; without the driver's own function, which the caller puts in front.
 * Errors   none: what cannot be named is said in the frame.
 * Threads  none: the collector's.
 * Source   unwinding specification 7
 */
#pragma once

#include "collector/frame.h"
#include "collector/unwind/native_stack.h"

struct code_names; /* collector/python/code_names.h: definitions of code objects by process */

enum python_internals {
	PYTHON_INTERNALS_MARK, /* the interpreter's own native frames have its kind */
	PYTHON_INTERNALS_DROP, /* they are left out */
};

struct python_stack_options {
	enum python_internals internals;
	int raw_addresses; /* unnamed native frames as 0x... of the ELF file alone */
};

struct python_stack_input {
	uint32_t tgid;
	uint64_t process_start_ns;
	const struct captured_stack *captured;
	const struct native_stack *native;
};

/* Merges into `out`, at most FRAMES_MAX frames. */
void python_stack_merge(struct code_names *names, const struct python_stack_options *options,
                        const struct python_stack_input *input, struct frame_list *out);
