#include "server/push/link_frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers go out as they lie");

void link_head_encode(const struct link_head *head, uint8_t out[static LINK_HEAD_BYTES])
{
	memcpy(out, &head->length, 4);
	out[4] = (uint8_t)head->kind;
	memcpy(out + 5, &head->sequence, 8);
}

int link_head_decode(const uint8_t bytes[static LINK_HEAD_BYTES], struct link_head *out,
                     struct error *err)
{
	struct link_head head;

	memcpy(&head.length, bytes, 4);
	memcpy(&head.sequence, bytes + 5, 8);
	if (bytes[4] == 0 || bytes[4] >= LINK_KIND_COUNT)
		return error_set(err, ERROR_CORRUPT, "a frame of kind %u, known: 1 to %d", bytes[4],
		                 LINK_KIND_COUNT - 1);
	if (head.length > LINK_BYTES_MAX)
		return error_set(err, ERROR_CORRUPT, "a frame of %u bytes, at most %zu",
		                 head.length, LINK_BYTES_MAX);
	head.kind = (enum link_kind)bytes[4];
	*out = head;
	return 0;
}

/* Writes both, or fails. */
static int write_both(int fd, struct iovec parts[2], struct error *err)
{
	while (parts[0].iov_len + parts[1].iov_len > 0) {
		const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
		ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return error_set_errno(err, errno, "write to the other half");
		for (int i = 0; i < 2; i++) {
			const size_t part = (size_t)sent < parts[i].iov_len ? (size_t)sent
			                                                    : parts[i].iov_len;

			parts[i].iov_base = (char *)parts[i].iov_base + part;
			parts[i].iov_len -= part;
			sent -= (ssize_t)part;
		}
	}
	return 0;
}

int link_frame_write(int fd, enum link_kind kind, uint64_t sequence, struct str payload,
                     struct error *err)
{
	const struct link_head head = { .length = (uint32_t)payload.length,
		                        .kind = kind,
		                        .sequence = sequence };
	uint8_t bytes[LINK_HEAD_BYTES];
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): sendmsg() reads, and takes no const */
	void *const data = (void *)(uintptr_t)payload.data;
	struct iovec parts[2] = { { bytes, sizeof(bytes) }, { data, payload.length } };

	if (payload.length > LINK_BYTES_MAX)
		return error_set(err, ERROR_TOO_LARGE, "a frame of %zu bytes, at most %zu",
		                 payload.length, LINK_BYTES_MAX);
	link_head_encode(&head, bytes);
	return write_both(fd, parts, err);
}

/* Bytes read: fewer than asked for only at the end; -1. */
static ssize_t read_full(int fd, void *data, size_t length, struct error *err)
{
	size_t done = 0;

	while (done < length) {
		const ssize_t got = read(fd, (char *)data + done, length - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == ECONNRESET) /* it left before it had read everything */
			break;
		if (got < 0)
			return error_set_errno(err, errno, "read from the other half");
		if (got == 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

int link_frame_read(int fd, struct link_head *out, struct strbuf *payload, struct error *err)
{
	uint8_t bytes[LINK_HEAD_BYTES];
	const ssize_t head_length = read_full(fd, bytes, sizeof(bytes), err);
	ssize_t length;
	char *room;

	if (head_length <= 0)
		return (int)head_length;
	if ((size_t)head_length < sizeof(bytes))
		return error_set(err, ERROR_CORRUPT, "the other half ended within a frame");
	if (link_head_decode(bytes, out, err) < 0)
		return -1;
	strbuf_reset(payload);
	room = strbuf_reserve(payload, out->length);
	if (!room)
		return error_set(err, ERROR_TOO_LARGE, "a frame of %u bytes, at most %zu here",
		                 out->length, payload->limit);
	length = read_full(fd, room, out->length, err);
	if (length < 0)
		return -1;
	if ((size_t)length < out->length)
		return error_set(err, ERROR_CORRUPT, "the other half ended within a frame");
	strbuf_advance(payload, (size_t)length);
	return 1;
}
