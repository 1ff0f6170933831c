/*
 * What a process' control group says of it: container, pod, unit, job.
 *
 * Shape    the text of /proc/PID/cgroup, of either version. Of several lines the longest
 *          path counts among those of version 2, memory, pids and systemd. Components are
 *          told by their names alone, never by where the path begins: seen from another
 *          cgroup namespace it begins with "/..".
 *          Where containers are nested, the innermost one is the container, the outermost
 *          pod the pod. What stands left of a container (the unit of its engine) says
 *          nothing of the process.
 * Errors   none: what is not told is empty.
 * Threads  none.
 * Source   collector specification 6.1
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "collector/identity/label_text.h"

#define CONTAINER_ID_LENGTH 64 /* lower-case hex digits */
#define POD_UID_LENGTH      36 /* at most: a UUID, or the 32 digits of a static pod */
#define SLURM_JOB_LENGTH    20 /* digits, at most */

enum container_runtime {
	RUNTIME_NONE,
	RUNTIME_CONTAINERD,
	RUNTIME_CRIO,
	RUNTIME_DOCKER,
	RUNTIME_PODMAN,
	RUNTIME_NERDCTL,
	RUNTIME_LXC,
	RUNTIME_NSPAWN,
	RUNTIME_UNKNOWN, /* a container, but the path does not say whose */
};

struct cgroup_path {
	enum container_runtime runtime; /* of the innermost container */
	char container_id[CONTAINER_ID_LENGTH + 1];
	struct label_text container_name; /* of LXC and nspawn, which have no ids */

	char pod_uid[POD_UID_LENGTH + 1];               /* with '-' */
	char pod_container_id[CONTAINER_ID_LENGTH + 1]; /* of that pod: the outermost one */

	struct label_text unit; /* "ollama" of ollama.service */
	bool is_login;          /* that unit is somebody's session, not a program */
	char slurm_job[SLURM_JOB_LENGTH + 1];

	bool has_owner; /* it lies in the slice of a user, */
	uint32_t owner; /* who has that uid on the machine */
};

void cgroup_path_read(struct str text, struct cgroup_path *out);
