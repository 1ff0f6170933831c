#include "storage/care/store_listing.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "storage/care/joined_path.h"
#include "storage/window_folder.h"

/* ---- names ---- */

/* ".damaged", ".damaged.2" */
static bool is_aside(const char *rest)
{
	const struct str text = str_of(rest);
	uint64_t number;

	if (str_equal(text, STR(".damaged")))
		return true;
	return str_starts_with(text, STR(".damaged.")) &&
	       str_to_u64(str_skip(text, strlen(".damaged.")), UINT32_MAX, &number);
}

static bool parse_file(const char *file, struct listed_file *out)
{
	const char *rest;

	if (strcmp(file, "settings.db") == 0) {
		out->kind = LISTED_SETTINGS;
		return true;
	}
	if (!window_file_parse(file, &out->day, &out->number, &rest))
		return false;
	out->kind = *rest ? LISTED_ASIDE : LISTED_WINDOW;
	return !*rest || is_aside(rest);
}

bool listed_file_parse(struct str name, struct listed_file *out)
{
	static const struct str tenants = { "tenants/", 8 };
	struct listed_file file = { 0 };
	struct str rest = name;
	ptrdiff_t slash;

	if (name.length >= sizeof(file.name) || !str_starts_with(name, tenants))
		return false;
	rest = str_skip(rest, tenants.length);
	slash = str_index(rest, '/');
	if (slash < 0 || memchr(name.data, '\0', name.length) ||
	    !tenant_folder_is_name(str_first(rest, (size_t)slash)))
		return false;
	memcpy(file.name, name.data, name.length);
	memcpy(file.folder, rest.data, (size_t)slash);
	if (!parse_file(file.name + tenants.length + slash + 1, &file))
		return false;
	*out = file;
	return true;
}

/* ---- folders ---- */

static void add(struct store_listing *listing, const struct listed_file *file)
{
	if (listing->count == listing->capacity) {
		listing->capacity = listing->capacity ? listing->capacity * 2 : 64;
		listing->files =
			mem_resize(listing->files, listing->capacity, sizeof(*listing->files));
	}
	listing->files[listing->count++] = *file;
	if (file->kind != LISTED_ASIDE)
		listing->bytes += file->bytes;
}

/* Files that vanish meanwhile are not there. */
static int list_files(const struct folder *folder, const char *tenant,
                      struct store_listing *listing, struct error *err)
{
	const struct dirent *entry;
	int more;

	while ((more = folder_next(folder, &entry, err)) > 0) {
		char name[LISTED_NAME_SIZE];
		struct listed_file file;
		struct stat status;
		const int length =
			snprintf(name, sizeof(name), "tenants/%s/%s", tenant, entry->d_name);

		if (length >= (int)sizeof(name) || !listed_file_parse(str_of(name), &file) ||
		    fstatat(dirfd(folder->directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) <
		            0)
			continue;
		if (S_ISLNK(status.st_mode))
			return error_set(err, ERROR_INVALID,
			                 "%s is a link: links are not followed here", name);
		if (!S_ISREG(status.st_mode))
			continue;
		file.bytes = (uint64_t)status.st_size;
		add(listing, &file);
	}
	return more;
}

static int by_name(const void *left, const void *right)
{
	const struct listed_file *a = left;
	const struct listed_file *b = right;

	return strcmp(a->name, b->name);
}

static int list_tenant(void *context, const struct folder *tenants, const char *name,
                       struct error *err)
{
	CLEANUP(folder_close) struct folder folder = { 0 };

	if (folder_open_below(tenants, name, &folder, err) < 0)
		return -1;
	return list_files(&folder, name, context, err);
}

int store_listing_make(const char *path, struct store_listing *out, struct error *err)
{
	CLEANUP(mem_freep) char *tenants = joined_path(path, "tenants");
	CLEANUP(store_listing_fini) struct store_listing listing = { 0 };

	if (window_folder_tenants(tenants, list_tenant, &listing, err) < 0)
		return -1;
	if (listing.count > 1)
		qsort(listing.files, listing.count, sizeof(*listing.files), by_name);
	*out = listing;
	listing = (struct store_listing){ 0 };
	return 0;
}

void store_listing_fini(struct store_listing *listing)
{
	free(listing->files);
	*listing = (struct store_listing){ 0 };
}

size_t store_listing_find(const struct store_listing *listing, const char *name)
{
	for (size_t i = 0; i < listing->count; i++)
		if (strcmp(listing->files[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}
