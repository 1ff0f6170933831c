/*
 * What a process shows of itself at its first sight: it may be gone at the next.
 *
 * Shape    read once from /proc, each file up to a bound. Of the environment only the
 *          variables below and those of device_sight.h are looked at, and nothing else of
 *          it stays in memory.
 * Errors   none: what cannot be read is empty.
 * Threads  none.
 * Source   collector specification 2.5, 6.1; 6.4, rules 1, 2, 7, 8, 9
 */
#pragma once

#include <stdint.h>

#include "collector/identity/cgroup_path.h"
#include "collector/identity/device_sight.h"

struct process_sight {
	struct label_text comm;     /* of the main thread; never empty */
	struct label_text own_name; /* that its environment gives it */
	struct label_text program;  /* what it runs: a script, or itself */
	struct cgroup_path cgroup;
	struct device_sight devices;
	bool has_uid;
	uint32_t uid; /* the real one, as it is on this machine */
	/* as its pod shows them to it: process_sight_pod() */
	struct label_text pod;
	struct label_text pod_namespace;
};

/* `comm` is a task's name for a process that has gone already, or "". */
void process_sight_read(const char *proc, uint32_t tgid, const char *comm,
                        struct process_sight *out);

/*
 * Of the bytes of an environment: OTEL_SERVICE_NAME, service.name of
 * OTEL_RESOURCE_ATTRIBUTES, or PYROSCOPE_APPLICATION_NAME, the first that says something.
 * False when none does.
 */
bool process_sight_own_name(struct str environment, struct label_text *out);

/* The real uid of a process; false: it is gone. And of its status' text. */
bool process_sight_read_uid(const char *proc, uint32_t tgid, uint32_t *out);
bool process_sight_uid(struct str status, uint32_t *out);

/*
 * Sets pod and namespace as the pod of a process shows them to it: the name of its host,
 * unless it shares the network of the machine, and what lies beside the token of its
 * service account. It is read of a container's own files: only where nobody else knows.
 */
void process_sight_pod(const char *proc, uint32_t tgid, struct process_sight *sight);
