#include "storage/care/store_restore.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "storage/care/backup_folder.h"
#include "storage/care/backup_manifest.h"
#include "storage/care/care_position.h"
#include "storage/care/file_bytes.h"
#include "storage/care/folder_tree.h"
#include "storage/care/joined_path.h"
#include "storage/store_folder.h"

#define BUILDING "restoring" /* what is copied lies here until it is whole */
#define REPLACED "replaced"  /* what was there before, for a moment */
#define NUMBERS  1000        /* files of one day that are tried */

/* What may lie in a folder that counts as empty. */
static const char *const leavings[] = { "LOCK",   "lost+found",           BUILDING,
	                                REPLACED, STORE_FOLDER_RESTORING, NULL };

/* A restore under way. */
struct store_restore {
	const struct store_restore_options *options;
	struct store_restore_counts *counts;
	struct backup_manifest manifest;
	struct store_folder folder; /* held */
	char *building;
	struct care_position position;
};

static void note_half(void *context, uint64_t bytes)
{
	struct store_restore *restore = context;

	care_position_add(&restore->position, bytes / 2);
}

static bool has(const struct store_restore *restore, const char *name)
{
	CLEANUP(mem_freep) char *path = joined_path(restore->options->store, name);

	return access(path, F_OK) == 0;
}

/* ---- one file ---- */

static int compare(const struct backup_file *file, const struct file_bytes *bytes,
                   struct error *err)
{
	if (bytes->count != file->listed.bytes)
		return error_set(err, ERROR_CORRUPT, "%s of the backup has %llu bytes, it had %llu",
		                 file->listed.name, (unsigned long long)bytes->count,
		                 (unsigned long long)file->listed.bytes);
	if (!hash128_equal(bytes->hash, file->hash))
		return error_set(err, ERROR_CORRUPT,
		                 "%s of the backup is not what was backed up: its hash differs",
		                 file->listed.name);
	return 0;
}

static int check_copy(struct store_restore *restore, const struct listed_file *file,
                      struct error *err)
{
	const struct store_check_options options = {
		.path = restore->building,
		.access = STORE_CHECK_STILL,
		.report = restore->options->report,
	};

	return store_check_file(&options, file, &restore->counts->checked, err);
}

/* Into the folder beside the store's own. */
static int copy_file(struct store_restore *restore, const struct backup_file *file,
                     struct error *err)
{
	CLEANUP(mem_freep) char *from = joined_path(restore->counts->source, file->listed.name);
	CLEANUP(mem_freep) char *to = joined_path(restore->building, file->listed.name);
	const struct file_bytes_progress progress = { note_half, restore };
	struct file_bytes bytes;

	care_position_next(&restore->position, &file->listed);
	if (folder_tree_make_for(to, err) < 0 ||
	    file_bytes_copy(from, to, &progress, &bytes, err) < 0 ||
	    compare(file, &bytes, err) < 0 || check_copy(restore, &file->listed, err) < 0)
		return -1;
	restore->counts->files++;
	restore->counts->bytes += bytes.count;
	return 0;
}

/* ---- a whole store ---- */

static int mark(const struct store_restore *restore, struct error *err)
{
	CLEANUP(mem_freep)
	char *path = joined_path(restore->options->store, STORE_FOLDER_RESTORING);

	if (file_bytes_write(path, STR("vramscope restore: not finished\n"), err) < 0)
		return -1;
	return file_bytes_sync(restore->options->store, err);
}

/* What does not hold a whole store from here on must not be taken for one. */
static int begin(struct store_restore *restore, struct error *err)
{
	if (folder_tree_remove(restore->building, err) < 0 ||
	    folder_tree_make(restore->building, err) < 0)
		return -1;
	return has(restore, "STORE") ? 0 : mark(restore, err);
}

static int copy_all(struct store_restore *restore, struct error *err)
{
	const struct backup_manifest *manifest = &restore->manifest;
	CLEANUP(mem_freep) char *tenants = joined_path(restore->building, "tenants");

	restore->position.all = manifest->bytes;
	if (folder_tree_make(tenants, err) < 0)
		return -1;
	for (size_t i = 0; i < manifest->count; i++)
		if (copy_file(restore, &manifest->files[i], err) < 0)
			return -1;
	if (store_folder_write_key(restore->building, manifest->key, err) < 0)
		return -1;
	return folder_tree_sync(restore->building, err);
}

