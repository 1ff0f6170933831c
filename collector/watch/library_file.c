#include "collector/watch/library_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular_file.h"

#define DRIVER_NAME STR("libcuda.so")
#define DELETED     STR(" (deleted)")
#define PROC_BYTES  96

bool library_file_is_driver(struct str path)
{
	const ptrdiff_t slash = str_last_index(path, '/');

	return str_starts_with(str_skip(path, (size_t)(slash + 1)), DRIVER_NAME);
}

/* Links of the path cannot lead out of the root of the process. -1 and errno. */
static int open_in_root(const struct library_mapping *mapping)
{
	char path[PATH_MAX];
	char root_path[PROC_BYTES];
	int descriptor;
	int number;
	int root;

	if (mapping->path.length >= sizeof(path) || str_ends_with(mapping->path, DELETED)) {
		errno = ENOENT;
		return -1;
	}
	memcpy(path, mapping->path.data, mapping->path.length);
	path[mapping->path.length] = '\0';
	(void)snprintf(root_path, sizeof(root_path), "/proc/%d/root", (int)mapping->tgid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -1;
	descriptor = regular_file_open(root, path, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS);
	number = errno;
	(void)close(root);
	errno = number;
	return descriptor;
}

static int open_mapping(const struct library_mapping *mapping)
{
	char path[PROC_BYTES];

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
	               (int)mapping->tgid, mapping->start, mapping->end);
	return regular_file_open(AT_FDCWD, path, 0);
}

static bool is_inode(int descriptor, uint64_t inode)
{
	struct stat status;

	return fstat(descriptor, &status) == 0 && status.st_ino == inode;
}

/*
 * The mapping leads to the very file, but not everybody may follow it; the path does if it
 * has the inode. Below overlay mounts inodes may be told otherwise than they are, so at last
 * the path is believed.
 */
static int open_either(const struct library_mapping *mapping)
{
	const int by_path = open_in_root(mapping);
	const int number = errno;
	int by_mapping;

	if (by_path >= 0 && mapping->inode != 0 && is_inode(by_path, mapping->inode))
		return by_path;
	by_mapping = open_mapping(mapping);
	if (by_mapping < 0) {
		if (number == EINVAL) /* says more than that the mapping is gone */
			errno = number;
		return by_path;
	}
	if (by_path >= 0)
		(void)close(by_path);
	return by_mapping;
}

/* Whether the process has no memory any more: all others have a program. */
static bool has_ended(pid_t tgid)
{
	char path[PROC_BYTES];
	char program;

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)tgid);
	return readlink(path, &program, sizeof(program)) < 0 && (errno == ENOENT || errno == ESRCH);
}

static int refused(int number, const struct library_mapping *mapping, struct error *err)
{
	if (number == EINVAL)
		return error_set(err, ERROR_INVALID,
		                 "the driver that process %d has mapped is no regular file",
		                 (int)mapping->tgid);
	error_set_errno(err, number, "opening the driver that process %d has mapped",
	                (int)mapping->tgid);
	if ((number == ENOENT || number == ESRCH) && has_ended(mapping->tgid))
		err->code = ERROR_NOT_FOUND;
	if (number == EACCES || number == EPERM)
		err->code = ERROR_FORBIDDEN;
	return -1;
}

int library_file_open(const struct library_mapping *mapping, int *out_descriptor, struct error *err)
{
	const int descriptor = open_either(mapping);

	if (descriptor < 0)
		return refused(errno, mapping, err);
	*out_descriptor = descriptor;
	return 0;
}
