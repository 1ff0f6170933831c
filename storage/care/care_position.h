/*
 * How far long work over several files is.
 *
 * Shape    a file counts with the bytes that it was listed with, whatever is read of it: the
 *          sum comes out right.
 * Threads  none.
 */
#pragma once

#include "storage/care/damage_report.h"
#include "storage/care/store_listing.h"

struct care_position {
	const struct care_progress *progress; /* or NULL */
	const char *file;
	uint64_t before; /* bytes of the files that are done */
	uint64_t within; /* of the one at hand */
	uint64_t bytes;  /* that it has */
	uint64_t all;
};

static inline void care_position_tell(const struct care_position *position)
{
	const struct care_progress *progress = position->progress;

	if (progress && progress->tell)
		progress->tell(progress->context, position->file,
		               position->before + position->within, position->all);
}

/* The next file. */
static inline void care_position_next(struct care_position *position,
                                      const struct listed_file *file)
{
	position->before += position->bytes;
	position->file = file->name;
	position->bytes = file->bytes;
	position->within = 0;
	care_position_tell(position);
}

static inline void care_position_add(struct care_position *position, uint64_t bytes)
{
	if (bytes < position->bytes - position->within)
		position->within += bytes;
	else
		position->within = position->bytes;
	care_position_tell(position);
}