/* Renames what is there; fine when nothing is. */
static int move(const char *from, const char *to, struct error *err)
{
	if (rename(from, to) < 0 && errno != ENOENT)
		return error_set_errno(err, errno, "%s to %s", from, to);
	return 0;
}

/* What was copied takes the place of what is there; stopped in here, it must be run again. */
static int take_place(const struct store_restore *restore, struct error *err)
{
	const char *store = restore->options->store;
	CLEANUP(mem_freep) char *tenants = joined_path(store, "tenants");
	CLEANUP(mem_freep) char *replaced = joined_path(store, REPLACED);
	CLEANUP(mem_freep) char *key = joined_path(store, "STORE");
	CLEANUP(mem_freep) char *new_tenants = joined_path(restore->building, "tenants");
	CLEANUP(mem_freep) char *new_key = joined_path(restore->building, "STORE");

	if (mark(restore, err) < 0 || folder_tree_remove(replaced, err) < 0 ||
	    move(tenants, replaced, err) < 0 || move(new_tenants, tenants, err) < 0 ||
	    move(new_key, key, err) < 0)
		return -1;
	return file_bytes_sync(store, err);
}

static int finish(const struct store_restore *restore, struct error *err)
{
	const char *store = restore->options->store;
	CLEANUP(mem_freep) char *marked = joined_path(store, STORE_FOLDER_RESTORING);
	CLEANUP(mem_freep) char *replaced = joined_path(store, REPLACED);

	if (folder_tree_remove(replaced, err) < 0 || folder_tree_remove(restore->building, err) < 0)
		return -1;
	if (unlink(marked) < 0)
		return error_set_errno(err, errno, "%s", marked);
	return file_bytes_sync(store, err);
}

static int restore_store(struct store_restore *restore, struct error *err)
{
	CLEANUP(mem_freep)
	char *marked = joined_path(restore->options->store, STORE_FOLDER_RESTORING);
	const bool was_marked = access(marked, F_OK) == 0;
	struct error failed;

	if (begin(restore, err) == 0 && copy_all(restore, err) == 0)
		return take_place(restore, err) < 0 ? -1 : finish(restore, err);
	/* the folder is as it was */
	(void)folder_tree_remove(restore->building, &failed);
	if (!was_marked)
		(void)unlink(marked);
	return -1;
}

/* ---- single windows ---- */

/* tenants/t/2024-10-04.db is also t/2024-10-04.db and t/2024-10-04. */
static bool is_called(const char *name, const char *wanted)
{
	const char *shorter = name + strlen("tenants/");
	const size_t bare = strlen(shorter) - strlen(".db");

	return strcmp(name, wanted) == 0 || strcmp(shorter, wanted) == 0 ||
	       (strlen(wanted) == bare && strncmp(shorter, wanted, bare) == 0);
}

static const struct backup_file *find_window(const struct store_restore *restore,
                                             const char *wanted)
{
	for (size_t i = 0; i < restore->manifest.count; i++)
		if (restore->manifest.files[i].listed.kind == LISTED_WINDOW &&
		    is_called(restore->manifest.files[i].listed.name, wanted))
			return &restore->manifest.files[i];
	return NULL;
}

/* The name that is free for a window of the day: its own, or one of the day's next. */
static int free_name(const struct store_restore *restore, const struct listed_file *file,
                     char out[static LISTED_NAME_SIZE], struct error *err)
{
	for (uint32_t number = file->number; number < file->number + NUMBERS; number++) {
		char name[WINDOW_FILE_SIZE];

		window_file_format(file->day, number, name);
		(void)snprintf(out, LISTED_NAME_SIZE, "tenants/%s/%s", file->folder, name);
		if (!has(restore, out))
			return 0;
		if (restore->options->over == STORE_RESTORE_INTO_EMPTY)
			return error_set(
				err, ERROR_EXISTS,
				"%s is there already: --force puts it beside that one, and what both "
				"have counts twice",
				out);
	}
	return error_set(err, ERROR_EXISTS, "%s has no name that is free", file->name);
}

