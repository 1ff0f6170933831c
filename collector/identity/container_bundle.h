/*
 * What container engines write down of a container: its bundle, or a file of their own.
 *
 * Shape    JSON. Of an OCI bundle the annotations of Kubernetes' runtimes and of nerdctl
 *          are known, of Docker's config.v2.json the name and those of its labels that
 *          its Kubernetes shim sets, of Podman's containers.json the name.
 * Errors   none: false when the text is none of those, or says nothing; *out is empty then.
 * Threads  none.
 * Source   collector specification 6.2, 6.3; OCI runtime specification, config.json
 */
#pragma once

#include <stdbool.h>

#include "collector/identity/container_facts.h"

#define CONTAINER_BUNDLE_MAX ((size_t)2 << 20) /* bytes of a file that is read */

/* config.json of a bundle. */
bool container_bundle_read(struct str json, struct container_facts *out);

/* config.v2.json of Docker. */
bool container_bundle_read_docker(struct str json, struct container_facts *out);

/* containers.json of Podman, which lists all of them. */
bool container_bundle_read_podman(struct str json, const char *id, struct container_facts *out);
