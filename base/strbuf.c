#include "base/strbuf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

#define READ_BYTES ((size_t)16 << 10) /* at a time */

static char empty[1];

void strbuf_init(struct strbuf *buf, size_t limit)
{
	*buf = (struct strbuf){ .data = empty, .limit = limit };
}

void strbuf_fini(struct strbuf *buf)
{
	if (buf->capacity > 0)
		free(buf->data);
	*buf = (struct strbuf){ .data = empty };
}

void strbuf_reset(struct strbuf *buf)
{
	buf->length = 0;
	buf->overflowed = false;
	if (buf->capacity > 0)
		buf->data[0] = '\0';
}

char *strbuf_reserve(struct strbuf *buf, size_t length)
{
	size_t needed;

	if (buf->overflowed || length > buf->limit || buf->length > buf->limit - length ||
	    __builtin_add_overflow(buf->length + 1, length, &needed)) {
		buf->overflowed = true;
		return NULL;
	}
	if (needed > buf->capacity) {
		size_t capacity = buf->capacity ? buf->capacity * 2 : 64;

		if (capacity < needed)
			capacity = needed;
		buf->data = mem_resize(buf->capacity ? buf->data : NULL, capacity, 1);
		buf->capacity = capacity;
		buf->data[buf->length] = '\0';
	}
	return buf->data + buf->length;
}

void strbuf_advance(struct strbuf *buf, size_t length)
{
	if (length == 0)
		return;
	buf->length += length;
	buf->data[buf->length] = '\0';
}

void strbuf_add(struct strbuf *buf, const void *data, size_t length)
{
	char *room = strbuf_reserve(buf, length);

	if (!room || length == 0)
		return;
	memcpy(room, data, length);
	strbuf_advance(buf, length);
}

static ssize_t read_again(int descriptor, void *to, size_t length)
{
	ssize_t got;

	do
		got = read(descriptor, to, length);
	while (got < 0 && errno == EINTR);
	return got;
}

int strbuf_read(struct strbuf *buf, int descriptor)
{
	ssize_t got = 1;
	char more;

	while (got > 0 && buf->length < buf->limit && !buf->overflowed) {
		const size_t left = buf->limit - buf->length;
		const size_t length = left < READ_BYTES ? left : READ_BYTES;

		got = read_again(descriptor, strbuf_reserve(buf, length), length);
		if (got > 0)
			strbuf_advance(buf, (size_t)got);
	}
	if (got > 0 && !buf->overflowed) {
		got = read_again(descriptor, &more, sizeof(more));
		buf->overflowed = got > 0;
	}
	return got < 0 ? -1 : 0;
}

void strbuf_add_str(struct strbuf *buf, struct str text)
{
	strbuf_add(buf, text.data, text.length);
}

void strbuf_add_text(struct strbuf *buf, const char *text)
{
	strbuf_add(buf, text, strlen(text));
}

void strbuf_add_byte(struct strbuf *buf, char byte)
{
	strbuf_add(buf, &byte, 1);
}

void strbuf_printf(struct strbuf *buf, const char *format, ...)
{
	va_list args;
	char *room;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length <= 0)
		return;
	room = strbuf_reserve(buf, (size_t)length);
	if (!room)
		return;
	va_start(args, format);
	(void)vsnprintf(room, (size_t)length + 1, format, args);
	va_end(args);
	strbuf_advance(buf, (size_t)length);
}

bool strbuf_overflowed(const struct strbuf *buf)
{
	return buf->overflowed;
}

char *strbuf_detach(struct strbuf *buf, size_t *out_length)
{
	char *bytes = buf->capacity ? buf->data : mem_zalloc(1, 1);
	const size_t limit = buf->limit;

	if (out_length)
		*out_length = buf->length;
	strbuf_init(buf, limit);
	return bytes;
}
