/*
 * One Profile of an OTLP request, but for its samples.
 *
 * Shape    what stands once, as it was sent: indices into the dictionary, not followed
 *          yet. Samples are counted; they, and the frames of layouts without a table of
 *          stacks, stay in `message`.
 * Units    nanoseconds, Unix time.
 * Errors   ERROR_INVALID for malformed bytes and past OTLP_SAMPLE_TYPES_MAX.
 * Threads  none.
 * Source   ingest specification, 5.2 and 5.3
 */
#pragma once

#include "base/error.h"
#include "formats/otlp_layout.h"

#define OTLP_SAMPLE_TYPES_MAX 64 /* of one profile; a guess: senders have one or two */

/* Indices of strings. */
struct otlp_value_type {
	uint64_t type;
	uint64_t unit;
};

struct otlp_profile {
	struct str message;
	struct str indices; /* the part of it with the fields that are indices of locations */
	struct otlp_value_type sample_types[OTLP_SAMPLE_TYPES_MAX];
	size_t sample_type_count;
	struct otlp_value_type period_type;
	bool has_period_type;
	int64_t period;
	uint64_t time;
	uint64_t duration;
	size_t sample_count;
};

int otlp_profile_read(const struct otlp_layout *layout, struct str message,
                      struct otlp_profile *out, struct error *err);
