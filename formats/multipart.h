/*
 * multipart/form-data, read in one pass over a body that is all there.
 *
 * Shape    parts in the order of the body; name, file name and content are views into it.
 *          A boundary may be quoted; line ends may be CRLF or LF; text before the first
 *          boundary and behind the last one is ignored. Content is not decoded.
 * Units    at most MULTIPART_PARTS_MAX parts with MULTIPART_HEAD_MAX bytes of headers
 *          each.
 * Errors   ERROR_INVALID for a content type without a usable boundary and for a body that
 *          does not end in its last boundary, ERROR_TOO_LARGE past a limit.
 * Threads  none.
 * Source   RFC 7578 and RFC 2046, 5.1; ingest specification, 3.7
 *
 *	struct multipart reader;
 *	struct multipart_part part;
 *
 *	if (multipart_init(&reader, content_type, body, err) < 0)
 *		return -1;
 *	while ((more = multipart_next(&reader, &part, err)) > 0)
 *		...
 */
#pragma once

#include "base/error.h"
#include "base/str.h"

#define MULTIPART_MEDIA_TYPE   "multipart/form-data"
#define MULTIPART_PARTS_MAX    1000 /* as Go's reader */
#define MULTIPART_HEAD_MAX     8192 /* a guess: senders use some 150 bytes */
#define MULTIPART_BOUNDARY_MAX 200  /* RFC 2046 says 70 */

struct multipart {
	char delimiter[2 + MULTIPART_BOUNDARY_MAX]; /* "--" and the boundary */
	size_t delimiter_length;
	struct str rest; /* behind a boundary line */
	size_t part_count;
	bool started;
	bool ended;
};

struct multipart_part {
	struct str name;     /* empty when it has none */
	struct str filename; /* likewise */
	struct str content;
};

/* Whether a content type is that of a form. */
bool multipart_is(struct str content_type);

int multipart_init(struct multipart *reader, struct str content_type, struct str body,
                   struct error *err);

/* 1 with the next part, 0 behind the last one, -1 at an error. */
int multipart_next(struct multipart *reader, struct multipart_part *out, struct error *err);
