#include "storage/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define TAIL_SIZE 16 /* of "-journal" */

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static char *with_tail(const char *path, const char *tail)
{
	const size_t size = strlen(path) + TAIL_SIZE;
	char *name = mem_zalloc(size, 1);

	(void)snprintf(name, size, "%s%s", path, tail);
	return name;
}

int file_place_prepare(const char *fresh, const char *path, struct error *err)
{
	CLEANUP(close_fd) int fd = open(fresh, O_RDWR | O_CLOEXEC);
	struct stat old;
	struct stat own;

	if (fd < 0 || fstat(fd, &own) < 0)
		return error_set_errno(err, errno, "%s", fresh);
	if (stat(path, &old) < 0)
		return error_set_errno(err, errno, "%s", path);
	if ((own.st_uid != old.st_uid || own.st_gid != old.st_gid) &&
	    fchown(fd, old.st_uid, old.st_gid) < 0)
		return error_set_errno(err, errno, "the owner of %s", fresh);
	if (fchmod(fd, old.st_mode & 07777) < 0 || fsync(fd) < 0)
		return error_set_errno(err, errno, "%s", fresh);
	return 0;
}

int file_place_sync(const char *path, struct error *err)
{
	CLEANUP(mem_freep) char *folder = mem_strdup(path);
	CLEANUP(close_fd) int fd = -1;

	*strrchr(folder, '/') = '\0';
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return error_set_errno(err, errno, "%s", folder);
	return 0;
}

/* An empty one was moved into the file. */
static int check_log(const char *path, struct error *err)
{
	CLEANUP(mem_freep) char *log = with_tail(path, "-wal");
	struct stat status;

	if (stat(log, &status) < 0)
		return errno == ENOENT ? 0 : error_set_errno(err, errno, "%s", log);
	if (status.st_size > 0)
		return error_set(err, ERROR_UNAVAILABLE, "%s is in use", log);
	return 0;
}

static void clear_tails(const char *path)
{
	static const char *const tails[] = { "-wal", "-shm", "-journal" };

	for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		CLEANUP(mem_freep) char *name = with_tail(path, tails[i]);

		(void)unlink(name);
	}
}

int file_place_take(const char *fresh, const char *path, struct error *err)
{
	if (check_log(path, err) < 0)
		return -1;
	/* before: a log that is found beside the new file would be taken for its own */
	clear_tails(path);
	if (rename(fresh, path) < 0)
		return error_set_errno(err, errno, "%s cannot take the place of %s", fresh, path);
	return 0;
}
