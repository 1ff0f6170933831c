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

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

enum time_syntax_flag {
	TIME_SYNTAX_RFC3339 = 1 << 0,
};

int64_t time_syntax_parse(struct str text, int64_t now_unix_ns, unsigned flags);

/*
 * The same for what must not be mistaken: false for everything that is not exactly now, a
 * distance from it (now-1h, -1h, now+5m), a date (2026-01-31, midnight of UTC), an RFC 3339
 * time, or a number of s, ms, us or ns by its digits.
 */
bool time_syntax_read(struct str text, int64_t now_unix_ns, int64_t *out_unix_ns);
