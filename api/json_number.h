/*
 * Numbers in the wide reading that protobuf's JSON has: 1.0, 1.5e3 and "15e2" are
 * integers.
 *
 * Shape    a text must be a JSON number and nothing else: no blanks, no leading zeros, no
 *          '+'.
 * Source   read specification, 2.8
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/*
 * The whole number that the text says, exactly; false for fractions and what does not
 * fit.
 */
bool json_number_to_i64(struct str text, int64_t *out);

/* The same of a number that was read already. */
bool json_number_from_real(double real, int64_t *out);

/* The number that the text says; also NaN, Infinity and -Infinity. */
bool json_number_to_double(struct str text, double *out);
