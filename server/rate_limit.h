/*
 * How fast a tenant may send: a bucket of bytes a tenant.
 *
 * Shape    a bucket fills at `rate` up to `burst`. What costs more than a full bucket
 *          passes never, as the reference has it. At most RATE_LIMIT_TENANTS_MAX
 *          buckets; past it the fullest one is forgotten, which favours its tenant.
 * Units    bytes and bytes a second; monotonic nanoseconds.
 * Threads  any; one lock, held for a look-up.
 * Source   ingest specification, 1.5
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

#define RATE_LIMIT_TENANTS_MAX 10000 /* buckets; a guess */

struct rate_limit;

struct rate_limit *rate_limit_new(void) __attribute__((returns_nonnull));
void rate_limit_free(struct rate_limit *limit);
DEFINE_FREEP(rate_limit)

/* True when `cost` bytes may pass now; then they are taken. A rate of 0 is no limit. */
bool rate_limit_take(struct rate_limit *limit, struct str tenant, double cost, double rate,
                     double burst, int64_t now_mono_ns);

/* Whether they may pass now; nothing is taken. */
bool rate_limit_has(struct rate_limit *limit, struct str tenant, double cost, double rate,
                    double burst, int64_t now_mono_ns);
