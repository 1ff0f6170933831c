/*
 * The thread that makes blocks of what is not written any more.
 *
 * Shape    goes over the windows that may have fresh rows, now and then, and makes what is
 *          due (storage/due_blocks.h) into blocks: each is read and built here, and put
 *          into its place by the writer, in one short transaction. Windows that are over and
 *          all in blocks are sealed (storage/sealer.h). It rests three times
 *          as long as it has worked, the writer's part included: at most a quarter of one
 *          core. A window that this process has not written is looked at once, some time
 *          after the start.
 * Errors   are logged here; what failed is tried again later.
 * Threads  any.
 * Source   docs/architecture.md, "The store"
 */
#pragma once

#include "storage/window_set.h"
#include "storage/writer.h"

struct compactor;

struct compactor_options {
	struct window_set *windows;
	struct writer *writer;
	int64_t grace_ns;          /* an hour that nothing came for so long is done */
	int64_t seal_after_ns;     /* likewise a day */
	int64_t last_used_unix_ns; /* of the store, before this process */
	struct budget *budget;     /* or NULL */
};

int compactor_start(const struct compactor_options *options, struct compactor **out,
                    struct error *err);

/* Ends the thread after the block at hand. NULL is fine. */
void compactor_stop(struct compactor *compactor);

/*
 * Makes and seals all that is due now, without rests, and waits for it. Gives the last error of what
 * could not be made.
 */
int compactor_run(struct compactor *compactor, struct error *err);

struct compactor_counts {
	uint64_t blocks;   /* made */
	uint64_t profiles; /* fresh ones that went into them */
	uint64_t cpu_ns;
	uint64_t backlog; /* fresh profiles that are due */
	uint64_t sealed;  /* windows */
};
void compactor_count(struct compactor *compactor, struct compactor_counts *out);
