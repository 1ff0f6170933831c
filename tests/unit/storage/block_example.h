/*
 * The block of docs/formats/store.md, "An example": two profiles of one group and two series
 * (samples, and cpu of ten milliseconds each), of the stacks 1 (main) and 2 (main;work).
 *
 *	              stack 1    stack 2
 *	profile 0     4          3
 *	profile 1                1
 */
#pragma once

#include "base/str.h"

#define EXAMPLE_TIME INT64_C(1728043200000000000)
#define EXAMPLE_TICK INT64_C(15000000000)

static const char example_heads[] =
	"\x02\x01\x02"                                 /* profiles, groups, series */
	"\x00\x00\x00"                                 /* group 0 */
	"\x00\x04\x00"                                 /* has 2 profiles */
	"\x00\x80\x80\xbc\xc8\xd0\x88\x9f\xfb\x2f\x01" /* times: from the first one, */
	"\x80\xac\xc7\xf0\x37\x02\x00\x01"             /* 0 and 1 times 15 s */
	"\x00\x00\x00"                                 /* seqs 0 */
	"\x00\x80\xd8\x8e\xe1\x6f\x00"                 /* durations 15 s */
	"\x00\x82\xe3\xfe\xef\x0c\x01\x0f\x02\x00\x01" /* received: a second later */
	"\x00\x02\x01\x06\x01\x01"                     /* totals: 1 + 6 * (1, 0) */
	"\x03\x00\x80\xda\xc4\x09\x00"                 /* series 0 times 10,000,000 */
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" /* ids */
	"\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11";

static const char example_sums[] = "\x01\x02\x02\x02"          /* groups, series, stacks, entries */
				   "\x01\x02\x00"              /* stacks: steps of 1 */
				   "\x00\x04\x00"              /* group 0 has 2 entries */
				   "\x01\x03"                  /* its list is a bitmap: both */
				   "\x00\x00"                  /* no gaps */
				   "\x00\x08\x00"              /* 4 and 3 + 1 */
				   "\x00\x80\xe8\x92\x26\x00"; /* 40,000,000 each */

static const char example_detail[] =
	"\x02\x01\x02\x02\x02\x03\x00"     /* profiles, groups, series, stacks, runs, rows, flags */
	"\x00\x04\x00"                     /* the group has 2 profiles */
	"\x01\x02\x00"                     /* stacks: steps of 1 */
	"\x01\x02\x00"                     /* rows: 1 and 2, so stack 2 comes first */
	"\x01"                             /* its list is a bitmap, that of stack 1 is not */
	"\x03"                             /* profiles 0 and 1 */
	"\x02\x00"                         /* gaps 1: profile 0 */
	"\x00\x02\x01\x01\x03\x02\x00\x03" /* 1 + (2, 0, 3) */
	"\x03\x00\x80\xda\xc4\x09\x00";    /* series 0 times 10,000,000 */

#define EXAMPLE(bytes) ((struct str){ (bytes), sizeof(bytes) - 1 })
