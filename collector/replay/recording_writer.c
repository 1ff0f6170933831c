#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/zstd.h"
#include "collector/replay/recording.h"
#include "collector/replay/recording_wire.h"

#define BLOCK_BYTES ((size_t)1 << 20) /* records are packed when there are so many */
#define PACK_LEVEL  9

struct recording_writer {
	int fd;
	struct strbuf block;  /* records that are not written yet */
	struct strbuf packed; /* the same, as they go out */
};

static int write_all(int fd, struct str bytes, struct error *err)
{
	while (bytes.length > 0) {
		const ssize_t written = write(fd, bytes.data, bytes.length);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return error_set_errno(err, errno, "write recording");
		bytes = str_skip(bytes, (size_t)written);
	}
	return 0;
}

static int flush_block(struct recording_writer *writer, struct error *err)
{
	struct recording_block head = { 0 };

	if (writer->block.length == 0)
		return 0;
	strbuf_reset(&writer->packed);
	strbuf_add(&writer->packed, &head, sizeof(head));
	zstd_pack(strbuf_view(&writer->block), PACK_LEVEL, &writer->packed);
	if (strbuf_overflowed(&writer->packed))
		return error_set(err, ERROR_TOO_LARGE, "a block of a recording over %zu bytes",
		                 RECORDING_BLOCK_MAX);
	head.packed_length = (uint32_t)(writer->packed.length - sizeof(head));
	head.plain_length = (uint32_t)writer->block.length;
	memcpy(writer->packed.data, &head, sizeof(head));
	strbuf_reset(&writer->block);
	return write_all(writer->fd, strbuf_view(&writer->packed), err);
}

int recording_create(const char *path, struct recording_writer **out, struct error *err)
{
	/* a pipe that nobody reads is refused, not waited for */
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0600);
	struct recording_writer *writer;

	if (fd < 0)
		return error_set_errno(err, errno, "create %s", path);
	if (write_all(fd, STR(RECORDING_MAGIC), err) < 0) {
		close(fd);
		return -1;
	}
	writer = mem_zalloc(1, sizeof(*writer));
	writer->fd = fd;
	strbuf_init(&writer->block, RECORDING_BLOCK_MAX);
	strbuf_init(&writer->packed, RECORDING_BLOCK_MAX);
	*out = writer;
	return 0;
}

int recording_append(struct recording_writer *writer, const struct recording_record *head,
                     const struct str *parts, size_t part_count, struct error *err)
{
	struct recording_head wire = { .kind = head->kind,
		                       .tgid = head->tgid,
		                       .time_ns = head->time_ns };
	size_t length = 0;

	for (size_t i = 0; i < part_count; i++)
		length += parts[i].length;
	if (length > RECORDING_BLOCK_MAX - sizeof(wire))
		return error_set(err, ERROR_TOO_LARGE, "a record of %zu bytes, at most %zu", length,
		                 RECORDING_BLOCK_MAX - sizeof(wire));
	if (writer->block.length + sizeof(wire) + length > BLOCK_BYTES &&
	    flush_block(writer, err) < 0)
		return -1;
	wire.length = (uint32_t)length;
	strbuf_add(&writer->block, &wire, sizeof(wire));
	for (size_t i = 0; i < part_count; i++)
		strbuf_add_str(&writer->block, parts[i]);
	return 0;
}

int recording_close(struct recording_writer *writer, struct error *err)
{
	int status;

	if (!writer)
		return 0;
	status = flush_block(writer, err);
	if (close(writer->fd) < 0 && status == 0)
		status = error_set_errno(err, errno, "close recording");
	strbuf_fini(&writer->block);
	strbuf_fini(&writer->packed);
	free(writer);
	return status;
}
