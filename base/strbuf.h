/*
 * Bytes that grow: answers, text, encoded pages.
 *
 * Shape    always NUL-terminated, never NULL, with a limit given at birth. What does
 *          not fit is dropped, and that is remembered: append without checking,
 *          then ask once whether it fitted.
 * Units    bytes; the limit does not count the NUL.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct strbuf {
	char *data;
	size_t length;
	size_t capacity; /* of data, the NUL's place included; 0: data is not ours */
	size_t limit;
	bool overflowed;
};

void strbuf_init(struct strbuf *buf, size_t limit);
void strbuf_fini(struct strbuf *buf);

/* Empty again, memory kept. */
void strbuf_reset(struct strbuf *buf);

void strbuf_add(struct strbuf *buf, const void *data, size_t length);
void strbuf_add_str(struct strbuf *buf, struct str text);
void strbuf_add_text(struct strbuf *buf, const char *text);
void strbuf_add_byte(struct strbuf *buf, char byte);
void strbuf_printf(struct strbuf *buf, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Room for `length` more bytes to be written at data + length, or NULL over the limit. */
char *strbuf_reserve(struct strbuf *buf, size_t length);

/* Counts `length` bytes that were written into reserved room. */
void strbuf_advance(struct strbuf *buf, size_t length);

/*
 * Adds all that is left to read of a descriptor: 0, also when there was more than fits, which
 * has overflowed then; or -1 and errno.
 */
int strbuf_read(struct strbuf *buf, int descriptor);

bool strbuf_overflowed(const struct strbuf *buf);

static inline struct str strbuf_view(const struct strbuf *buf)
{
	return (struct str){ buf->data, buf->length };
}

/* The bytes change hands: free() them. The buffer is empty again, its limit stays. */
char *strbuf_detach(struct strbuf *buf, size_t *out_length);
