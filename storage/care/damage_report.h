/*
 * Who hears of what a check finds, and how far it is.
 *
 * Shape    each damaged thing is told once, by file, table and place, in words; whoever
 *          checks goes on after it. Long work says how many bytes are behind it.
 * Threads  the caller's.
 */
#pragma once

#include <stdint.h>

struct damage {
	const char *file;  /* below the folder that is checked */
	const char *table; /* or NULL: the file as a whole */
	const char *where; /* the row, as its key; or NULL: the table as a whole */
	const char *what;  /* one line */
};

struct damage_report {
	void (*tell)(void *context, const struct damage *damage);
	void *context;
};

/* For a line that is written anew: what is at hand, and bytes. */
struct care_progress {
	void (*tell)(void *context, const char *file, uint64_t done_bytes, uint64_t all_bytes);
	void *context;
};
