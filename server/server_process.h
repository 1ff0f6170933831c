/*
 * A process that serves until it is told to stop: signals, options read again, the end.
 *
 *	SIGHUP:  read options again, swap limits and log level
 *	SIGTERM: companion ends -> server drains, commits and closes -> exit 0
 *
 * Shape    what a command runs beside the server is its companion: begun when the server
 *          is open, ended before it closes.
 * Threads  the first thread of the process; a companion may stop it from any thread by
 *          server_process_stop().
 */
#pragma once

#include "base/error.h"

struct options;
struct server;

struct server_companion {
	int (*begin)(void *context, struct server *server, struct error *err);
	void (*end)(void *context);
	void *context;
};

struct server_process {
	const struct options *options;
	int argc; /* read again on SIGHUP */
	char **argv;
	const struct server_companion *companion; /* or NULL */
	struct server *server;                    /* while it is open */
};

/* Returns the exit status. */
int server_process_run(struct server_process *process);

/* As SIGTERM does. */
void server_process_stop(void);
