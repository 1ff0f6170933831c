/*
 * The driver libraries of this machine that have probes, by what file they are.
 *
 * Shape    a library is (device, inode, size, time of change). It keeps its descriptor, and
 *          its probes as long as a process has it mapped and LIBRARY_KEEP_NS longer. A file
 *          that is overwritten in place is another one and gets its probes anew. One that
 *          was refused is tried again after LIBRARY_RETRY_NS. Probes cost time: a process
 *          may bring LIBRARIES_OF_ONE_MAX, and who brings many makes room for who does not.
 * Units    nanoseconds of any clock that does not jump.
 * Errors   those of the attacher; ERROR_TOO_LARGE past LIBRARIES_MAX.
 * Threads  none.
 * Source   collector specification 4.3
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"

#define LIBRARIES_MAX        256
#define LIBRARIES_OF_ONE_MAX 8
#define LIBRARY_KEEP_NS      (INT64_C(600) * 1000000000)
#define LIBRARY_RETRY_NS     (INT64_C(60) * 1000000000)

/* Who sets probes: probe_set, or a test. */
struct library_attacher {
	/* Returns 0, the link, and how many functions it is on. */
	int (*attach)(void *context, int descriptor, void **out_link, size_t *out_functions,
	              struct error *err);
	void (*detach)(void *context, void *link);
	void *context;
};

struct library_counts {
	size_t libraries; /* with probes */
	size_t functions; /* of all of them */
	size_t refused;   /* libraries that could not get probes */
	uint64_t errors;  /* attempts that failed since the start */
};

struct library_table;

struct library_table *library_table_new(const struct library_attacher *attacher)
	__attribute__((returns_nonnull));

/* Detaches all. */
void library_table_free(struct library_table *table);
DEFINE_FREEP(library_table)

struct library_offer {
	int descriptor;
	uint32_t owner; /* the process that has it mapped; 0: it lies where drivers do */
	int64_t now_ns;
};

/*
 * A process has this file mapped now: takes the descriptor, and sees to its probes. -1 and
 * the error when it has none after that and was tried just now; 0 also when it is not yet
 * time to try again.
 */
int library_table_offer(struct library_table *table, const struct library_offer *offer,
                        struct error *err);

/* Looks for files that changed, and drops what nobody has mapped any more. */
void library_table_sweep(struct library_table *table, int64_t now_ns);

struct library_counts library_table_counts(const struct library_table *table);

/* Asserts that all have a descriptor, no file stands twice, and counts are right. */
void library_table_check(const struct library_table *table);
