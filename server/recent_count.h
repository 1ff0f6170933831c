/*
 * How many of something there were in the last minute.
 *
 * Shape    a count for each of the last RECENT_SECONDS seconds of a clock that only goes on.
 * Threads  any: a lock guards it.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#define RECENT_SECONDS 60

struct recent_count {
	pthread_mutex_t lock; /* guards everything below */
	int64_t newest;       /* second */
	uint64_t counts[RECENT_SECONDS];
};

void recent_count_init(struct recent_count *recent);
void recent_count_fini(struct recent_count *recent);

void recent_count_add(struct recent_count *recent, int64_t now_mono_ns, uint64_t count);

/* Those of this second and the RECENT_SECONDS - 1 before it. */
uint64_t recent_count_sum(struct recent_count *recent, int64_t now_mono_ns);
