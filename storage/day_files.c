#include "storage/day_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

static void close_folder(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

static const struct dirent *next(DIR *folder)
{
	return readdir(folder); /* NOLINT(concurrency-mt-unsafe): no other thread reads it */
}

static struct day_files *day_entry(struct day_files_list *list, const char *folder, int32_t day,
                                   size_t from)
{
	struct day_files *entry;

	for (size_t i = from; i < list->count; i++)
		if (list->days[i].day == day)
			return &list->days[i];
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? list->capacity * 2 : 64;
		list->days = mem_resize(list->days, list->capacity, sizeof(*list->days));
	}
	entry = &list->days[list->count++];
	*entry = (struct day_files){ .day = day };
	(void)snprintf(entry->folder, sizeof(entry->folder), "%s", folder);
	return entry;
}

static bool is_wal(const char *name)
{
	const size_t length = strlen(name);

	return length >= 4 && strcmp(name + length - 4, "-wal") == 0;
}

/* Files that vanish meanwhile are not there. */
static void list_folder(DIR *directory, const char *folder, struct day_files_list *list)
{
	const size_t from = list->count;
	const struct dirent *entry;

	while ((entry = next(directory))) {
		struct stat status;
		const char *rest;
		uint32_t number;
		uint64_t bytes;
		int32_t day;

		if (fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
		    !S_ISREG(status.st_mode))
			continue;
		bytes = (uint64_t)status.st_blocks * 512;
		if (!folder || !window_file_parse(entry->d_name, &day, &number, &rest)) {
			list->bytes += bytes;
		} else if (window_file_is_passing(rest)) {
			list->passing_bytes += bytes;
		} else {
			list->bytes += bytes;
			day_entry(list, folder, day, from)->bytes += bytes;
		}
		if (is_wal(entry->d_name))
			list->wal_bytes += bytes;
	}
}

static int by_day(const void *left, const void *right)
{
	const struct day_files *a = left;
	const struct day_files *b = right;

	if (a->day != b->day)
		return a->day < b->day ? -1 : 1;
	return strcmp(a->folder, b->folder);
}

static DIR *open_below(const char *path, const char *name)
{
	CLEANUP(mem_freep) char *whole = mem_zalloc(strlen(path) + strlen(name) + 2, 1);

	(void)sprintf(whole, "%s/%s", path, name);
	return opendir(whole);
}

int day_files_list(const char *path, struct day_files_list *out, struct error *err)
{
	CLEANUP(close_folder) DIR *top = opendir(path);
	CLEANUP(close_folder) DIR *tenants = open_below(path, "tenants");
	struct day_files_list list = { 0 };
	const struct dirent *entry;

	if (!top)
		return error_set_errno(err, errno, "%s", path);
	list_folder(top, NULL, &list);
	while (tenants && (entry = next(tenants))) {
		CLEANUP(close_folder) DIR *folder = NULL;
		int fd;

		if (entry->d_name[0] == '.' || strlen(entry->d_name) >= TENANT_FOLDER_SIZE)
			continue;
		fd = openat(dirfd(tenants), entry->d_name,
		            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		folder = fd < 0 ? NULL : fdopendir(fd);
		if (folder)
			list_folder(folder, entry->d_name, &list);
	}
	if (list.count > 1)
		qsort(list.days, list.count, sizeof(*list.days), by_day);
	*out = list;
	return 0;
}

void day_files_list_fini(struct day_files_list *list)
{
	free(list->days);
	*list = (struct day_files_list){ 0 };
}

/* Unlinks the files of the day, or only its databases. */
static int unlink_pass(DIR *directory, int32_t day, bool only_databases, struct error *err)
{
	const struct dirent *entry;

	rewinddir(directory);
	while ((entry = next(directory))) {
		const char *rest;
		uint32_t number;
		int32_t own;

		if (!window_file_parse(entry->d_name, &own, &number, &rest) || own != day ||
		    (only_databases && *rest))
			continue;
		if (unlinkat(dirfd(directory), entry->d_name, 0) < 0 && errno != ENOENT)
			return error_set_errno(err, errno, "%s", entry->d_name);
	}
	return 0;
}

int day_files_unlink(const char *path, const char *folder, int32_t day, struct error *err)
{
	CLEANUP(mem_freep) char *tenants = mem_zalloc(strlen(path) + sizeof("/tenants"), 1);
	CLEANUP(close_folder) DIR *directory = NULL;

	(void)sprintf(tenants, "%s/tenants", path);
	directory = open_below(tenants, folder);
	if (!directory)
		return error_set_errno(err, errno, "folder of a tenant, %s", folder);
	if (unlink_pass(directory, day, true, err) < 0)
		return -1;
	return unlink_pass(directory, day, false, err);
}
