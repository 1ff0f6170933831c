/*
 * Signals of a process that runs until it is told to stop.
 *
 * Shape    SIGTERM, SIGINT and SIGHUP are blocked, for whoever waits for them; SIGPIPE is
 *          ignored.
 * Threads  before any other starts, and before a fork: threads and children inherit it.
 */
#pragma once

#include <signal.h>

/* Fills `out`, unless it is NULL, with what is waited for. */
void process_signals_block(sigset_t *out);
