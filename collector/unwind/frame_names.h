/*
 * Names for native frames: what a person reads in place of an address.
 *
 * Shape    the function's name, demangled; without one "file+0xoffset" (base name of the
 *          mapped file, the file's own address), the same in every process and after every
 *          restart; code made at run time has the name that its maker has written down, or
 *          "[jit]"; an address without a mapping is "0x<address>". A stack that ends early
 *          says so in one more frame. Names are valid UTF-8 without control characters,
 *          whatever a file says. What was named stays in memory up to a limit.
 * Units    bytes.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   collector specification 4.4 and 5; unwinding specification 7.4
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "collector/frame.h"
#include "collector/unwind/native_stack.h"

#define FRAME_NAMES_BYTES_USUAL ((size_t)8 << 20)
#define FRAME_NAME_MAX          4096 /* bytes; longer ones end with an ellipsis */

/* How a frame without a name is written. */
enum frame_unnamed {
	FRAME_UNNAMED_MODULE,  /* libc.so.6+0x1234 */
	FRAME_UNNAMED_ADDRESS, /* 0x1234, the file's own address alone */
};

struct frame_names;

struct frame_names *frame_names_new(size_t limit_bytes, enum frame_unnamed unnamed)
	__attribute__((returns_nonnull));
void frame_names_free(struct frame_names *names);
DEFINE_FREEP(frame_names)

/*
 * Before the first name of an event: where the limit is reached, all that was kept is
 * forgotten. Strings stay valid until the next call of this.
 */
void frame_names_begin(struct frame_names *names);

/* Names a frame that native_stack_unwind() made of this address space. */
void frame_names_get(struct frame_names *names, struct address_space *space,
                     const struct native_frame *native, struct frame *out);

/*
 * What the end of a stack says, as a frame beyond its outermost one: [stack truncated],
 * [unwind failed at libx.so+0x12], [return probe]. False: nothing, it is complete.
 */
bool frame_names_end(struct frame_names *names, struct address_space *space,
                     const struct native_stack *stack, struct frame *out);
