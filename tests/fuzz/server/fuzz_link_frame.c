/*
 * Reads frames from a socket that has the bytes and then ends.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/push/link_frame.h"

#define PAYLOAD_MAX ((size_t)1 << 16)
#define INPUT_MAX   ((size_t)1 << 15) /* what a socket takes at once */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf payload;
	struct link_head head;
	struct error err = { 0 };
	size_t seen = 0;
	int ends[2];
	int more;

	if (size > INPUT_MAX || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0)
		return 0;
	assert(write(ends[0], data, size) == (ssize_t)size);
	close(ends[0]);
	strbuf_init(&payload, PAYLOAD_MAX);
	while ((more = link_frame_read(ends[1], &head, &payload, &err)) == 1) {
		assert(head.kind >= 1 && head.kind < LINK_KIND_COUNT);
		assert(payload.length == head.length);
		seen += LINK_HEAD_BYTES + payload.length;
	}
	assert(more == 0 ? seen == size : err.code != ERROR_NONE);
	strbuf_fini(&payload);
	close(ends[1]);
	return 0;
}
