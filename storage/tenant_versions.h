/*
 * Numbers that change when something is written: whether an answer that was begun earlier
 * is still as good as a new one.
 *
 * Shape    a counter for each of some sets of tenants: one that never stands still does
 *          not disturb the others, but for its neighbours in a set.
 * Threads  any. The writer moves a number after a commit and before its answers, so that
 *          whoever was answered, and whoever hears of it, sees another one.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "base/hash.h"

#define TENANT_VERSION_SETS 64 /* a power of two; a guess */

/* Zeroed, it is ready. */
struct tenant_versions {
	_Atomic uint64_t counts[TENANT_VERSION_SETS];
};

static inline _Atomic uint64_t *tenant_versions_at(struct tenant_versions *versions,
                                                   struct str tenant)
{
	return &versions->counts[hash64(0, tenant.data, tenant.length) % TENANT_VERSION_SETS];
}

static inline uint64_t tenant_versions_get(struct tenant_versions *versions, struct str tenant)
{
	return atomic_load(tenant_versions_at(versions, tenant));
}

static inline void tenant_versions_move(struct tenant_versions *versions, struct str tenant)
{
	atomic_fetch_add(tenant_versions_at(versions, tenant), 1);
}
