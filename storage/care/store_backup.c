#include "storage/care/store_backup.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "storage/care/backup_manifest.h"
#include "storage/care/care_position.h"
#include "storage/care/folder_tree.h"
#include "storage/care/joined_path.h"
#include "storage/care/window_copy.h"
#include "storage/store_folder.h"

/* A backup under way. */
struct store_backup {
	const struct store_backup_options *options;
	struct store_backup_counts *counts;
	struct backup_folder folder;
	char *building;
	char *before_path; /* of the newest backup; NULL: there is none */
	struct backup_manifest before;
	struct backup_manifest manifest;
	struct care_position position;
};

static void tell(const struct store_backup *backup, const char *file, const char *what)
{
	const struct damage_report *report = backup->options->report;

	report->tell(report->context, &(struct damage){ .file = file, .what = what });
}

/* Half of a file's way is its copy, the other half its check. */
static void note_half(void *context, uint64_t bytes)
{
	struct store_backup *backup = context;

	care_position_add(&backup->position, bytes / 2);
}

/* ---- one file ---- */

/* Links the copy that the backup before has; false when that cannot be. */
static bool link_copy(const struct store_backup *backup, const struct backup_file *before,
                      const char *to)
{
	CLEANUP(mem_freep) char *from = joined_path(backup->before_path, before->listed.name);

	return link(from, to) == 0;
}

static bool take_over(struct store_backup *backup, const struct listed_file *file,
                      const struct file_stamp *stamp, const char *to)
{
	const struct backup_file *before =
		backup->before_path ? backup_manifest_find(&backup->before, file->name) : NULL;

	if (!before || !file_stamp_equal(&before->stamp, stamp) || !link_copy(backup, before, to))
		return false;
	backup_manifest_add(&backup->manifest, before);
	backup->counts->linked++;
	backup->counts->linked_bytes += before->listed.bytes;
	return true;
}

static int check_copy(struct store_backup *backup, const struct listed_file *file,
                      struct error *err)
{
	const struct store_check_options options = {
		.path = backup->building,
		.access = STORE_CHECK_STILL,
		.report = backup->options->report,
		.progress = NULL,
	};

	if (backup->options->leaves_checks)
		return 0;
	return store_check_file(&options, file, &backup->counts->checked, err);
}

/* Files of a backup are read by many, and written by nobody. */
static int make_copy(struct store_backup *backup, const struct listed_file *file, const char *from,
                     const char *to, const struct file_stamp *stamp, struct error *err)
{
	const struct file_bytes_progress progress = { note_half, backup };
	struct backup_file made = { .listed = *file };
	struct file_bytes bytes;

	if (window_copy(from, file->kind, to, &progress, err) < 0 ||
	    file_bytes_hash(to, NULL, &bytes, err) < 0 || check_copy(backup, file, err) < 0)
		return -1;
	(void)chmod(to, 0440);
	made.listed.bytes = bytes.count;
	made.hash = bytes.hash;
	/* what was written while it was copied is not in it: the next backup looks again */
	made.stamp = file_stamp_of(from, clock_unix_ns());
	if (!file_stamp_equal(&made.stamp, stamp))
		made.stamp = (struct file_stamp){ 0 };
	backup_manifest_add(&backup->manifest, &made);
	return 0;
}

/* What of the store stops nobody else's backup: the file is told and left out. */
static bool is_of_source(const struct error *err)
{
	return err->code == ERROR_CORRUPT || err->code == ERROR_IO ||
	       err->code == ERROR_UNAVAILABLE;
}

static int add_file(struct store_backup *backup, const struct listed_file *file, struct error *err)
{
	CLEANUP(mem_freep) char *from = joined_path(backup->options->store, file->name);
	CLEANUP(mem_freep) char *to = joined_path(backup->building, file->name);
	const struct file_stamp stamp = file_stamp_of(from, clock_unix_ns());

	care_position_next(&backup->position, file);
	if (folder_tree_make_for(to, err) < 0)
		return -1;
	if (take_over(backup, file, &stamp, to) ||
	    make_copy(backup, file, from, to, &stamp, err) == 0)
		return 0;
	if (err->code != ERROR_NOT_FOUND && !is_of_source(err))
		return -1;
	if (err->code != ERROR_NOT_FOUND) {
		backup->counts->lost++;
		tell(backup, file->name, err->message);
	}
	*err = (struct error){ 0 }; /* retention was faster, or there are no tables yet */
	(void)unlink(to);
	return 0;
}

