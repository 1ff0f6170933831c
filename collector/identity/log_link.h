/*
 * What the names of a pod's logs say: the kubelet links each container's log.
 *
 * Shape    /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log, and below /var/log/pods/ a
 *          folder NAMESPACE_POD_UID. None of the names can hold '_'.
 * Errors   none: false for a name of another kind; *out is as it was.
 * Threads  none.
 * Source   collector specification 6.2
 */
#pragma once

#include <stdbool.h>

#include "collector/identity/container_facts.h"

/* The log of the container with this id. */
bool log_link_read(struct str name, const char *id, struct container_facts *out);

/* The folder of the pod with this uid. */
bool log_link_read_folder(struct str name, const char *uid, struct container_facts *out);
