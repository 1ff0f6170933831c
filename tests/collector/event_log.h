/*
 * All that a probe_set sends, kept for a test to look at.
 *
 * Shape    whole records in the order of the ring.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/bpf/probe_set.h"

struct event_log {
	struct cuda_event **events;
	size_t *sizes;
	size_t count;
	size_t capacity;
};

/* Zeroed is empty. */
void event_log_fini(struct event_log *log);
void event_log_reset(struct event_log *log);

/* For probe_set_handlers. */
void event_log_add(void *context, const struct cuda_event *event, size_t size);

/* The n-th event of a process, NULL behind the last; with its kind, unless that is 0. */
const struct cuda_event *event_log_find(const struct event_log *log, pid_t pid, uint32_t kind,
                                        size_t n);

/* How many of a kind there are (0: of any). */
size_t event_log_count(const struct event_log *log, pid_t pid, uint32_t kind);

/* The captured stack of an event, or NULL when it has none. */
const struct cuda_stack_event *event_log_stack(const struct event_log *log,
                                               const struct cuda_event *event);
