/*
 * What is known of a container besides its id.
 *
 * Shape    whatever is not known is empty.
 */
#pragma once

#include "collector/identity/cgroup_path.h"

struct container_facts {
	struct label_text name; /* as its engine has it */
	/* of one that belongs to a pod */
	struct label_text container; /* its name there */
	struct label_text pod;
	struct label_text pod_namespace;
	char pod_uid[POD_UID_LENGTH + 1];
};
