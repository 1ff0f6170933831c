/*
 * A store in memory for tests: a list of profiles, each one stack of one frame.
 *
 * Shape    series() visits distinct label sets, scan() profiles, scan_samples() their one
 *          sample each, merge() and merge_paths() sums by part as storage/store.h says, stats() has the oldest
 *          and the newest time. There is nothing else.
 */
#pragma once

#include "storage/store.h"

/* One profile: "a=1,b=2" are its labels, `frame` is its only frame. */
struct fake_profile {
	const char *labels;
	int64_t time_unix_ns;
	int64_t total;
	const char *frame;
};

struct fake_store {
	struct store store; /* first: what callers see */
	const struct fake_profile *profiles;
	size_t count;
	size_t merges; /* calls so far */
	size_t scans;
};

void fake_store_init(struct fake_store *fake, const struct fake_profile *profiles, size_t count);
