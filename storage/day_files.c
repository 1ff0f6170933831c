#include "storage/day_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/window_folder.h"

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

/* A file of a tenant's folder, or of the store's own (NULL). */
static void add_file(struct day_files_list *list, const char *folder, size_t from, const char *name,
                     const struct stat *status)
{
	const uint64_t bytes = (uint64_t)status->st_blocks * 512;
	const char *rest;
	uint32_t number;
	int32_t day;

	if (!folder || !window_file_parse(name, &day, &number, &rest)) {
		list->bytes += bytes;
	} else if (window_file_is_passing(rest)) {
		list->passing_bytes += bytes;
	} else {
		list->bytes += bytes;
		day_entry(list, folder, day, from)->bytes += bytes;
	}
	if (is_wal(name))
		list->wal_bytes += bytes;
}

/* Files that vanish meanwhile are not there. */
static int list_folder(const struct folder *listed, const char *folder, struct day_files_list *list,
                       struct error *err)
{
	const size_t from = list->count;
	const struct dirent *entry;
	int more;

	while ((more = folder_next(listed, &entry, err)) > 0) {
		struct stat status;

		if (fstatat(dirfd(listed->directory), entry->d_name, &status,
		            AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode))
			add_file(list, folder, from, entry->d_name, &status);
	}
	return more;
}

static int by_day(const void *left, const void *right)
{
	const struct day_files *a = left;
	const struct day_files *b = right;

	if (a->day != b->day)
		return a->day < b->day ? -1 : 1;
	return strcmp(a->folder, b->folder);
}

static char *joined(const char *path, const char *name)
{
	char *whole = mem_zalloc(strlen(path) + strlen(name) + 2, 1);

	(void)sprintf(whole, "%s/%s", path, name);
	return whole;
}

static int list_tenant(void *context, const struct folder *tenants, const char *name,
                       struct error *err)
{
	CLEANUP(mem_freep) char *path = joined(tenants->path, name);
	CLEANUP(folder_close) struct folder folder = { 0 };

	return folder_open(path, &folder, err) < 0 ? -1 : list_folder(&folder, name, context, err);
}

static int list_all(const char *path, struct day_files_list *list, struct error *err)
{
	CLEANUP(mem_freep) char *tenants = joined(path, "tenants");
	CLEANUP(folder_close) struct folder top = { 0 };

	if (folder_open(path, &top, err) < 0)
		return -1;
	if (!top.directory)
		return error_set(err, ERROR_NOT_FOUND, "%s is gone", path);
	if (list_folder(&top, NULL, list, err) < 0)
		return -1;
	return window_folder_tenants(tenants, list_tenant, list, err);
}

int day_files_list(const char *path, struct day_files_list *out, struct error *err)
{
	CLEANUP(day_files_list_fini) struct day_files_list list = { 0 };

	if (list_all(path, &list, err) < 0)
		return -1;
	if (list.count > 1)
		qsort(list.days, list.count, sizeof(*list.days), by_day);
	*out = list;
	list = (struct day_files_list){ 0 };
	return 0;
}

void day_files_list_fini(struct day_files_list *list)
{
	free(list->days);
	*list = (struct day_files_list){ 0 };
}

/* Unlinks the files of the day, or only its databases. */
static int unlink_pass(const struct folder *folder, int32_t day, bool only_databases,
                       struct error *err)
{
	const struct dirent *entry;
	int more;

	folder_rewind(folder);
	while ((more = folder_next(folder, &entry, err)) > 0) {
		const char *rest;
		uint32_t number;
		int32_t own;

		if (!window_file_parse(entry->d_name, &own, &number, &rest) || own != day ||
		    (only_databases && *rest))
			continue;
		if (unlinkat(dirfd(folder->directory), entry->d_name, 0) < 0 && errno != ENOENT)
			return error_set_errno(err, errno, "%s", entry->d_name);
	}
	return more;
}

int day_files_unlink(const char *path, const char *folder, int32_t day, struct error *err)
{
	CLEANUP(mem_freep) char *tenants = joined(path, "tenants");
	CLEANUP(mem_freep) char *whole = joined(tenants, folder);
	CLEANUP(folder_close) struct folder listed = { 0 };

	if (folder_open(whole, &listed, err) < 0 || unlink_pass(&listed, day, true, err) < 0)
		return -1;
	return unlink_pass(&listed, day, false, err);
}
