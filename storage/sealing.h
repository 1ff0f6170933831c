/*
 * A window that is over, written anew beside itself: compact, and never to be changed.
 *
 * Shape    symbols in large pages, blocks without origins, of each family's day first the
 *          details and then what most questions read, side by side; no fresh rows, no free
 *          pages, no log. Whatever goes into it has been decoded before. Written step by step,
 *          so that the caller can rest; on disk when the last step is done. The window goes on
 *          meanwhile: whether it has changed is the caller's to see.
 * Errors   as storage/database.h; ERROR_UNAVAILABLE when it has fresh rows; ERROR_CORRUPT
 *          when it does not read back.
 * Threads  none.
 * Source   docs/formats/store.md, "Sealed windows"
 */
#pragma once

#include "storage/reader.h"

struct budget;

struct sealing_source {
	struct reader *reader; /* in a visit, which lasts as long as the sealing */
	const struct window_tables *tables;
	struct str tenant;
	int32_t day;
	const char *path; /* of the window */
	struct budget *budget;
};

struct sealing;

/* What `source` refers to stays until the end. Whatever lies at the file's place is gone. */
int sealing_begin(const struct sealing_source *source, struct sealing **out, struct error *err);

/* 1: there is more; 0: that was all. */
int sealing_step(struct sealing *sealing, struct error *err);

/* Where the file lies. */
const char *sealing_path(const struct sealing *sealing);

/* Removes the file if it is still there. NULL is fine. */
void sealing_end(struct sealing *sealing);

static inline void sealing_endp(struct sealing **sealing)
{
	sealing_end(*sealing);
}