/* ---- all of them ---- */

static int add_files(struct store_backup *backup, const struct store_listing *listing,
                     struct error *err)
{
	backup->position.all = listing->bytes;
	for (size_t i = 0; i < listing->count; i++) {
		const struct listed_file *file = &listing->files[i];

		if (file->kind == LISTED_ASIDE) {
			backup->counts->checked.set_aside++;
			tell(backup, file->name,
			     "was set aside since it did not read back; it is not in the backup");
		} else if (add_file(backup, file, err) < 0) {
			return -1;
		}
	}
	return 0;
}

static int build(struct store_backup *backup, struct error *err)
{
	struct store_listing listing;
	int result;

	if (store_listing_make(backup->options->store, &listing, err) < 0)
		return -1;
	result = add_files(backup, &listing, err);
	store_listing_fini(&listing);
	if (result < 0 || store_folder_write_key(backup->building, backup->manifest.key, err) < 0 ||
	    backup_manifest_write(&backup->manifest, backup->building, err) < 0)
		return -1;
	return backup_folder_finish(&backup->folder, backup->building, backup->counts->name, err);
}

/* Old backups may have what the new one lacks: then they stay. */
static int prune(struct store_backup *backup, struct error *err)
{
	struct store_backup_counts *counts = backup->counts;

	if (backup->options->keep == 0 || backup->folder.count <= backup->options->keep)
		return 0;
	counts->kept_all = counts->lost > 0 || counts->checked.content.damaged > 0 ||
	                   counts->checked.set_aside > 0;
	if (counts->kept_all)
		return 0;
	return backup_folder_prune(&backup->folder, backup->options->keep, &counts->removed, err);
}

/* The newest backup, if it can be read: what it has need not be copied again. */
static void find_before(struct store_backup *backup)
{
	const struct backup_folder *folder = &backup->folder;
	struct error ignored;

	if (folder->count == 0)
		return;
	backup->before_path = joined_path(folder->path, folder->names[folder->count - 1]);
	if (backup_manifest_read(backup->before_path, &backup->before, &ignored) == 0)
		return;
	free(backup->before_path);
	backup->before_path = NULL;
}

static int make(struct store_backup *backup, struct error *err)
{
	const int64_t now_unix_ns = clock_unix_ns();
	struct error failed;

	find_before(backup);
	backup->manifest.made_unix_ms = now_unix_ns / NS_PER_MS;
	backup->building =
		backup_folder_begin(&backup->folder, now_unix_ns, backup->counts->name, err);
	if (!backup->building)
		return -1;
	if (build(backup, err) < 0) {
		(void)folder_tree_remove(backup->building, &failed);
		return -1;
	}
	backup->counts->files = backup->manifest.count;
	backup->counts->bytes = backup->manifest.bytes;
	return prune(backup, err);
}

static int read_key(const char *store, uint64_t *out, struct error *err)
{
	struct store_folder folder = { .lock_fd = -1 };

	if (store_folder_open(store, STORE_FOLDER_READ, STORE_FOLDER_ANY_FILE_SYSTEM, &folder,
	                      err) < 0)
		return -1;
	*out = folder.key;
	store_folder_close(&folder);
	return 0;
}

int store_backup_make(const struct store_backup_options *options, struct store_backup_counts *out,
                      struct error *err)
{
	struct store_backup backup = {
		.options = options,
		.counts = out,
		.folder = { .lock_fd = -1 },
		.position = { .progress = options->progress },
	};
	int result = -1;

	*out = (struct store_backup_counts){ 0 };
	if (read_key(options->store, &backup.manifest.key, err) == 0 &&
	    backup_folder_open(options->target, backup.manifest.key, &backup.folder, err) == 0)
		result = make(&backup, err);
	free(backup.building);
	free(backup.before_path);
	backup_manifest_fini(&backup.before);
	backup_manifest_fini(&backup.manifest);
	backup_folder_close(&backup.folder);
	return result;
}
