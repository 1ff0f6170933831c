/*
 * Every module that some process maps or has mapped, once.
 *
 * Shape    a file is the same when its device, inode, size and times are, or when all but
 *          the device are and the build id (overlay file systems show one file under several
 *          devices). The build id alone would not do: it is what a file says of itself.
 *          Symbols are dropped, least recently used first, when all of them take more than
 *          the limit; files that nobody refers to are closed when there are more than
 *          MODULES_MAX, or than a quarter of the descriptors that we may have.
 * Units    bytes. Besides the limit: half a MiB of blocks, 2 MiB of rows, some kB a module.
 * Errors   ERROR_INVALID for what is no file of code of this architecture, ERROR_CORRUPT
 *          for a skeleton that does not read back, ERROR_TOO_LARGE when there is no room.
 * Threads  none: the collector's.
 * Source   collector specification 5, 3 and 4
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/elf/debug_file.h"
#include "collector/elf/module.h"

#define MODULES_MAX               8192
#define MODULE_SYMBOL_BYTES_USUAL ((size_t)128 << 20)

struct module_cache;

struct module_cache *module_cache_new(size_t symbol_limit_bytes) __attribute__((returns_nonnull));

/* After the last module_unref(). */
void module_cache_free(struct module_cache *cache);
DEFINE_FREEP(module_cache)

/*
 * The module of an open file; takes the descriptor, also when it fails. `opener` (or NULL)
 * finds a separate debug file now, while the process still lives. The reference is the
 * caller's.
 */
int module_cache_open(struct module_cache *cache, int descriptor, struct str path,
                      const struct file_opener *opener, struct module **out, struct error *err);

/* The module of a file whose bytes are given (they are copied). */
int module_cache_open_bytes(struct module_cache *cache, struct str bytes, struct str path,
                            struct module **out, struct error *err);

/* The module that module_skeleton_write() has written. */
int module_cache_open_skeleton(struct module_cache *cache, struct str skeleton, struct module **out,
                               struct error *err);

/* The code that the kernel maps into every process, from our own memory. */
int module_cache_open_vdso(struct module_cache *cache, struct module **out, struct error *err);

/* How many more files may be referred to. */
size_t module_cache_room(const struct module_cache *cache);

struct module_cache_sizes {
	size_t modules;
	size_t symbol_bytes; /* of symbol tables in memory */
};

void module_cache_sizes(const struct module_cache *cache, struct module_cache_sizes *out);
