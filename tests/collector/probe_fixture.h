/*
 * The programs in the kernel on the stub driver, a workload under them, and what it said beside
 * what they sent and counted.
 *
 * Errors   what must not fail in a test fails it.
 * Threads  none.
 */
#pragma once

#include <stdint.h>

#include "collector/bpf/probe_set.h"
#include "tests/collector/event_log.h"
#include "tests/collector/workload_run.h"

/* The programs on the stub, and what they sent. */
struct probe_fixture {
	struct probe_set *set;
	struct probe_link *link;
	size_t links; /* on the same library */
	struct event_log log;
	uint64_t losses[PROBE_LOSS_COUNT]; /* at the start of the test */
};

void probe_fixture_init(struct probe_fixture *fixture, const struct probe_set_options *options);
void probe_fixture_fini(struct probe_fixture *fixture);

/* Another set of probes on the library at `path`. */
struct probe_link *probe_fixture_attach(struct probe_set *set, const char *path);

/* Starts a case of the workload; what was sent and lost before counts no more. */
struct workload probe_fixture_start(struct probe_fixture *fixture, const char *name,
                                    const uint64_t *numbers, const char *setting);

/* The same, and drains until its end was seen. */
struct workload probe_fixture_run(struct probe_fixture *fixture, const char *name,
                                  const uint64_t *numbers, const char *setting);

/* For who waits for a condition that nobody tells. */
void probe_fixture_pause(void);

/* Since the start of the last workload. */
uint64_t probe_fixture_lost(const struct probe_fixture *fixture, enum probe_loss loss);

/* The counters of a process over all classes. */
struct cuda_counters probe_fixture_counted(const struct probe_fixture *fixture, pid_t pid);

/* The counters of a process are what it said. */
void assert_counted(const struct probe_fixture *fixture, const struct workload *workload,
                    pid_t pid);

void assert_nothing_lost(const struct probe_fixture *fixture);

/* Each call that the process said is an event, in the same order, and no other is there. */
void assert_same_calls(const struct probe_fixture *fixture, const struct workload *workload);
