/*
 * What this machine's files know of its containers, by id.
 *
 * Shape    in this order, the first that knows: the bundles of containerd, CRI-O and
 *          nerdctl, Docker's and Podman's own files, the names of the kubelet's logs.
 *          Answers are kept: a container's names never change. That nobody knew is kept
 *          for CONTAINER_LOOKUP_AGAIN_NS.
 * Units    nanoseconds of the monotonic clock.
 * Errors   none: what is not known is empty.
 * Threads  none: the collector's.
 * Source   collector specification 6.2, 6.3
 */
#pragma once

#include "base/cleanup.h"
#include "collector/identity/container_facts.h"
#include "collector/identity/host_files.h"

#define CONTAINER_LOOKUP_MAX      512 /* answers that are kept; then all are asked for anew */
#define CONTAINER_LOOKUP_AGAIN_NS (INT64_C(10) * 1000000000) /* a guess */

struct container_lookup;

/* The files outlive it. */
struct container_lookup *container_lookup_new(const struct host_files *files)
	__attribute__((returns_nonnull));
void container_lookup_free(struct container_lookup *lookup);
DEFINE_FREEP(container_lookup)

/* `pod_uid` is what is known of it already, or "". */
void container_lookup_find(struct container_lookup *lookup, const char *id, const char *pod_uid,
                           int64_t now_mono_ns, struct container_facts *out);
