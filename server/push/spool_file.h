/*
 * The bytes of one push that waits on disk, and the name of its file.
 *
 * Shape    a head of fixed size, then the request as it goes out. A check over both tells
 *          a file that a power cut has cut short, or anybody has changed, from one that is
 *          whole.
 * Errors   ERROR_CORRUPT for bytes that are not one whole push.
 * Threads  any.
 * Source   docs/formats/spool.md
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

#define SPOOL_HEAD_BYTES   40
#define SPOOL_REQUEST_MAX  ((uint64_t)256 << 20) /* what servers take at most, usually */
#define SPOOL_SEQUENCE_MAX (UINT64_MAX >> 2)     /* and the next ones still have room */
#define SPOOL_NAME_BYTES   22                    /* 16 digits, ".push" or ".part", and a NUL */
#define SPOOL_DIGITS       16

/* What a file is, by its name. */
enum spool_name {
	SPOOL_NAME_PUSH,
	SPOOL_NAME_PART, /* it is being written, or somebody was killed while it was */
	SPOOL_NAME_OTHER,
};

struct spool_head {
	uint64_t sequence; /* pushes go out in its order */
	int64_t time_unix_ns;
	uint64_t length; /* of the request, which is not empty */
	uint64_t check;
};

/* `check` is filled in, over the rest and the request. */
void spool_head_encode(const struct spool_head *head, struct str request,
                       uint8_t out[static SPOOL_HEAD_BYTES]);

/* What a head by itself can tell: that it is one, and how long the file should be. */
int spool_head_decode(struct str bytes, struct spool_head *out, struct error *err);

/* A whole file; *out_request is a view. */
int spool_file_decode(struct str bytes, struct spool_head *out, struct str *out_request,
                      struct error *err);

void spool_name_format(uint64_t sequence, enum spool_name kind, char out[static SPOOL_NAME_BYTES]);

/* *out_sequence is filled in for PUSH and PART. */
enum spool_name spool_name_parse(const char *name, uint64_t *out_sequence);
