/*
 * The Python interpreters of this machine, for tests that ask them.
 *
 * Shape    those of PATH (python3.8 to python3.14, python3), those beside a folder of
 *          shims in PATH, and those that VRAMSCOPE_PYTHONS names (colons between);
 *          each program once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PYTHONS_MAX 32

struct python {
	char path[512];   /* as the interpreter names itself */
	char text[16];    /* "3.12.1" */
	uint32_t version; /* 0x030c */
};

/* Fills `out` (PYTHONS_MAX of them) by version; returns how many there are. */
size_t pythons_find(struct python *out);
