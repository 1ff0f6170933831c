#include "storage/window_folder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"

static void close_folder(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

/*
 * Sets errno at the end: 0, or why there is no more. readdir() is safe on a directory that no
 * other thread reads.
 */
static const struct dirent *next_entry(DIR *directory)
{
	errno = 0;
	return readdir(directory); /* NOLINT(concurrency-mt-unsafe) */
}

/* Another kind of file under a window's name would stop whoever opens it. */
static bool is_file(DIR *directory, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type == DT_REG)
		return true;
	return fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode);
}

int window_folder_files(const char *path, const char *folder,
                        void (*visit)(void *context, const struct window_folder_file *file),
                        void *context, struct error *err)
{
	CLEANUP(mem_freep) char *whole = mem_zalloc(strlen(path) + strlen(folder) + 2, 1);
	CLEANUP(close_folder) DIR *directory = NULL;
	const struct dirent *entry;

	(void)sprintf(whole, "%s/%s", path, folder);
	directory = opendir(whole);
	if (!directory)
		return errno == ENOENT || errno == ENOTDIR
		               ? 0
		               : error_set_errno(err, errno, "%s", whole);
	while ((entry = next_entry(directory))) {
		struct window_folder_file file = {
			.name = entry->d_name,
			.inode = entry->d_ino,
			.folder_fd = dirfd(directory),
		};

		if (window_file_parse(entry->d_name, &file.place.day, &file.place.number,
		                      &file.rest) &&
		    is_file(directory, entry))
			visit(context, &file);
	}
	return errno == 0 ? 0 : error_set_errno(err, errno, "%s", whole);
}

int window_folder_tenants(const char *path,
                          int (*visit)(void *context, const char *folder, struct error *err),
                          void *context, struct error *err)
{
	CLEANUP(close_folder) DIR *directory = opendir(path);
	const struct dirent *entry;

	if (!directory)
		return errno == ENOENT ? 0 : error_set_errno(err, errno, "%s", path);
	while ((entry = next_entry(directory))) {
		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= TENANT_FOLDER_SIZE)
			continue;
		if (visit(context, entry->d_name, err) < 0)
			return -1;
	}
	return errno == 0 ? 0 : error_set_errno(err, errno, "%s", path);
}
