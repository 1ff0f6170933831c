/*
 * A process that collects until it is told to stop: by SIGTERM, or by a SIGINT of its own.
 *
 * Shape    what `collector` and the collector half of `run` have in common: the events of
 *          this machine, a queue of pushes, the end. The end is: last tick, deliver what
 *          waits, say so, detach from the driver (which may take long).
 * Errors   are logged.
 * Threads  the first thread of the process. prepare() comes before any other is started.
 */
#pragma once

#include "base/str.h"
#include "server/push/push_queue.h"

struct options;

enum collector_role {
	COLLECTOR_ALONE,  /* what it cannot watch ends it */
	COLLECTOR_OF_RUN, /* what it cannot watch is said, and the server goes on; a terminal's
	                     SIGINT is the server's, which says stop itself */
};

struct collector_process {
	const struct options *options;
	enum collector_role role;
	struct push_transport transport;
	/* Prometheus text, at each tick */
	void (*metrics)(void *context, struct str text);
	/* nothing is left to be delivered or said */
	void (*delivered)(void *context);
	void *context; /* of both */
};

/* What options say must hold: ERROR_INVALID. Before anything is opened. */
int collector_process_check(const struct options *options, struct error *err);

/* Signals and the log. */
void collector_process_prepare(const struct options *options);

/* Returns the exit status. */
int collector_process_run(const struct collector_process *process);

/* As SIGTERM does; any thread. */
void collector_process_stop(void);
