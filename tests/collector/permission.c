#include "tests/collector/permission.h"

#include <dirent.h>
#include <fcntl.h>
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

const char *permission_missing_for_perf(void)
{
	static struct error err;
	const struct probe_set_options options = { .method = PROBE_METHOD_PERF };
	const struct probe_set_handlers handlers = { .event = ignore };
	const int library = open(STUB_DRIVER, O_RDONLY | O_CLOEXEC);
	struct probe_points points;
	struct probe_set *set = NULL;
	struct probe_link *link = NULL;
	int rc = -1;

	err.code = ERROR_NONE;
	if (library >= 0 && probe_points_find(library, PROBE_SCOPE_ALL, &points, &err) == 0 &&
	    probe_set_open(&options, &handlers, &set, &err) == 0) {
		points.count = 1;
		rc = probe_set_attach(set, &(struct probe_target){ library, &points, 0 }, &link,
		                      &err);
	}
	if (rc == 0)
		probe_set_detach(set, link);
	probe_set_close(set);
	(void)close(library);
	return rc < 0 && err.code == ERROR_FORBIDDEN ? err.message : NULL;
}

bool permission_follows_mappings(void)
{
	DIR *folder = opendir("/proc/self/map_files");
	const struct dirent *entry;
	bool follows = false;

	if (!folder)
		return false;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours */
	while (!follows && (entry = readdir(folder))) {
		const int file = openat(dirfd(folder), entry->d_name, O_RDONLY | O_CLOEXEC);

		follows = entry->d_name[0] != '.' && file >= 0;
		if (file >= 0)
			(void)close(file);
	}
	(void)closedir(folder);
	return follows;
}
