/*
 * Seals windows: decides which, has them written anew, and has the writer give the new file
 * the old one's place.
 *
 * Shape    a window is due when its day ended so long ago, and nothing was written to it for
 *          so long (its file says when), that no sender will try again with what is in it; and
 *          when all is in blocks. What changed meanwhile, or did not fit the disk, is tried
 *          again later, each time after a longer while; what does not read back is left as it
 *          is.
 * Errors   are logged here, a full disk once until there is room.
 * Threads  the compactor's alone.
 * Source   docs/formats/store.md, "Sealed windows"
 */
#pragma once

#include "storage/trusted_time.h"
#include "storage/writer.h"

/* How long a window waits that something was in the way of so often, from once on. */
int64_t sealer_wait_ns(unsigned tries);

struct sealer_options {
	struct window_set *windows;
	struct writer *writer;
	int64_t after_ns;
	struct budget *budget; /* or NULL */
	/* called after each step with what it took; false: give up */
	bool (*rest)(void *context, int64_t cpu_ns);
	void *context;
};

struct sealer {
	struct sealer_options options;
	struct trusted_time time;
	bool has_told_full; /* that the disk is */
};

void sealer_init(struct sealer *sealer, const struct sealer_options *options,
                 int64_t last_used_unix_ns);

/*
 * Seals the window, which the caller holds, if it is due: true when it was. *err (or
 * ERROR_NONE) says why one that is due was not. `hurries`: also when it failed a moment ago.
 */
enum sealer_haste {
	SEALER_LATER,
	SEALER_NOW, /* also what failed a moment ago */
};
bool sealer_look(struct sealer *sealer, struct window *window, enum sealer_haste haste,
                 struct error *err);
