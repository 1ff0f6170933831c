/*
 * Knows who processes are: by /proc, by the files of this machine, by the API server.
 *
 * Shape    container and pod of a process come from the first of: the files of container
 *          engines, the kubelet's logs, the API server, the process' own files. What the
 *          API server alone knows (labels, owners) is waited for, by whoever publishes.
 *          Without Kubernetes there is no thread, and for a process that is in no container no
 *          file but its own and the list of the machine's users, when that has changed.
 * Errors   of opening: ERROR_IO for a root that cannot be read, those of pod_watch.h.
 * Threads  none but the watch's own: the collector's.
 * Source   collector specification 6
 */
#pragma once

#include "collector/identity/kubernetes_access.h"
#include "collector/identity/pod_watch.h"
#include "collector/identity/process_identity.h"

struct identifier_options {
	const char *proc;      /* NULL: "/proc" */
	const char *host_root; /* "": that of process 1, else our own */
	const char *node;      /* as Kubernetes calls this machine; "": as itself does */
	const struct kubernetes_access *access; /* NULL: no API server is asked */
};

struct identifier;

int identifier_open(const struct identifier_options *options, struct identifier **out,
                    struct error *err);

/* NULL is fine. */
void identifier_close(struct identifier *identifier);

/* Borrowed: it ends with the identifier. */
struct process_namer identifier_namer(struct identifier *identifier);

struct identifier_counts {
	bool has_watch; /* the rest is of it */
	struct pod_watch_counts watch;
	struct pod_table_counts table;
};

struct identifier_counts identifier_counts(struct identifier *identifier);
