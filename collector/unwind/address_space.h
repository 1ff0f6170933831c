/*
 * What code a process has mapped, and from which files: from an address to a module.
 *
 * Shape    executable mappings, ascending and apart. They are learned from the process' maps
 *          and from its mmap() calls as the kernel reports them. Files are opened at once,
 *          since the process may end at any time; then the last that was known stays.
 *          All spaces share the files that may be open: one refers to no more of them than
 *          there could still be others', so however many a process maps, something is left.
 * Units    addresses are the process'.
 * Errors   none past the making: what cannot be read is not known.
 * Threads  none: the collector's.
 * Source   unwinding specification 1.1, 6.4
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "collector/unwind/mapping_list.h"
#include "collector/unwind/process_view.h"

#define ADDRESS_SPACE_MAPPINGS_MAX    4096 /* executable ones; a large process has 500 */
#define ADDRESS_SPACE_PATHS_MAX       ((size_t)1 << 20) /* bytes of paths; further ones are empty */
#define ADDRESS_SPACE_REREAD_NS       (10 * INT64_C(1000000)) /* between two readings of maps */
#define ADDRESS_SPACE_REREAD_COST     16 /* each counts for as many times what it takes, */
#define ADDRESS_SPACE_REREAD_BURST_NS (200 * INT64_C(1000000))  /* and none is done beyond that */
#define ADDRESS_SPACE_MAP_NS          (1 * INT64_C(1000000))    /* for which a mapping counts, */
#define ADDRESS_SPACE_MAP_BURST_NS    (1000 * INT64_C(1000000)) /* and none is taken beyond that */

struct address_space;
struct perf_map;

/* Takes the view. Nothing is read yet. */
struct address_space *address_space_new(struct module_cache *modules,
                                        const struct process_view *view)
	__attribute__((returns_nonnull));
void address_space_free(struct address_space *space);
DEFINE_FREEP(address_space)

/* Reads the maps of the process now: at its first sight, and after an exec. */
int address_space_read(struct address_space *space, struct error *err);

/* Takes the place of what was known by what this text says. */
void address_space_parse(struct address_space *space, struct str maps);

/* The process has mapped this for execution, over whatever was there. */
void address_space_map(struct address_space *space, const struct mapped_file *file);

/*
 * The mapping of an address, or NULL. The maps are read again for one that is not known, or
 * when mappings came too fast to be taken one by one; at most every ADDRESS_SPACE_REREAD_NS.
 * Valid until the next call that may read.
 */
const struct mapping *address_space_find(struct address_space *space, uint64_t address);

/* The same without reading. */
const struct mapping *address_space_known(const struct address_space *space, uint64_t address);

/* Whether a return address lies in a trampoline of python -X perf, and in which. */
enum trampoline_state address_space_trampoline(struct address_space *space,
                                               uint64_t return_address);

/* Names of code made at run time, as new as they are now; NULL when there are none. */
struct perf_map *address_space_perf_map(struct address_space *space);

/* All of them, for parts that look for a file among them. */
const struct mapping *address_space_mappings(const struct address_space *space, size_t *out_count);

/* How many modules were opened for it so far; another number when there is a new one. */
uint64_t address_space_opened(const struct address_space *space);

/* Whether the process is known to have ended. */
bool address_space_is_gone(const struct address_space *space);

/* The memory of the process; returns how many bytes there were. */
size_t address_space_memory(const struct address_space *space, uint64_t address, void *to,
                            size_t length);
