/*
 * Numbers for a person to read: 1.5 GiB, 2.40 s, 1,234.
 *
 * Shape    the unit of a profile type decides: bytes in powers of 1024, nanoseconds (and
 *          micro-, milliseconds, seconds) from ns to h, everything else as a number with
 *          its unit behind it.
 * Threads  any.
 */
#pragma once

#include <stdint.h>

#include "base/str.h"

#define QUANTITY_SIZE 64 /* the longest text with its NUL */

/*
 * Writes at most QUANTITY_SIZE bytes. Units that are not known are left out when they say
 * nothing more than "count".
 */
void quantity_format(int64_t value, struct str unit, char text[static QUANTITY_SIZE]);

/* The same with a sign in any case: +1.5 GiB, -2 s, 0 B. */
void quantity_format_change(int64_t value, struct str unit, char text[static QUANTITY_SIZE]);

/* part / whole as "12.3%"; "-" when whole is 0. */
void quantity_format_percent(int64_t part, int64_t whole, char text[static QUANTITY_SIZE]);
