/*
 * Finds the CPython of a process, and how to read its frames.
 *
 * Shape    one call, from the files that a process maps to a python_description. Nothing is
 *          believed before it was seen in the process itself: a thread state that belongs to
 *          its interpreter, whose frame has a code object.
 * Errors   ERROR_NOT_FOUND: no file of it holds an interpreter. ERROR_UNAVAILABLE: there is
 *          one, and nothing in it to check the description with yet (it has not begun, or no
 *          thread has a frame just now): try at a later event. ERROR_INVALID: no version that
 *          is known, or structures that are not where they should be: never again.
 * Threads  none.
 * Source   unwinding specification 1, 3.4
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"
#include "collector/elf/elf_image.h"
#include "collector/python/python_description.h"
#include "collector/python/python_memory.h"

struct address_space; /* collector/unwind/address_space.h */

/* A file of code, as a process maps it. */
struct interpreter_module {
	const struct elf_image *image;
	uint64_t bias; /* what the mapping adds to the file's addresses */
	struct str path;
};

struct interpreter_process {
	const struct interpreter_module *modules; /* those with an executable mapping */
	size_t module_count;
	struct python_memory memory;
};

int interpreter_describe(const struct interpreter_process *process, struct python_description *out,
                         struct error *err);

/* The same for the files and the memory of an address space. */
int interpreter_describe_space(const struct address_space *space, struct python_description *out,
                               struct error *err);
