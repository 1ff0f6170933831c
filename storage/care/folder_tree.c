#include "storage/care/folder_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/mem.h"

#define MODE        0750
#define OPEN_LEVELS 16 /* descriptors that a walk keeps */

static int make_one(const char *path, struct error *err)
{
	if (mkdir(path, MODE) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "folder %s cannot be made", path);
	return 0;
}

int folder_tree_make(const char *path, struct error *err)
{
	CLEANUP(mem_freep) char *copy = mem_strdup(path);

	for (char *slash = strchr(copy + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (make_one(copy, err) < 0)
			return -1;
		*slash = '/';
	}
	return make_one(copy, err);
}

int folder_tree_make_for(const char *file, struct error *err)
{
	const char *slash = strrchr(file, '/');
	CLEANUP(mem_freep) char *folder = mem_strndup(file, slash ? (size_t)(slash - file) : 0);

	return folder[0] ? folder_tree_make(folder, err) : 0;
}

static int sync_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	int fd;
	int result;

	(void)status;
	(void)walk;
	if (type != FTW_D && type != FTW_DP)
		return 0;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	result = fsync(fd);
	(void)close(fd);
	return result;
}

int folder_tree_sync(const char *path, struct error *err)
{
	/* a walk changes no folder that others are in */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (nftw(path, sync_one, OPEN_LEVELS, FTW_PHYS) != 0)
		return error_set_errno(err, errno, "syncing %s", path);
	return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	(void)walk;
	return type == FTW_DP ? rmdir(path) : unlink(path);
}

int folder_tree_remove(const char *path, struct error *err)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe) */
	if (nftw(path, remove_one, OPEN_LEVELS, FTW_PHYS | FTW_DEPTH) != 0 && errno != ENOENT)
		return error_set_errno(err, errno, "removing %s", path);
	return 0;
}

static bool is_among(const char *name, const char *const *names)
{
	for (size_t i = 0; names[i]; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

int folder_tree_holds_others(const char *path, const char *const *but, bool *out, struct error *err)
{
	CLEANUP(folder_close) struct folder folder = { 0 };
	const struct dirent *entry;
	bool holds_others = false;
	int more;

	if (folder_open(path, &folder, err) < 0)
		return -1;
	while ((more = folder_next(&folder, &entry, err)) > 0)
		holds_others |= !is_among(entry->d_name, but);
	*out = holds_others;
	return more;
}
