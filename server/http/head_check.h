/*
 * What must hold for the head of a request before anything believes it.
 *
 * Shape    refuses what two servers could read differently: names that are no tokens,
 *          lengths given twice or beside a transfer encoding, encodings other than
 *          chunked, a missing or second Host, control characters in values.
 * Errors   the HTTP status and a text; 0 when all is well.
 * Threads  any.
 * Source   RFC 9110, 5.1, 5.5, 7.2, 8.6; RFC 9112, 3.2, 6.1, 6.3; RFC 9113, 8.2
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/http_message.h"

enum head_version {
	HEAD_HTTP_1_0,
	HEAD_HTTP_1_1,
	HEAD_HTTP_2, /* its library has looked at names, values and lengths before */
};

struct head {
	uint64_t content_length; /* 0 without one */
	bool is_chunked;
	bool expects_continue;
};

/* The version of a request line. False for anything but HTTP/1.0 and HTTP/1.1. */
bool head_version_parse(struct str text, enum head_version *out);

/* Fills *out_head. Returns 0, or the status with *out_reason. */
int head_check(enum head_version version, const struct http_header *headers, size_t count,
               struct head *out_head, const char **out_reason);

/*
 * Cuts a request target into path and query, both raw: origin form, or absolute form
 * whose authority is dropped. False for anything else.
 */
bool head_split_target(struct str target, struct str *out_path, struct str *out_query);
