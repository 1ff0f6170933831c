/*
 * What may be asked of a process: its maps, its files, its memory. Of one that lives, of a
 * recorded one, or of one that a test makes up.
 *
 * Shape    functions with a context, all of them set but is_gone. The process may end at any time: then
 *          they fail, and what was read before stays good.
 * Errors   ERROR_NOT_FOUND: there is no such process (any more).
 * Threads  none.
 * Source   unwinding specification 1.1; collector specification 5, 4
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/strbuf.h"
#include "collector/elf/debug_file.h"
#include "collector/elf/module_cache.h"

#define PROCESS_MAPS_MAX ((size_t)16 << 20) /* bytes of its maps */

/* A mapped file as maps and MMAP2 records name it. */
struct mapped_file {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	struct str path;     /* ends with NUL */
	struct str build_id; /* hex; empty: not known */
};

struct process_view {
	/* Appends the text of its maps. */
	int (*read_maps)(void *context, struct strbuf *out, struct error *err);
	/* The module of what it has mapped; the reference is the caller's. */
	int (*open_module)(void *context, struct module_cache *modules,
	                   const struct mapped_file *file, struct module **out, struct error *err);
	/* Its memory; returns how many bytes there were. */
	size_t (*read_memory)(void *context, uint64_t address, void *to, size_t length);
	/* The names that its run-time compiler writes (perf_map.h): a descriptor or -1. */
	int (*open_perf_map)(void *context);
	void (*close)(void *context);
	void *context;
	/* Whether it has ended and nobody waits for it any more. NULL: that is not known. */
	bool (*is_gone)(void *context);
};

/* Of a process that lives. It stays that one, also when its id is used again. */
int process_view_open(pid_t pid, struct process_view *out, struct error *err);

static inline void process_view_close(struct process_view *view)
{
	view->close(view->context);
}
