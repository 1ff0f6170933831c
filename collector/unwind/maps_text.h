/*
 * The text of /proc/PID/maps, a line at a time.
 *
 * Shape    paths are as the kernel writes them: a newline in a name is \012, a file that is
 *          gone ends with " (deleted)". Lines that make no sense are left out.
 * Units    addresses are the process'.
 * Errors   none.
 * Source   proc(5)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct maps_line {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t device_major;
	uint32_t device_minor;
	bool is_executable;
	struct str path; /* a view; empty: anonymous */
};

/* Takes the next line that makes sense off *rest. False at the end. */
bool maps_text_next(struct str *rest, struct maps_line *out);
