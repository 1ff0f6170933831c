/*
 * The services of a range, for a first look: since when and until when each is heard of,
 * what it has, and how much came when.
 *
 * Shape    of the totals of profiles alone. Those with GPU memory first, then the latest
 *          heard of, then by the bytes of their names.
 * Units    milliseconds as the wire has them; nanoseconds of profiles.
 * Errors   as server/query/read_query.h.
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "server/query/read_query.h"

#define SERVICE_STEPS_MAX 500

struct service_row {
	struct str name;
	bool is_gpu; /* it has series of GPU memory */
	int64_t first_ns;
	int64_t last_ns;
	int64_t series;
	const struct str *types; /* in the order of their bytes */
	size_t type_count;
	int64_t *profiles; /* by step */
};

struct service_listing {
	int64_t start_ms;
	int64_t step_ms;
	size_t step_count;
	struct service_row *rows;
	size_t count;
};

/* Of the query's range and selector, cut into `steps` pieces of whole milliseconds. */
int service_listing_make(const struct read_query *query, size_t steps, struct service_listing *out,
                         struct error *err);
