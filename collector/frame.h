/*
 * One line of a stack as people read it: a native or a Python frame with its name.
 *
 * Shape    plain values; strings belong to who made the frame (a module's pool, a code
 *          cache, the arena of one event) and live until the next event at least.
 *          live/stack_table copies what it has not seen before.
 * Source   collector specification 5, unwinding specification 7
 */
#pragma once

#include <stdint.h>

#include "base/str.h"
#include "profile/profile.h"

#define FRAMES_MAX 1024 /* of one stack, Python and native */

struct frame {
	struct str name;        /* demangled; "module+0xoffset" when there is none; never empty */
	struct str system_name; /* as the file has it; empty when the same */
	struct str file;        /* source; empty when not known */
	int64_t line;           /* 0: not known */
	int64_t start_line;     /* of the function; 0: not known */
	enum function_kind kind;
	struct str module;   /* path of the mapped file as its process sees it; empty: none */
	struct str build_id; /* hex; empty: none */
	uint64_t address;    /* in the file's own address space (ELF address); 0: none */
};

/* Leaf first. The first `count` of `frames` are set. */
struct frame_list {
	struct frame *frames; /* FRAMES_MAX of them */
	size_t count;
};
