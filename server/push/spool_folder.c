#include "server/push/spool_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/regular_file.h"

#define LOCK_NAME  "lock"
#define PID_BYTES  16
#define OPEN_FLAGS (O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY) /* whatever lies there */

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static int take_fd(int *fd)
{
	const int taken = *fd;

	*fd = -1;
	return taken;
}

/* ---- the folder ---- */

static int check_rights(int fd, const char *path, struct error *err)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_set_errno(err, errno, "spool %s", path);
	if (status.st_uid == geteuid() && (status.st_mode & 077) == 0)
		return 0;
	return error_set(err, ERROR_FORBIDDEN,
	                 "spool %s (uid %u, mode %04o) is not this user's alone: uid %u and mode "
	                 "0700 are expected",
	                 path, status.st_uid, status.st_mode & 07777, geteuid());
}

static int take_lock(int folder, const char *path, int *out, struct error *err)
{
	char text[PID_BYTES] = "";
	CLEANUP(close_fd) int fd = openat(folder, LOCK_NAME, O_RDWR | O_CREAT | OPEN_FLAGS, 0600);
	ssize_t length;

	if (fd < 0)
		return error_set_errno(err, errno, "spool %s cannot be written", path);
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return error_set_errno(err, errno, "spool %s cannot be locked", path);
		length = pread(fd, text, sizeof(text) - 1, 0);
		text[length > 0 ? length : 0] = '\0';
		text[strspn(text, "0123456789")] = '\0';
		return error_set(err, ERROR_UNAVAILABLE,
		                 "spool %s is in use by another process%s%s", path,
		                 text[0] ? ", pid " : "", text);
	}
	/* for whoever is refused; of one length, so that a full disk takes it too */
	length = snprintf(text, sizeof(text), "%-10d\n", (int)getpid());
	(void)!pwrite(fd, text, (size_t)length, 0);
	*out = take_fd(&fd);
	return 0;
}

int spool_folder_open(const char *path, struct spool_folder *out, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	int lock_fd = -1;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return error_set_errno(err, errno, "spool %s cannot be made", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 && errno == ENOTDIR)
		return error_set(err, ERROR_INVALID, "spool %s is no folder", path);
	if (fd < 0)
		return error_set_errno(err, errno, "spool %s cannot be opened", path);
	if (check_rights(fd, path, err) < 0 || take_lock(fd, path, &lock_fd, err) < 0)
		return -1;
	out->fd = take_fd(&fd);
	out->lock_fd = lock_fd;
	return 0;
}

void spool_folder_close(struct spool_folder *folder)
{
	close_fd(&folder->fd);
	close_fd(&folder->lock_fd);
	*folder = (struct spool_folder){ -1, -1 };
}

/* The numbers of both descriptors stay: another thread may be using them. */
int spool_folder_renew(struct spool_folder *folder, const char *path, struct error *err)
{
	struct spool_folder renewed = { -1, -1 };
	struct stat status;
	int result = 1;

	if (fstat(folder->fd, &status) < 0)
		return error_set_errno(err, errno, "spool %s", path);
	if (status.st_nlink > 0)
		return 0;
	if (spool_folder_open(path, &renewed, err) < 0)
		return -1;
	if (dup3(renewed.fd, folder->fd, O_CLOEXEC) < 0 ||
	    dup3(renewed.lock_fd, folder->lock_fd, O_CLOEXEC) < 0)
		result = error_set_errno(err, errno, "spool %s cannot be opened", path);
	spool_folder_close(&renewed);
	return result;
}

static void close_listing(DIR **listing)
{
	if (*listing)
		(void)closedir(*listing);
}

int spool_folder_list(const struct spool_folder *folder,
                      void (*found)(void *context, uint64_t sequence), void *context,
                      struct error *err)
{
	CLEANUP(close_fd) int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(close_listing) DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	uint64_t sequence;

	if (!listing)
		return error_set_errno(err, errno, "spool cannot be listed");
	(void)take_fd(&fd); /* the listing's */
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): one thread has this listing */
	while (errno = 0, (entry = readdir(listing)) != NULL) {
		const enum spool_name kind = spool_name_parse(entry->d_name, &sequence);

		if (kind == SPOOL_NAME_PART)
			(void)unlinkat(folder->fd, entry->d_name, 0);
		if (kind == SPOOL_NAME_PUSH)
			found(context, sequence);
	}
	return errno ? error_set_errno(err, errno, "spool cannot be listed") : 0;
}

/* ---- files ---- */

static int write_all(int fd, const void *bytes, size_t length, const char *name, struct error *err)
{
	const char *at = bytes;
	ssize_t written;

	while (length > 0) {
		written = write(fd, at, length);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return error_set_errno(err, errno, "spool file %s", name);
		at += written;
		length -= (size_t)written;
	}
	return 0;
}

static int fill(int fd, const struct spool_head *head, struct str request, const char *name,
                struct error *err)
{
	uint8_t bytes[SPOOL_HEAD_BYTES];

	spool_head_encode(head, request, bytes);
	if (write_all(fd, bytes, sizeof(bytes), name, err) < 0 ||
	    write_all(fd, request.data, request.length, name, err) < 0)
		return -1;
	return 0;
}

/* Something may lie there that we have made, when we were killed, or that nobody has. */
static int create(int folder, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | OPEN_FLAGS;
	const int fd = openat(folder, name, flags, 0600);

	if (fd >= 0 || errno != EEXIST || unlinkat(folder, name, 0) < 0)
		return fd;
	return openat(folder, name, flags, 0600);
}

