#include "storage/window_folder.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"

/* Another kind of file under a window's name would stop whoever opens it. */
static bool is_file(const struct folder *folder, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type == DT_REG)
		return true;
	return fstatat(dirfd(folder->directory), entry->d_name, &status, 0) == 0 &&
	       S_ISREG(status.st_mode);
}

int window_folder_files(const char *path, const char *folder,
                        void (*visit)(void *context, const struct window_folder_file *file),
                        void *context, struct error *err)
{
	CLEANUP(mem_freep) char *whole = mem_zalloc(strlen(path) + strlen(folder) + 2, 1);
	CLEANUP(folder_close) struct folder listed = { 0 };
	const struct dirent *entry;
	int more;

	(void)sprintf(whole, "%s/%s", path, folder);
	if (folder_open(whole, &listed, err) < 0)
		return -1;
	while ((more = folder_next(&listed, &entry, err)) > 0) {
		struct window_folder_file file = {
			.name = entry->d_name,
			.inode = entry->d_ino,
			.folder_fd = dirfd(listed.directory),
		};

		if (window_file_parse(entry->d_name, &file.place.day, &file.place.number,
		                      &file.rest) &&
		    is_file(&listed, entry))
			visit(context, &file);
	}
	return more;
}

int window_folder_tenants(const char *path,
                          int (*visit)(void *context, const struct folder *tenants,
                                       const char *name, struct error *err),
                          void *context, struct error *err)
{
	CLEANUP(folder_close) struct folder tenants = { 0 };
	const struct dirent *entry;
	int more;

	if (folder_open(path, &tenants, err) < 0)
		return -1;
	while ((more = folder_next(&tenants, &entry, err)) > 0)
		if (tenant_folder_is_name(str_of(entry->d_name)) &&
		    visit(context, &tenants, entry->d_name, err) < 0)
			return -1;
	return more;
}