static int bring_back(struct store_restore *restore, const struct backup_file *file,
                      struct error *err)
{
	CLEANUP(mem_freep) char *from = joined_path(restore->building, file->listed.name);
	CLEANUP(mem_freep) char *to = NULL;
	char name[LISTED_NAME_SIZE];

	if (free_name(restore, &file->listed, name, err) < 0 || copy_file(restore, file, err) < 0)
		return -1;
	to = joined_path(restore->options->store, name);
	if (folder_tree_make_for(to, err) < 0)
		return -1;
	if (rename(from, to) < 0)
		return error_set_errno(err, errno, "%s", to);
	if (restore->options->restored)
		restore->options->restored(restore->options->context, file->listed.name, name);
	return 0;
}

/* All that are asked for are there, or nothing is brought back. */
static int find_windows(struct store_restore *restore, const struct backup_file **files,
                        struct error *err)
{
	for (size_t i = 0; i < restore->options->window_count; i++) {
		const char *wanted = restore->options->windows[i];

		files[i] = find_window(restore, wanted);
		if (!files[i])
			return error_set(err, ERROR_NOT_FOUND, "%s has no window %.200s",
			                 restore->counts->source, wanted);
		restore->position.all += files[i]->listed.bytes;
	}
	return 0;
}

static int restore_each(struct store_restore *restore, struct error *err)
{
	const size_t count = restore->options->window_count;
	CLEANUP(mem_freep)
	const struct backup_file **files = mem_zalloc(count + 1, sizeof(const void *));

	if (find_windows(restore, files, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		if (bring_back(restore, files[i], err) < 0)
			return -1;
	return 0;
}

static int restore_windows(struct store_restore *restore, struct error *err)
{
	struct error failed;
	int result;

	if (!has(restore, "STORE"))
		return error_set(err, ERROR_NOT_FOUND, "%s holds no store to bring windows back to",
		                 restore->options->store);
	if (has(restore, STORE_FOLDER_RESTORING))
		return error_set(err, ERROR_INVALID,
		                 "a restore into %s was stopped and must be run again first",
		                 restore->options->store);
	if (folder_tree_remove(restore->building, err) < 0)
		return -1;
	result = restore_each(restore, err);
	(void)folder_tree_remove(restore->building, &failed);
	if (result == 0)
		result = folder_tree_sync(restore->options->store, err);
	return result;
}

/* ---- beginning ---- */

static int check_empty(const struct store_restore *restore, struct error *err)
{
	const struct store_restore_options *options = restore->options;
	bool holds_others;

	if (options->windows || options->over == STORE_RESTORE_OVER ||
	    has(restore, STORE_FOLDER_RESTORING))
		return 0;
	if (folder_tree_holds_others(options->store, leavings, &holds_others, err) < 0)
		return -1;
	if (holds_others)
		return error_set(err, ERROR_EXISTS,
		                 "%s is not empty: --force replaces what is there", options->store);
	return 0;
}

static int run(struct store_restore *restore, struct error *err)
{
	if (backup_folder_find(restore->options->source, &restore->counts->source, err) < 0 ||
	    backup_manifest_read(restore->counts->source, &restore->manifest, err) < 0 ||
	    check_empty(restore, err) < 0)
		return -1;
	if (has(restore, STORE_FOLDER_BACKUP))
		return error_set(err, ERROR_INVALID, "%s is a backup itself",
		                 restore->options->store);
	if (store_folder_hold(restore->options->store, &restore->folder, err) < 0)
		return -1;
	return restore->options->windows ? restore_windows(restore, err)
	                                 : restore_store(restore, err);
}

int store_restore_run(const struct store_restore_options *options, struct store_restore_counts *out,
                      struct error *err)
{
	struct store_restore restore = {
		.options = options,
		.counts = out,
		.folder = { .lock_fd = -1 },
		.building = joined_path(options->store, BUILDING),
		.position = { .progress = options->progress },
	};
	int result;

	*out = (struct store_restore_counts){ 0 };
	result = run(&restore, err);
	free(restore.building);
	backup_manifest_fini(&restore.manifest);
	store_folder_close(&restore.folder);
	return result;
}
