/*
 * Pyroscope's way to write a time in a query parameter: from, until.
 *
 * Shape    never an error: what is not understood is now. RFC 3339 (with a 'T') is
 *          understood too, as a superset, where `flags` says so (reads; writes keep the
 *          reference's reading).
 * Units    Unix nanoseconds; numbers past int64 are clamped.
 * Source   ingest specification, 3.4; read specification, 4.2
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

enum time_syntax_flag {
	TIME_SYNTAX_RFC3339 = 1 << 0,
};

int64_t time_syntax_parse(struct str text, int64_t now_unix_ns, unsigned flags);
