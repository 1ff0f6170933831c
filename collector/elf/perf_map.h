/*
 * The names that a run-time compiler writes for its code: /tmp/perf-PID.map, lines of
 * "start size name", the numbers in hex.
 *
 * Shape    20 bytes a line, sorted; the names stay in the file and are read when they are
 *          asked for. Where lines overlap the later one wins. Read further when the file has
 *          grown, from the start when it is another one.
 * Units    addresses are the process'.
 * Errors   perf_map_refresh(): ERROR_TOO_LARGE past a limit; what was read before counts.
 *          Lines that make no sense are left out.
 * Threads  none.
 * Source   the kernel's tools/perf/Documentation/jit-interface.txt; collector specification 5
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

#define PERF_MAP_LINES_MAX   ((size_t)1 << 18)    /* 5 MiB in memory */
#define PERF_MAP_BYTES_MAX   ((uint64_t)64 << 20) /* of the file */
#define PERF_MAP_REFRESH_MAX ((size_t)4 << 20)    /* read at once; the rest the next time */
#define PERF_MAP_NAME_MAX    1024                 /* bytes of a name */

struct perf_map;

/* Takes the descriptor of the file. */
struct perf_map *perf_map_new(int descriptor) __attribute__((returns_nonnull));
void perf_map_free(struct perf_map *map);
DEFINE_FREEP(perf_map)

/* Reads what is new. Cheap when nothing is. */
int perf_map_refresh(struct perf_map *map, struct error *err);

/*
 * The name of the code at `address`, in `to` (of PERF_MAP_NAME_MAX + 1 bytes); empty when
 * there is none. *out_start gets where that code begins.
 */
struct str perf_map_find(const struct perf_map *map, uint64_t address, char *to,
                         uint64_t *out_start);

size_t perf_map_lines(const struct perf_map *map);
