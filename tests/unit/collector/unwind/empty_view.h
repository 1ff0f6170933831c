/*
 * What a process answers that has no files, no memory and no names of its own: the functions
 * of a process_view but for read_maps, for tests that make only that one up.
 */
#pragma once

#include "collector/unwind/process_view.h"

static inline int empty_view_module(void *context, struct module_cache *modules,
                                    const struct mapped_file *file, struct module **out,
                                    struct error *err)
{
	(void)context;
	(void)modules;
	(void)file;
	(void)out;
	return error_set(err, ERROR_NOT_FOUND, "no files");
}

static inline size_t empty_view_memory(void *context, uint64_t address, void *to, size_t length)
{
	(void)context;
	(void)address;
	(void)to;
	(void)length;
	return 0;
}

static inline int empty_view_perf_map(void *context)
{
	(void)context;
	return -1;
}

static inline void empty_view_close(void *context)
{
	(void)context;
}
