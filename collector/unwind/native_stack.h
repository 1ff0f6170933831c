/*
 * The native frames of a captured thread.
 *
 * Shape    leaf first. Frame i owns the stack addresses [stack_pointer, frame_end); the
 *          next one begins at frame_end. Modules are kept open by the address space until
 *          it is read again.
 * Errors   none: a stack has the frame of its first program counter (unless that lies in
 *          the page of return probes); `end` says why there are no more.
 * Threads  none: the collector's.
 * Source   unwinding specification 6
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collector/cuda_event.h"

#define NATIVE_FRAMES_MAX 512

struct address_space; /* collector/unwind/address_space.h: what a process maps */
struct module;        /* collector/elf/module.h: one file of code */

enum native_stack_end {
	NATIVE_STACK_COMPLETE,  /* the outermost frame: no return address */
	NATIVE_STACK_TRUNCATED, /* a slot behind the copied bytes */
	NATIVE_STACK_DEPTH,     /* NATIVE_FRAMES_MAX */
	NATIVE_STACK_NO_RULE,   /* code without unwind rows */
	NATIVE_STACK_NO_MAPPING,
	NATIVE_STACK_RETURN_PROBE, /* a return address that a probe has replaced, by what is lost */
	NATIVE_STACK_BROKEN,       /* the frame address did not grow */
};

struct native_frame {
	uint64_t program_counter; /* the return address; for the leaf the captured one */
	uint64_t lookup;          /* the address to name: program_counter - 1 but for the leaf and
	                             frames above a signal */
	uint64_t stack_pointer;
	uint64_t frame_end;     /* CFA; 0 where the stack ends for want of it */
	struct module *module;  /* NULL: anonymous or unmapped */
	uint64_t address;       /* `lookup` in the module's ELF addresses */
	uint32_t is_trampoline; /* a -X perf trampoline: drop it from the stack */
};

struct native_stack {
	struct native_frame frames[NATIVE_FRAMES_MAX];
	size_t count;
	enum native_stack_end end;
};

/* Unwinds. `space` may be read again from the process when an address is not in it. */
void native_stack_unwind(struct address_space *space, const struct captured_stack *captured,
                         const uint8_t *bytes, struct native_stack *out);
