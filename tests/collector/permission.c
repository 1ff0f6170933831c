#include "tests/collector/permission.h"

#include <stddef.h>
#include <unistd.h>

#include "collector/bpf/probe_set.h"

static void ignore(void *context, const struct cuda_event *event, size_t size)
{
	(void)context;
	(void)event;
	(void)size;
}

const char *permission_missing(void)
{
	static struct error err;
	const struct probe_set_handlers handlers = { .event = ignore };
	struct probe_set *set = NULL;

	if (access("/sys/kernel/btf/vmlinux", R_OK) < 0)
		return "the kernel has no BTF";
	/* Any other failure is one that the tests must show. */
	if (probe_set_open(&(struct probe_set_options){ .storm_limit = 0 }, &handlers, &set, &err) <
	    0)
		return err.code == ERROR_FORBIDDEN ? err.message : NULL;
	probe_set_close(set);
	return NULL;
}
