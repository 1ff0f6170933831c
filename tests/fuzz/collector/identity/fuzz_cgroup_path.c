/*
 * A control group has whatever name somebody gave it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "collector/identity/cgroup_path.h"

static void check_text(const struct label_text *label)
{
	if (!memchr(label->text, '\0', sizeof(label->text)) || !utf8_is_valid(str_of(label->text)))
		abort();
}

static void check_id(const char *id)
{
	if (strlen(id) != 0 && strlen(id) != CONTAINER_ID_LENGTH)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cgroup_path path;

	cgroup_path_read(str_make(data, size), &path);
	check_text(&path.unit);
	check_text(&path.container_name);
	check_id(path.container_id);
	check_id(path.pod_container_id);
	if (strlen(path.pod_uid) > POD_UID_LENGTH || strlen(path.slurm_job) > SLURM_JOB_LENGTH)
		abort();
	if ((path.runtime == RUNTIME_NONE) !=
	    (!path.container_id[0] && path.runtime != RUNTIME_LXC &&
	     path.runtime != RUNTIME_NSPAWN))
		abort();
	if (path.pod_container_id[0] && !path.pod_uid[0])
		abort();
	return 0;
}
