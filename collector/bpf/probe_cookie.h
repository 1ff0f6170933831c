/*
 * What a probe carries: its function, and how far the code of its library reaches, so that
 * who is called from inside of it is known.
 *
 * Shape    bits 0-15: the line of cuda_functions.def; 16-39: pages of code before the
 *          function's own; 40-63: pages behind it.
 * Source   collector specification 2.2
 */
#ifndef COLLECTOR_BPF_PROBE_COOKIE_H
#define COLLECTOR_BPF_PROBE_COOKIE_H

#ifndef __BPF__
#include <linux/types.h>
#endif

#define PROBE_COOKIE_PAGE_BITS 12
#define PROBE_COOKIE_PAGES_MAX 0xffffffULL /* 64 GiB of code */

static inline __u64 probe_cookie_make(__u64 function, __u64 pages_before, __u64 pages_behind)
{
	return (function & 0xffff) | (pages_before & PROBE_COOKIE_PAGES_MAX) << 16 |
	       (pages_behind & PROBE_COOKIE_PAGES_MAX) << 40;
}

static inline __u64 probe_cookie_function(__u64 cookie)
{
	return cookie & 0xffff;
}

static inline __u64 probe_cookie_pages_before(__u64 cookie)
{
	return cookie >> 16 & PROBE_COOKIE_PAGES_MAX;
}

static inline __u64 probe_cookie_pages_behind(__u64 cookie)
{
	return cookie >> 40;
}

#endif
