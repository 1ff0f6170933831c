/*
 * What decoding an OTLP request may cost: its profiles take entries of its tables as often
 * as they like, and few bytes ask for an entry that may have megabytes.
 *
 * Units    a unit is a frame, a text, or OTLP_WORK_UNIT bytes of an entry that is read;
 *          entries are charged where they are had, in otlp_dictionary_entry(). For each of
 *          its bytes a request has OTLP_WORK_PER_BYTE of them.
 * Errors   ERROR_TOO_LARGE when there are none left.
 * Threads  none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define OTLP_WORK_PER_BYTE 16 /* a guess, as these are */
#define OTLP_WORK_LEAST    ((uint64_t)1 << 16)
#define OTLP_WORK_MOST     ((uint64_t)INT32_MAX) /* so that all places of entries fit 32 bits */
#define OTLP_WORK_UNIT     16

struct otlp_work {
	uint64_t left;
};

static inline struct otlp_work otlp_work_of(size_t message_bytes)
{
	const uint64_t units = message_bytes * (uint64_t)OTLP_WORK_PER_BYTE + OTLP_WORK_LEAST;

	return (struct otlp_work){ units < OTLP_WORK_MOST ? units : OTLP_WORK_MOST };
}

static inline int otlp_work_take(struct otlp_work *work, uint64_t units, struct error *err)
{
	if (work->left < units)
		return error_set(err, ERROR_TOO_LARGE,
		                 "the profiles of the request use its dictionary too often: more "
		                 "than %d entries and frames a byte",
		                 OTLP_WORK_PER_BYTE);
	work->left -= units;
	return 0;
}

/* For bytes that are read from end to end. */
static inline int otlp_work_read(struct otlp_work *work, size_t bytes, struct error *err)
{
	return otlp_work_take(work, 1 + bytes / OTLP_WORK_UNIT, err);
}
