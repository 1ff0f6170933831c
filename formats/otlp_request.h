/*
 * ExportProfilesServiceRequest: OTLP profiles of every layout in the wild, as pairs of a
 * pprof and its labels.
 *
 * Shape    strings are views into the message, which must outlive the pairs. One pair for
 *          each profile and service that its samples name; profiles without samples give
 *          none. All of a request is converted or nothing.
 * Units    times are Unix nanoseconds. One that cannot be meant (in 1970, or past what 63
 *          bits hold) is taken for none, so that it becomes now, and counted.
 * Errors   ERROR_INVALID for what is malformed or cannot be converted, ERROR_TOO_LARGE past
 *          the limits of formats/otlp_symbols.h and otlp_dictionary.h; arena_error().
 * Threads  none.
 * Source   ingest specification, 5.2 to 5.4 and 11.3
 */
#pragma once

#include "formats/otlp_layout.h"
#include "profile/ingest.h"

struct otlp_options {
	const struct otlp_layout *layout; /* NULL: it is found out */
	const struct ingest_limits *limits;
};

struct otlp_request {
	const struct otlp_layout *layout;
	struct ingest_profile *profiles;
	size_t count;
	size_t times_replaced;
};

int otlp_request_decode(struct str message, const struct otlp_options *options, struct arena *arena,
                        struct otlp_request *out, struct error *err);