int spool_folder_write(const struct spool_folder *folder, const struct spool_head *head,
                       struct str request, struct error *err)
{
	char part[SPOOL_NAME_BYTES];
	char whole[SPOOL_NAME_BYTES];
	int result;
	int fd;

	spool_name_format(head->sequence, SPOOL_NAME_PART, part);
	spool_name_format(head->sequence, SPOOL_NAME_PUSH, whole);
	fd = create(folder->fd, part);
	if (fd < 0)
		return error_set_errno(err, errno, "spool file %s", part);
	result = fill(fd, head, request, part, err);
	if (close(fd) < 0 && result == 0)
		result = error_set_errno(err, errno, "spool file %s", part);
	if (result == 0 && renameat(folder->fd, part, folder->fd, whole) < 0)
		result = error_set_errno(err, errno, "spool file %s", whole);
	if (result < 0)
		(void)unlinkat(folder->fd, part, 0);
	return result;
}

static int fail(int number, const char *name, struct error *err)
{
	if (number == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "spool file %s is gone", name);
	(void)error_set_errno(err, number, "spool file %s", name);
	if (number == ENOMEM)
		err->code = ERROR_UNAVAILABLE;
	return -1;
}

/* *out_size is what it has now. */
static int open_file(const struct spool_folder *folder, const char *name, int *out_fd,
                     size_t *out_size, struct error *err)
{
	CLEANUP(close_fd) int fd = regular_file_open(folder->fd, name, RESOLVE_NO_SYMLINKS);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) < 0)
		return fail(errno, name, err);
	*out_fd = take_fd(&fd);
	*out_size = (size_t)status.st_size;
	return 0;
}

/* As many bytes as there are, at most `length`. */
static ssize_t read_all(int fd, char *to, size_t length)
{
	size_t done = 0;
	ssize_t got;

	while (done < length) {
		got = pread(fd, to + done, length - done, (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

static int check_name(const struct spool_head *head, uint64_t sequence, const char *name,
                      struct error *err)
{
	if (head->sequence == sequence)
		return 0;
	return error_set(err, ERROR_CORRUPT, "spool file %s has another one's bytes", name);
}

int spool_folder_look(const struct spool_folder *folder, uint64_t sequence, struct spool_head *out,
                      struct error *err)
{
	char name[SPOOL_NAME_BYTES];
	char bytes[SPOOL_HEAD_BYTES];
	CLEANUP(close_fd) int fd = -1;
	struct spool_head head = { 0 };
	ssize_t length;
	size_t size = 0;

	spool_name_format(sequence, SPOOL_NAME_PUSH, name);
	if (open_file(folder, name, &fd, &size, err) < 0)
		return -1;
	length = read_all(fd, bytes, sizeof(bytes));
	if (length < 0)
		return fail(errno, name, err);
	if (spool_head_decode(str_make(bytes, (size_t)length), &head, err) < 0)
		return error_context(err, "spool file %s", name);
	if (check_name(&head, sequence, name, err) < 0)
		return -1;
	if (size - SPOOL_HEAD_BYTES != head.length)
		return error_set(err, ERROR_CORRUPT, "spool file %s is %zu bytes long", name, size);
	*out = head;
	return 0;
}

int spool_folder_read(const struct spool_folder *folder, uint64_t sequence, struct strbuf *bytes,
                      struct spool_head *out, struct str *out_request, struct error *err)
{
	char name[SPOOL_NAME_BYTES];
	CLEANUP(close_fd) int fd = -1;
	struct spool_head head = { 0 };
	struct str request;
	ssize_t length;
	size_t size = 0;
	char *room;

	spool_name_format(sequence, SPOOL_NAME_PUSH, name);
	if (open_file(folder, name, &fd, &size, err) < 0)
		return -1;
	strbuf_reset(bytes);
	room = strbuf_reserve(bytes, size);
	if (!room)
		return error_set(err, ERROR_CORRUPT, "spool file %s is %zu bytes long", name, size);
	length = read_all(fd, room, size);
	if (length < 0)
		return fail(errno, name, err);
	strbuf_advance(bytes, (size_t)length);
	if (spool_file_decode(strbuf_view(bytes), &head, &request, err) < 0)
		return error_context(err, "spool file %s", name);
	if (check_name(&head, sequence, name, err) < 0)
		return -1;
	*out = head;
	*out_request = request;
	return 0;
}

int spool_folder_remove(const struct spool_folder *folder, uint64_t sequence, struct error *err)
{
	char name[SPOOL_NAME_BYTES];

	spool_name_format(sequence, SPOOL_NAME_PUSH, name);
	if (unlinkat(folder->fd, name, 0) < 0 && errno != ENOENT)
		return error_set_errno(err, errno, "spool file %s cannot be removed", name);
	return 0;
}

int spool_folder_sync_file(const struct spool_folder *folder, uint64_t sequence, struct error *err)
{
	char name[SPOOL_NAME_BYTES];
	CLEANUP(close_fd) int fd = -1;
	size_t size = 0;

	spool_name_format(sequence, SPOOL_NAME_PUSH, name);
	if (open_file(folder, name, &fd, &size, err) < 0)
		return err->code == ERROR_NOT_FOUND ? 0 : -1;
	return fdatasync(fd) < 0 ? error_set_errno(err, errno, "spool file %s", name) : 0;
}

int spool_folder_sync_names(const struct spool_folder *folder, struct error *err)
{
	return fsync(folder->fd) < 0 ? error_set_errno(err, errno, "spool") : 0;
}
