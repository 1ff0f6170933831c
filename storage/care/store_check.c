#include "storage/care/store_check.h"

#include <errno.h>
#include <unistd.h>

#include "storage/care/care_position.h"
#include "storage/care/joined_path.h"
#include "storage/store_folder.h"
#include "storage/window_file.h"

static void note_read(void *context, uint64_t bytes)
{
	care_position_add(context, bytes);
}

static void tell(const struct store_check_options *options, const char *file, const char *what)
{
	options->report->tell(options->report->context,
	                      &(struct damage){ .file = file, .what = what });
}

/* ---- files ---- */

static int open_settings(const char *path, enum store_check_access access_mode,
                         struct database **out, struct error *err)
{
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "%s is gone", path);
	return database_open(path,
	                     access_mode == STORE_CHECK_STILL ? DATABASE_IMMUTABLE : DATABASE_READ,
	                     out, err);
}

static int open_file(const struct store_check_options *options, const struct listed_file *file,
                     struct database **out, struct error *err)
{
	CLEANUP(mem_freep) char *path = joined_path(options->path, file->name);

	if (file->kind == LISTED_SETTINGS)
		return open_settings(path, options->access, out, err);
	return options->access == STORE_CHECK_STILL ? window_file_open_still(path, out, err)
	                                            : window_file_open_to_read(path, out, err);
}

static int check_file(const struct store_check_options *options, const struct listed_file *file,
                      struct care_position *position, struct store_check_counts *counts,
                      struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	const struct window_check_options asked = {
		.file = file->name,
		.folder = file->folder,
		.day = file->day,
		.report = options->report,
		.read = note_read,
		.context = position,
	};

	if (open_file(options, file, &database, err) < 0) {
		if (err->code == ERROR_CORRUPT || err->code == ERROR_IO) {
			counts->content.damaged++;
			tell(options, file->name, err->message);
		} else if (err->code != ERROR_NOT_FOUND) {
			return error_context(err, "%s", file->name);
		}
		*err = (struct error){ 0 }; /* retention was faster, or there are no tables yet */
		return 0;
	}
	if ((file->kind == LISTED_SETTINGS ? settings_check_run : window_check_run)(
		    database, &asked, &counts->content, err) < 0)
		return error_context(err, "%s", file->name);
	counts->windows += file->kind == LISTED_WINDOW;
	counts->bytes += file->bytes;
	return 0;
}

int store_check_file(const struct store_check_options *options, const struct listed_file *file,
                     struct store_check_counts *counts, struct error *err)
{
	struct care_position position = { .file = file->name, .bytes = file->bytes };

	return check_file(options, file, &position, counts, err);
}

/* ---- the folder ---- */

static int check_listed(const struct store_check_options *options,
                        const struct store_listing *listing, struct store_check_counts *counts,
                        struct error *err)
{
	struct care_position position = { .progress = options->progress, .all = listing->bytes };

	for (size_t i = 0; i < listing->count; i++) {
		const struct listed_file *file = &listing->files[i];

		if (file->kind == LISTED_ASIDE) {
			counts->set_aside++;
			tell(options, file->name,
			     "was set aside since it did not read back; it is not served");
			continue;
		}
		care_position_next(&position, file);
		if (check_file(options, file, &position, counts, err) < 0)
			return -1;
	}
	return 0;
}

/* The folder's own file; false ends the check: there is no store. */
static bool check_folder(const struct store_check_options *options,
                         struct store_check_counts *counts, struct error *err)
{
	struct store_folder folder = { .lock_fd = -1 };

	if (store_folder_open(options->path, STORE_FOLDER_READ, STORE_FOLDER_ANY_FILE_SYSTEM,
	                      &folder, err) == 0) {
		store_folder_close(&folder);
		return true;
	}
	if (err->code != ERROR_CORRUPT)
		return false;
	counts->content.damaged++;
	tell(options, "STORE", err->message);
	*err = (struct error){ 0 };
	return true;
}

int store_check_run(const struct store_check_options *options, struct store_check_counts *counts,
                    struct error *err)
{
	struct store_listing listing;
	int result;

	if (!check_folder(options, counts, err) ||
	    store_listing_make(options->path, &listing, err) < 0)
		return -1;
	result = check_listed(options, &listing, counts, err);
	store_listing_fini(&listing);
	return result;
}
