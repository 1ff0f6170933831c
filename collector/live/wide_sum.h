/*
 * Sums of bytes that processes claim: exact whatever a process says, cut when shown.
 *
 * Shape    a driver that lies may give out blocks of 2^63 bytes, many of them; what is
 *          added can then be taken away again without having wrapped.
 * Source   collector specification 3.2
 */
#pragma once

#include <stdint.h>

typedef unsigned __int128 wide_sum;

/* As a profile's value: at most 2^63 - 1. */
static inline int64_t wide_sum_value(wide_sum sum)
{
	return sum > (wide_sum)INT64_MAX ? INT64_MAX : (int64_t)sum;
}
