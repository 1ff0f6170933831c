/*
 * When the groups of a window have profiles, as far as memory knows: so that whether there
 * is one in a range is answered without a read, mostly.
 *
 * Shape    of each group the bounds between which its oldest profile lies, and its newest.
 *          They begin as those of the day, narrow when somebody has looked into the file
 *          (group_times_learn), and move with what the writer commits: from then on they
 *          are exact. When something is removed nothing is known any more.
 * Units    Unix nanoseconds; ranges are inclusive at both ends.
 * Threads  any; a lock inside. The writer tells what it has committed before it answers,
 *          so that whoever asks after an answer knows of it.
 *
 * Invariants of what is known of a group, at every moment, for committed profiles:
 *   1. its oldest profile lies in [oldest_low, oldest_high], its newest in
 *      [newest_low, newest_high];
 *   2. oldest_low > newest_high: it has none;
 *   3. oldest_high is INT64_MAX: nobody knows whether it has any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct group_times;

/* Of the window of a day. */
struct group_times *group_times_new(int32_t day) __attribute__((returns_nonnull));
void group_times_free(struct group_times *times);
DEFINE_FREEP(group_times)

size_t group_times_bytes(struct group_times *times);

/* ---- asking ---- */

enum group_presence {
	GROUP_UNKNOWN, /* nobody has looked yet */
	GROUP_UNSURE,  /* somebody has: the range lies inside of what is known */
	GROUP_ABSENT,
	GROUP_PRESENT,
};

/* Whether the group has a profile in the range. */
enum group_presence group_times_ask(struct group_times *times, uint32_t group,
                                    int64_t start_unix_ns, int64_t end_unix_ns);

/* ---- learning ---- */

struct group_bounds {
	int64_t oldest_low;
	int64_t oldest_high;
	int64_t newest_low;
	int64_t newest_high;
};

/* Bounds of a group without a profile. */
#define GROUP_BOUNDS_NONE ((struct group_bounds){ INT64_MAX, INT64_MAX, INT64_MIN, INT64_MIN })

/* To be asked before a look into the file begins, and handed over with what was seen. */
uint64_t group_times_epoch(struct group_times *times);

/* What a look has seen; forgotten when something was removed since the epoch was asked. */
void group_times_learn(struct group_times *times, uint64_t epoch, uint32_t group,
                       const struct group_bounds *bounds);

/* ---- the writer ---- */

/* A profile was committed. */
void group_times_add(struct group_times *times, uint32_t group, int64_t time_unix_ns);

/* What a transaction has changed: told when it is committed, dropped when it is not. */
struct group_news {
	struct group_news_item {
		uint32_t group;
		int64_t time_unix_ns;
	} * items;
	size_t count;
	size_t capacity;
	bool removes; /* profiles went */
};

void group_news_add(struct group_news *news, uint32_t group, int64_t time_unix_ns);
void group_news_tell(struct group_news *news, struct group_times *times);
void group_news_drop(struct group_news *news);

/* Fine on a zeroed one. */
void group_news_fini(struct group_news *news);

/* Anything may have changed; or nobody needs what is known. */
void group_times_forget_all(struct group_times *times);
