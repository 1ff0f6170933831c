#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/zstd.h"
#include "collector/replay/recording.h"
#include "collector/replay/recording_wire.h"

#define FILE_BYTES_MAX ((size_t)1 << 30)

struct recording_reader {
	char *owned;         /* the file's bytes, when we have read it */
	struct str rest;     /* blocks that are not unpacked yet */
	struct str block;    /* records that are not returned yet */
	struct arena *arena; /* of the block */
};

/* 1: `block` has bytes; 0: there are no more blocks. */
static int next_block(struct recording_reader *reader, struct error *err)
{
	struct recording_block head;
	struct str bytes;
	struct str packed;

	if (!str_take(&reader->rest, sizeof(head), &bytes))
		return 0;
	memcpy(&head, bytes.data, sizeof(head));
	if (head.plain_length > RECORDING_BLOCK_MAX || head.packed_length > RECORDING_BLOCK_MAX)
		return error_set(err, ERROR_TOO_LARGE,
		                 "a block of %u bytes packed to %u in a recording, at most %zu",
		                 head.plain_length, head.packed_length, RECORDING_BLOCK_MAX);
	if (!str_take(&reader->rest, head.packed_length, &packed)) {
		reader->rest.length = 0; /* the writer was stopped within it */
		return 0;
	}
	arena_reset(reader->arena);
	if (zstd_unpack(packed, head.plain_length, reader->arena, &reader->block, err) < 0)
		return error_context(err, "block of a recording");
	return 1;
}

int recording_next(struct recording_reader *reader, struct recording_record *out, struct error *err)
{
	struct recording_head head;
	struct str bytes;

	while (reader->block.length == 0) {
		const int more = next_block(reader, err);

		if (more <= 0)
			return more;
	}
	if (!str_take(&reader->block, sizeof(head), &bytes))
		return error_set(err, ERROR_CORRUPT, "%zu stray bytes in a block of a recording",
		                 reader->block.length);
	memcpy(&head, bytes.data, sizeof(head));
	if (head.kind == 0 || head.kind >= RECORDING_KIND_COUNT)
		return error_set(err, ERROR_CORRUPT,
		                 "a record of kind %u in a recording, known: 1 to %d", head.kind,
		                 RECORDING_KIND_COUNT - 1);
	if (!str_take(&reader->block, head.length, &bytes))
		return error_set(err, ERROR_CORRUPT,
		                 "a record of %u bytes in a recording where %zu are left",
		                 head.length, reader->block.length);
	*out = (struct recording_record){ .kind = (enum recording_kind)head.kind,
		                          .tgid = head.tgid,
		                          .time_ns = head.time_ns,
		                          .bytes = bytes };
	return 1;
}

int recording_open_bytes(struct str bytes, struct recording_reader **out, struct error *err)
{
	struct recording_reader *reader;

	if (!str_starts_with(bytes, STR(RECORDING_MAGIC)))
		return error_set(err, ERROR_CORRUPT,
		                 "no recording: it does not begin with \"vramrec\"");
	reader = mem_zalloc(1, sizeof(*reader));
	reader->rest = str_skip(bytes, sizeof(RECORDING_MAGIC) - 1);
	reader->arena = arena_new(RECORDING_BLOCK_MAX + ((size_t)1 << 20), NULL);
	*out = reader;
	return 0;
}

static int read_all(int fd, char *data, size_t length, const char *path, struct error *err)
{
	for (size_t done = 0; done < length;) {
		const ssize_t got = pread(fd, data + done, length - done, (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set_errno(err, errno, "read %s", path);
		if (got == 0)
			return error_set(err, ERROR_IO, "%s became shorter while it was read",
			                 path);
		done += (size_t)got;
	}
	return 0;
}

static int read_file(int fd, const char *path, char **out, size_t *out_length, struct error *err)
{
	CLEANUP(mem_freep) char *data = NULL;
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return error_set_errno(err, errno, "stat %s", path);
	if (!S_ISREG(stat.st_mode) || (size_t)stat.st_size > FILE_BYTES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "%s: no regular file of at most %zu bytes",
		                 path, FILE_BYTES_MAX);
	data = mem_zalloc((size_t)stat.st_size + 1, 1);
	if (read_all(fd, data, (size_t)stat.st_size, path, err) < 0)
		return -1;
	*out_length = (size_t)stat.st_size;
	*out = TAKE(data);
	return 0;
}

int recording_open(const char *path, struct recording_reader **out, struct error *err)
{
	/* a pipe is refused, not waited for */
	const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *data = NULL;
	size_t length = 0;
	int status;

	if (fd < 0)
		return error_set_errno(err, errno, "open %s", path);
	status = read_file(fd, path, &data, &length, err);
	close(fd);
	if (status < 0)
		return -1;
	if (recording_open_bytes(str_make(data, length), out, err) < 0) {
		free(data);
		return error_context(err, "%s", path);
	}
	(*out)->owned = data;
	return 0;
}

void recording_reader_free(struct recording_reader *reader)
{
	if (!reader)
		return;
	arena_free(reader->arena);
	free(reader->owned);
	free(reader);
}
