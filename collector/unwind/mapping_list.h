/*
 * Executable mappings of one process, ascending and apart.
 *
 * Shape    a mapping owns its path and a reference to its module.
 * Units    addresses are the process'.
 * Threads  none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collector/elf/module.h"

enum mapping_kind {
	MAPPING_FILE,
	MAPPING_ANONYMOUS,     /* code made at run time */
	MAPPING_KERNEL,        /* [vdso] and the like */
	MAPPING_RETURN_PROBES, /* where replaced return addresses point to */
};

enum trampoline_state {
	TRAMPOLINE_NOT_ASKED,
	TRAMPOLINE_NO,
	TRAMPOLINE_ROOM,   /* what python -X perf makes, to 3.13 */
	TRAMPOLINE_PUSHES, /* since: it keeps the frame pointer on the stack */
};

struct mapping {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint64_t bias; /* with a module: address - bias is the module's own */
	struct module *module;
	char *path; /* never NULL in a list */
	enum mapping_kind kind;
	enum trampoline_state trampoline;
};

/* Zeroed is empty. */
struct mapping_list {
	struct mapping *items;
	size_t count;
	size_t capacity;
	size_t path_bytes; /* of all paths */
	size_t modules;    /* mappings that have one */
};

void mapping_list_fini(struct mapping_list *list);

/* The first mapping that ends behind `address`: its index, or the count. */
size_t mapping_list_place(const struct mapping_list *list, uint64_t address);

/* Takes a mapping that lies behind all others. */
void mapping_list_append(struct mapping_list *list, const struct mapping *mapping);

/* Takes a mapping; what it covers of others is gone, their rests stay. */
void mapping_list_insert(struct mapping_list *list, const struct mapping *mapping);

/* Asserts that they ascend and are apart, that each has a path, and the sums. */
void mapping_list_check(const struct mapping_list *list);
