/*
 * SIGHUP of a program that has no server: the log level is read again.
 *
 * Shape    a thread that waits for the signal and loads the options as at the start. Of
 *          those that change on SIGHUP only the level means something to a collector. What
 *          is wrong with them is said, and what was in force stays.
 * Errors   opening: ERROR_IO.
 * Threads  its own; the signal is blocked in all threads (process_signals.h).
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"

struct log_reload;

/* The arguments of the command, as main() has them; they outlive it. */
int log_reload_open(int argc, char **argv, struct log_reload **out, struct error *err);

/* NULL is fine. */
void log_reload_close(struct log_reload *reload);

static inline void log_reload_closep(struct log_reload **reload)
{
	log_reload_close(*reload);
}
