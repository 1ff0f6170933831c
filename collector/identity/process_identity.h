/*
 * Who a process is: its names, as they are at its first sight.
 *
 * Shape    read once from /proc, each file up to a bound, and kept: labels must not flap.
 *          Of the environment only the variables below are looked at, and nothing else of
 *          it stays in memory. Texts are UTF-8, at most IDENTITY_TEXT_MAX bytes.
 * Errors   none: what cannot be read is not known; then the next rule counts.
 * Threads  none.
 * Source   collector specification 6.4: rules 1, 2, 6, 7, 8, 9 of the service's name
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define IDENTITY_TEXT_MAX 255

struct process_identity {
	char service_name[IDENTITY_TEXT_MAX + 1]; /* without a suffix; never empty */
	char comm[IDENTITY_TEXT_MAX + 1];         /* of the main thread */
};

/*
 * Reads `proc`/TGID (proc is "/proc"). `comm` is a task's name for a process that has
 * gone already, or "".
 */
void process_identity_read(const char *proc, uint32_t tgid, const char *comm,
                           struct process_identity *out);

/* Whoever knows who a process is: /proc, or a recording. */
struct process_namer {
	void (*identify)(void *context, uint32_t tgid, const char *comm,
	                 struct process_identity *out);
	void *context;
};

/* One that reads `proc`, which outlives it. */
struct process_namer process_namer_of_proc(const char *proc);

/* ---- its parts, each of the bytes of one file ---- */

/*
 * OTEL_SERVICE_NAME, service.name of OTEL_RESOURCE_ATTRIBUTES, or
 * PYROSCOPE_APPLICATION_NAME, the first that says something. False when none does.
 */
bool process_identity_of_environment(struct str environment, char out[IDENTITY_TEXT_MAX + 1]);

/* The unit of the last component of the path in cgroup's text: "ollama" of ollama.service. */
bool process_identity_of_cgroup(struct str text, char out[IDENTITY_TEXT_MAX + 1]);
