#include "storage/care/file_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strbuf.h"

#define PIECE ((size_t)1 << 20)
#define MODE  0640

static void close_fd(const int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
}

static int write_all(int fd, struct str bytes)
{
	while (bytes.length > 0) {
		const ssize_t written = write(fd, bytes.data, bytes.length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -1;
		bytes = str_skip(bytes, (size_t)written);
	}
	return 0;
}

/* The next piece: its length, 0 at the end. */
static ssize_t read_piece(int fd, char *piece)
{
	ssize_t length;

	do
		length = read(fd, piece, PIECE);
	while (length < 0 && errno == EINTR);
	return length;
}

/* Reads `from` to its end; `to` (or -1) gets what it has. */
static int pass(int from, int to, const struct file_bytes_progress *progress,
                struct file_bytes *out)
{
	CLEANUP(mem_freep) char *piece = mem_zalloc(PIECE, 1);
	struct hash_stream stream;
	uint64_t count = 0;
	ssize_t length;

	hash_stream_begin(&stream);
	while ((length = read_piece(from, piece)) > 0) {
		const struct str bytes = str_make(piece, (size_t)length);

		if (to >= 0 && write_all(to, bytes) < 0)
			return -1;
		hash_stream_add(&stream, bytes);
		count += bytes.length;
		if (progress && progress->tell)
			progress->tell(progress->context, bytes.length);
	}
	*out = (struct file_bytes){ hash_stream_end(&stream), count };
	return length < 0 ? -1 : 0;
}

int file_bytes_hash(const char *path, const struct file_bytes_progress *progress,
                    struct file_bytes *out, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pass(fd, -1, progress, out) < 0)
		return error_set_errno(err, errno, "reading %s", path);
	return 0;
}

int file_bytes_copy(const char *from, const char *to, const struct file_bytes_progress *progress,
                    struct file_bytes *out, struct error *err)
{
	CLEANUP(close_fd) int source = open(from, O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int fd = -1;

	if (source < 0)
		return error_set_errno(err, errno, "reading %s", from);
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
	if (fd < 0 && errno == EEXIST)
		return error_set(err, ERROR_EXISTS, "%s is there already", to);
	if (fd < 0)
		return error_set_errno(err, errno, "%s", to);
	if (pass(source, fd, progress, out) < 0 || fsync(fd) < 0) {
		(void)error_set_errno(err, errno, "copying %s to %s", from, to);
		(void)unlink(to);
		return -1;
	}
	return 0;
}

int file_bytes_sync(const char *path, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return error_set_errno(err, errno, "syncing %s", path);
	return 0;
}

int file_bytes_write(const char *path, struct str text, struct error *err)
{
	const size_t size = strlen(path) + sizeof(".new");
	CLEANUP(mem_freep) char *fresh = mem_zalloc(size, 1);
	CLEANUP(close_fd) int fd = -1;

	(void)snprintf(fresh, size, "%s.new", path);
	fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, MODE);
	if (fd < 0)
		return error_set_errno(err, errno, "%s", fresh);
	if (write_all(fd, text) < 0 || fsync(fd) < 0 || rename(fresh, path) < 0) {
		(void)error_set_errno(err, errno, "writing %s", path);
		(void)unlink(fresh);
		return -1;
	}
	return 0;
}

int file_bytes_read(const char *path, size_t limit, char **out, size_t *out_length,
                    struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct strbuf text;
	int result;

	if (fd < 0 && errno == ENOENT)
		return error_set(err, ERROR_NOT_FOUND, "%s is not there", path);
	if (fd < 0)
		return error_set_errno(err, errno, "reading %s", path);
	strbuf_init(&text, limit);
	result = strbuf_read(&text, fd);
	if (result < 0)
		(void)error_set_errno(err, errno, "reading %s", path);
	else if (strbuf_overflowed(&text))
		result = error_set(err, ERROR_TOO_LARGE, "%s is over %zu bytes", path, limit);
	else
		*out = strbuf_detach(&text, out_length);
	strbuf_fini(&text);
	return result;
}
