/*
 * A pod, as the API server tells of it.
 *
 * Shape    what identity needs, and nothing else: its spec, its environment and secrets in
 *          it are not kept. The owner of a pod whose ReplicaSet belongs to a Deployment is
 *          that Deployment: its name is the ReplicaSet's without "-" and the value of the
 *          pod's label pod-template-hash.
 * Errors   decoding: ERROR_INVALID for what is no pod.
 * Threads  none.
 * Source   collector specification 6.2, 6.4; Kubernetes API, core/v1 Pod
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "collector/identity/cgroup_path.h"

#define POD_CONTAINERS_MAX 64 /* that are kept, of a pod */

struct pod_container {
	char id[CONTAINER_ID_LENGTH + 1];
	struct label_text name;
};

struct pod_record {
	char uid[POD_UID_LENGTH + 1];
	char static_uid[POD_UID_LENGTH + 1]; /* of a static pod, on its node; or "" */
	struct label_text name;
	struct label_text pod_namespace;
	struct label_text app; /* label app.kubernetes.io/name, else app */
	struct label_text owner_kind;
	struct label_text owner_name;
	struct pod_container *containers; /* that have been made, of any kind */
	size_t container_count;
};

/* On success the record is the caller's: pod_record_fini(). */
int pod_record_decode(const struct json *pod, struct pod_record *out, struct error *err);

/* Twice is once. */
void pod_record_fini(struct pod_record *record);

/* NULL: no such container, as far as is known. */
const struct pod_container *pod_record_container(const struct pod_record *record, const char *id);
