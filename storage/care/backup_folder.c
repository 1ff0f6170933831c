#include "storage/care/backup_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/folder.h"
#include "base/mem.h"
#include "base/str.h"
#include "storage/care/file_bytes.h"
#include "storage/care/folder_tree.h"
#include "storage/care/joined_path.h"
#include "storage/store_folder.h"

#define MARK     "BACKUPS"
#define INCOMING ".incoming-"
#define REMOVING ".removing-"
#define MARK_MAX 256

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static bool has(const char *path, const char *file)
{
	CLEANUP(mem_freep) char *name = joined_path(path, file);

	return access(name, F_OK) == 0;
}

/* ---- names ---- */

/* 20261130T171000.123Z */
static bool is_backup_name(const char *name)
{
	static const char pattern[] = "dddddddd"
				      "T"
				      "dddddd"
				      "."
				      "ddd"
				      "Z";

	if (strlen(name) != sizeof(pattern) - 1)
		return false;
	for (size_t i = 0; name[i]; i++)
		if (pattern[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != pattern[i])
			return false;
	return true;
}

static void format_name(int64_t unix_ns, char out[static BACKUP_NAME_SIZE])
{
	const time_t seconds = (time_t)(unix_ns / NS_PER_S);
	struct tm utc;
	size_t length;

	(void)gmtime_r(&seconds, &utc);
	length = strftime(out, BACKUP_NAME_SIZE, "%Y%m%dT%H%M%S", &utc);
	(void)snprintf(out + length, BACKUP_NAME_SIZE - length, ".%03dZ",
	               (int)(unix_ns % NS_PER_S / NS_PER_MS));
}

/* The `count` digits at a place of a name. */
static int digits_at(const char *name, size_t place, size_t count)
{
	int number = 0;

	for (size_t i = 0; i < count; i++)
		number = number * 10 + (name[place + i] - '0');
	return number;
}

static int64_t time_of(const char *name)
{
	struct tm utc = {
		.tm_year = digits_at(name, 0, 4) - 1900,
		.tm_mon = digits_at(name, 4, 2) - 1,
		.tm_mday = digits_at(name, 6, 2),
		.tm_hour = digits_at(name, 9, 2),
		.tm_min = digits_at(name, 11, 2),
		.tm_sec = digits_at(name, 13, 2),
	};

	return timegm(&utc) * NS_PER_S + digits_at(name, 16, 3) * NS_PER_MS;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(left, right);
}

static void add(struct backup_folder *folder, const char *name)
{
	if (folder->count == folder->capacity) {
		folder->capacity = folder->capacity ? folder->capacity * 2 : 16;
		folder->names = mem_resize(folder->names, folder->capacity, sizeof(*folder->names));
	}
	(void)snprintf(folder->names[folder->count++], BACKUP_NAME_SIZE, "%s", name);
}

/* Calls back for each name; a name may be removed meanwhile. */
static int each_name(const char *path,
                     int (*visit)(struct backup_folder *, const char *, struct error *),
                     struct backup_folder *folder, struct error *err)
{
	CLEANUP(folder_close) struct folder listed = { 0 };
	const struct dirent *entry;
	int more;

	if (folder_open(path, &listed, err) < 0)
		return -1;
	while ((more = folder_next(&listed, &entry, err)) > 0)
		if (visit(folder, entry->d_name, err) < 0)
			return -1;
	return more;
}

static int note_backup(struct backup_folder *folder, const char *name, struct error *err)
{
	CLEANUP(mem_freep) char *path = joined_path(folder->path, name);

	(void)err;
	if (is_backup_name(name) && has(path, STORE_FOLDER_BACKUP))
		add(folder, name);
	return 0;
}

static int list(struct backup_folder *folder, struct error *err)
{
	if (each_name(folder->path, note_backup, folder, err) < 0)
		return -1;
	if (folder->count > 1)
		qsort(folder->names, folder->count, sizeof(*folder->names), by_name);
	return 0;
}

static int remove_unfinished(struct backup_folder *folder, const char *name, struct error *err)
{
	CLEANUP(mem_freep) char *path = joined_path(folder->path, name);

	if (!str_starts_with(str_of(name), STR(INCOMING)) &&
	    !str_starts_with(str_of(name), STR(REMOVING)))
		return 0;
	return folder_tree_remove(path, err);
}

/* ---- opening ---- */

/* A folder that is not ours yet must be empty: it may be a store, or somebody's home. */
static int check_unmarked(const char *path, struct error *err)
{
	static const char *const nothing[] = { "lost+found", NULL };
	bool holds_others;

	if (has(path, MARK))
		return 0;
	if (has(path, "STORE") || has(path, STORE_FOLDER_BACKUP))
		return error_set(err, ERROR_INVALID, "%s is a store, not a folder for backups",
		                 path);
	if (folder_tree_holds_others(path, nothing, &holds_others, err) < 0)
		return -1;
	if (holds_others)
		return error_set(err, ERROR_INVALID,
		                 "%s is not empty and holds no backups: name a folder of its own",
		                 path);
	return 0;
}

/* The key that the mark has; false: it says nothing (somebody was killed as it was made). */
static int check_mark(int fd, const char *path, uint64_t key, struct error *err)
{
	char wanted[MARK_MAX];
	char text[MARK_MAX] = "";
	const int length = snprintf(wanted, sizeof(wanted),
	                            "vramscope backups\nformat 1\nkey %016" PRIx64 "\n", key);
	const ssize_t found = pread(fd, text, sizeof(text) - 1, 0);

	if (found < 0)
		return error_set_errno(err, errno, "%s/" MARK, path);
	if (found < length && (ftruncate(fd, 0) < 0 ||
	                       pwrite(fd, wanted, (size_t)length, 0) != length || fsync(fd) < 0))
		return error_set_errno(err, errno, "%s/" MARK, path);
	if (found >= length && strcmp(text, wanted) != 0)
		return error_set(err, ERROR_INVALID,
		                 "%s holds backups of another store: name a folder of its own",
		                 path);
	return 0;
}

static int take_mark(struct backup_folder *folder, uint64_t key, struct error *err)
{
	CLEANUP(mem_freep) char *name = joined_path(folder->path, MARK);

	folder->lock_fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0640);
	if (folder->lock_fd < 0)
		return error_set_errno(err, errno, "%s", name);
	if (flock(folder->lock_fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return error_set_errno(err, errno, "%s cannot be locked", name);
		return error_set(err, ERROR_UNAVAILABLE, "another backup into %s is under way",
		                 folder->path);
	}
	return check_mark(folder->lock_fd, folder->path, key, err);
}

int backup_folder_open(const char *path, uint64_t key, struct backup_folder *out, struct error *err)
{
	CLEANUP(backup_folder_close)
	struct backup_folder folder = { .path = mem_strdup(path), .lock_fd = -1 };

	if (folder_tree_make(path, err) < 0 || check_unmarked(path, err) < 0 ||
	    take_mark(&folder, key, err) < 0 ||
	    each_name(path, remove_unfinished, &folder, err) < 0 || list(&folder, err) < 0)
		return -1;
	*out = folder;
	folder = (struct backup_folder){ .lock_fd = -1 };
	return 0;
}

int backup_folder_list(const char *path, struct backup_folder *out, struct error *err)
{
	CLEANUP(backup_folder_close)
	struct backup_folder folder = { .path = mem_strdup(path), .lock_fd = -1 };

	if (list(&folder, err) < 0)
		return -1;
	if (folder.count == 0)
		return error_set(err, ERROR_NOT_FOUND, "%s holds no backup that is whole", path);
	*out = folder;
	folder = (struct backup_folder){ .lock_fd = -1 };
	return 0;
}

void backup_folder_close(struct backup_folder *folder)
{
	if (folder->path)
		close_fd(&folder->lock_fd);
	free(folder->path);
	free(folder->names);
	*folder = (struct backup_folder){ .lock_fd = -1 };
}

/* ---- adding ---- */

char *backup_folder_begin(struct backup_folder *folder, int64_t now_unix_ns,
                          char out_name[static BACKUP_NAME_SIZE], struct error *err)
{
	char unfinished[BACKUP_NAME_SIZE + sizeof(INCOMING)];
	char *path;

	/* the newest is the last by name, also when a clock went back */
	if (folder->count > 0) {
		const int64_t newest = time_of(folder->names[folder->count - 1]);

		if (now_unix_ns < newest + NS_PER_MS)
			now_unix_ns = newest + NS_PER_MS;
	}
	format_name(now_unix_ns, out_name);
	(void)snprintf(unfinished, sizeof(unfinished), INCOMING "%s", out_name);
	path = joined_path(folder->path, unfinished);
	if (folder_tree_make(path, err) == 0)
		return path;
	free(path);
	return NULL;
}

int backup_folder_finish(struct backup_folder *folder, const char *building, const char *name,
                         struct error *err)
{
	CLEANUP(mem_freep) char *whole = joined_path(folder->path, name);

	if (folder_tree_sync(building, err) < 0)
		return -1;
	if (rename(building, whole) < 0)
		return error_set_errno(err, errno, "%s", whole);
	add(folder, name);
	return file_bytes_sync(folder->path, err);
}

static int remove_backup(const struct backup_folder *folder, const char *name, struct error *err)
{
	CLEANUP(mem_freep) char *path = joined_path(folder->path, name);
	char going[BACKUP_NAME_SIZE + sizeof(REMOVING)];
	CLEANUP(mem_freep) char *away = NULL;

	/* a removal that is stopped half-way leaves no half of a backup */
	(void)snprintf(going, sizeof(going), REMOVING "%s", name);
	away = joined_path(folder->path, going);
	if (rename(path, away) < 0)
		return error_set_errno(err, errno, "%s", path);
	return folder_tree_remove(away, err);
}

int backup_folder_prune(struct backup_folder *folder, size_t keep, size_t *out_removed,
                        struct error *err)
{
	size_t removed = 0;

	while (folder->count - removed > keep) {
		if (remove_backup(folder, folder->names[removed], err) < 0)
			return -1;
		removed++;
	}
	*out_removed = removed;
	return 0;
}

/* ---- finding ---- */

int backup_folder_find(const char *path, char **out, struct error *err)
{
	CLEANUP(backup_folder_close) struct backup_folder folder = { .lock_fd = -1 };

	if (has(path, STORE_FOLDER_BACKUP)) {
		*out = mem_strdup(path);
		return 0;
	}
	if (backup_folder_list(path, &folder, err) < 0)
		return -1;
	*out = joined_path(path, folder.names[folder.count - 1]);
	return 0;
}
