#include "storage/care/backup_check.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id_map.h"
#include "storage/care/backup_folder.h"
#include "storage/care/backup_manifest.h"
#include "storage/care/care_position.h"
#include "storage/care/file_bytes.h"
#include "storage/care/joined_path.h"
#include "storage/store_folder.h"

#define MARK "BACKUPS"

/* A check of one backup after the other. */
struct backup_check {
	const struct store_check_options *options;
	struct store_check_counts *counts;
	struct care_position position;
	/* files that were read, by inode, and what their bytes were */
	struct id_map seen;
	struct file_bytes *bytes;
	size_t capacity;
	/* the backup at hand */
	const char *path;
	const char *name; /* before the names of its files; "" for the only one */
};

static void tell(struct backup_check *check, const char *file, const char *what)
{
	CLEANUP(mem_freep) char *name = check->name[0] ? joined_path(check->name, file) : NULL;
	const struct damage_report *report = check->options->report;

	check->counts->content.damaged++;
	report->tell(report->context, &(struct damage){ .file = name ? name : file, .what = what });
}

/* What the check of a file tells, under the backup's name. */
static void tell_in_backup(void *context, const struct damage *damage)
{
	struct backup_check *check = context;
	CLEANUP(mem_freep)
	char *name = check->name[0] ? joined_path(check->name, damage->file) : NULL;
	const struct damage_report *report = check->options->report;
	struct damage named = *damage;

	if (name)
		named.file = name;
	report->tell(report->context, &named);
}

static void note_half(void *context, uint64_t bytes)
{
	struct backup_check *check = context;

	care_position_add(&check->position, bytes / 2);
}

/* The place of a file's bytes; *out_new: it was not read yet. */
static struct file_bytes *bytes_of(struct backup_check *check, const struct stat *status,
                                   bool *out_new)
{
	const struct hash128 key = { status->st_ino, status->st_dev };
	const uint32_t id = id_map_add(&check->seen, key, out_new);

	if (id >= check->capacity) {
		check->capacity = check->capacity ? check->capacity * 2 : 64;
		check->bytes = mem_resize(check->bytes, check->capacity, sizeof(*check->bytes));
	}
	return &check->bytes[id];
}

static void compare(struct backup_check *check, const struct backup_file *file,
                    const struct file_bytes *bytes)
{
	char what[128];

	if (bytes->count != file->listed.bytes) {
		(void)snprintf(what, sizeof(what), "has %llu bytes, %llu were backed up",
		               (unsigned long long)bytes->count,
		               (unsigned long long)file->listed.bytes);
		tell(check, file->listed.name, what);
	} else if (!hash128_equal(bytes->hash, file->hash)) {
		tell(check, file->listed.name, "is not what was backed up: its hash differs");
	}
}

static int check_content(struct backup_check *check, const struct listed_file *file,
                         struct error *err)
{
	const struct damage_report report = { tell_in_backup, check };
	const struct store_check_options options = {
		.path = check->path,
		.access = STORE_CHECK_STILL,
		.report = &report,
	};

	return store_check_file(&options, file, check->counts, err);
}

static int check_file(struct backup_check *check, const struct backup_file *file, struct error *err)
{
	CLEANUP(mem_freep) char *path = joined_path(check->path, file->listed.name);
	const struct file_bytes_progress progress = { note_half, check };
	struct file_bytes *bytes;
	struct stat status;
	bool is_new;

	care_position_next(&check->position, &file->listed);
	if (stat(path, &status) < 0) {
		if (errno != ENOENT)
			return error_set_errno(err, errno, "%s", path);
		tell(check, file->listed.name, "is missing");
		return 0;
	}
	bytes = bytes_of(check, &status, &is_new);
	if (is_new && file_bytes_hash(path, &progress, bytes, err) < 0) {
		tell(check, file->listed.name, err->message);
		*err = (struct error){ 0 };
		*bytes = (struct file_bytes){ 0 };
		return 0;
	}
	compare(check, file, bytes);
	return is_new ? check_content(check, &file->listed, err) : 0;
}

/* A backup whose list does not read back has no files to be checked. */
static int check_backup(struct backup_check *check, struct error *err)
{
	struct backup_manifest manifest = { 0 };
	int result = 0;

	if (backup_manifest_read(check->path, &manifest, err) < 0) {
		if (err->code != ERROR_CORRUPT)
			return -1;
		tell(check, STORE_FOLDER_BACKUP, err->message);
		*err = (struct error){ 0 };
		return 0;
	}
	if (check->position.all == 0)
		check->position.all = manifest.bytes; /* the only one */
	for (size_t i = 0; i < manifest.count && result == 0; i++)
		result = check_file(check, &manifest.files[i], err);
	backup_manifest_fini(&manifest);
	return result;
}

/* Bytes that all of them list, whether read once or not. */
static uint64_t bytes_of_all(const struct backup_folder *folder)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < folder->count; i++) {
		CLEANUP(mem_freep) char *path = joined_path(folder->path, folder->names[i]);
		struct backup_manifest manifest = { 0 };
		struct error ignored;

		if (backup_manifest_read(path, &manifest, &ignored) == 0)
			bytes += manifest.bytes;
		backup_manifest_fini(&manifest);
	}
	return bytes;
}

static int check_folder(struct backup_check *check, uint64_t *out_backups, struct error *err)
{
	CLEANUP(backup_folder_close) struct backup_folder folder = { .lock_fd = -1 };
	int result = 0;

	if (backup_folder_list(check->options->path, &folder, err) < 0)
		return -1;
	check->position.all = bytes_of_all(&folder);
	for (size_t i = 0; i < folder.count && result == 0; i++) {
		CLEANUP(mem_freep) char *path = joined_path(folder.path, folder.names[i]);

		check->path = path;
		check->name = folder.names[i];
		result = check_backup(check, err);
		++*out_backups;
	}
	return result;
}

static bool has(const char *path, const char *file)
{
	CLEANUP(mem_freep) char *name = joined_path(path, file);

	return access(name, F_OK) == 0;
}

bool backup_check_knows(const char *path)
{
	return has(path, STORE_FOLDER_BACKUP) || has(path, MARK);
}

int backup_check_run(const struct store_check_options *options, struct store_check_counts *counts,
                     uint64_t *out_backups, struct error *err)
{
	struct backup_check check = {
		.options = options,
		.counts = counts,
		.position = { .progress = options->progress },
		.path = options->path,
		.name = "",
	};
	int result;

	*out_backups = 0;
	if (has(options->path, STORE_FOLDER_BACKUP)) {
		*out_backups = 1;
		result = check_backup(&check, err);
	} else {
		result = check_folder(&check, out_backups, err);
	}
	id_map_fini(&check.seen);
	free(check.bytes);
	return result;
}
