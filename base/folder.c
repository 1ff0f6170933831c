#include "base/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static bool is_absent(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

int folder_open(const char *path, struct folder *out, struct error *err)
{
	DIR *directory = opendir(path);

	if (!directory && !is_absent(errno))
		return error_set_errno(err, errno, "%s", path);
	*out = (struct folder){ directory, mem_strdup(path) };
	return 0;
}

/* A link to a folder looks like something else to whoever does not follow it. */
static bool is_link(const struct folder *above, const char *name)
{
	struct stat status;

	return fstatat(dirfd(above->directory), name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISLNK(status.st_mode);
}

static DIR *open_below(const struct folder *above, const char *name)
{
	const int fd = openat(dirfd(above->directory), name,
	                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const int error = errno;

	if (!directory && fd >= 0)
		(void)close(fd);
	errno = error;
	return directory;
}

int folder_open_below(const struct folder *above, const char *name, struct folder *out,
                      struct error *err)
{
	const size_t size = strlen(above->path) + strlen(name) + 2;
	CLEANUP(mem_freep) char *path = mem_zalloc(size, 1);
	DIR *directory;

	(void)snprintf(path, size, "%s/%s", above->path, name);
	directory = open_below(above, name);
	if (!directory && (errno == ELOOP || (errno == ENOTDIR && is_link(above, name))))
		return error_set(err, ERROR_INVALID, "%s is a link: links are not followed here",
		                 path);
	if (!directory && !is_absent(errno))
		return error_set_errno(err, errno, "%s", path);
	*out = (struct folder){ directory, TAKE(path) };
	return 0;
}

void folder_close(struct folder *folder)
{
	if (folder->directory)
		(void)closedir(folder->directory);
	free(folder->path);
	*folder = (struct folder){ 0 };
}

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int folder_next(const struct folder *folder, const struct dirent **out, struct error *err)
{
	const struct dirent *entry;

	if (!folder->directory)
		return 0;
	do {
		errno = 0;
		/* safe on a directory that no other thread reads */
		entry = readdir(folder->directory); /* NOLINT(concurrency-mt-unsafe) */
	} while (entry && is_dots(entry->d_name));
	if (entry)
		*out = entry;
	else if (errno != 0)
		return error_set_errno(err, errno, "listing %s", folder->path);
	return entry != NULL;
}

void folder_rewind(const struct folder *folder)
{
	if (folder->directory)
		rewinddir(folder->directory);
}
