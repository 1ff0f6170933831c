/*
 * One picture after the other on a terminal, until a person has seen enough.
 *
 * Shape    ends with SIGINT, SIGTERM or the key q. Keys are read where standard input is
 *          a terminal; arrows up and down are k and j. The terminal is left as it was
 *          found.
 * Errors   those of writing; what a picture cannot be made for is shown instead of it.
 * Threads  the main thread's: signals are the process'.
 */
#pragma once

#include "server/command/terminal.h"

struct terminal_watch {
	int64_t every_ns;
	/* appends a picture; an error is shown, and it is tried again */
	int (*draw)(void *context, const struct terminal *terminal, struct strbuf *out,
	            struct error *err);
	void (*press)(void *context, char key); /* or NULL: no key is asked for */
	void *context;
};

int terminal_watch_run(const struct terminal_watch *watch, struct error *err);
