/*
 * Who says who processes are, as the options and the environment have it.
 *
 * Shape    in a cluster, unless options forbid it, the API server is asked too. A node is
 *          called as -collector.node-name says, else NODE_NAME of the environment.
 * Errors   those of identifier_open().
 * Threads  the first thread of the process, before others are started.
 * Source   collector specification 6.2, 6.4
 */
#pragma once

#include "collector/identity/identifier.h"

struct options;

int collector_identity_open(const struct options *options, struct identifier **out,
                            struct error *err);

/*
 * What this machine is called, or NULL: as it calls itself. In a pod that would be the pod's
 * name, another one each time.
 */
const char *collector_identity_hostname(const struct options *options);
