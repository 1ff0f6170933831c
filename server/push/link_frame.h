/*
 * What the two halves of `run` say to each other: frames on a socket pair.
 *
 *	u32 length   u8 kind   u64 sequence   `length` bytes        (little-endian)
 *
 * Shape    the server half sends LINK_START when it serves, with its port as u16. The
 *          collector half begins then; it sends LINK_PUSH (a push.v1 message) and, once a
 *          tick, LINK_METRICS (Prometheus text; its sign of life). Each push is answered by
 *          LINK_ANSWER with its sequence and, as u32, the status that the route would
 *          have answered over HTTP. The server half sends LINK_STOP: flush, and go.
 * Errors   ERROR_CORRUPT for an unknown kind and a length over LINK_BYTES_MAX, ERROR_IO.
 * Threads  one reads, one at a time writes.
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/strbuf.h"

#define LINK_BYTES_MAX   ((size_t)128 << 20)
#define LINK_METRICS_MAX ((size_t)33 << 20) /* of one text */
#define LINK_HEAD_BYTES  13

enum link_kind {
	LINK_PUSH = 1,
	LINK_METRICS,
	LINK_ANSWER,
	LINK_STOP,
	LINK_START,
	LINK_KIND_COUNT,
};

struct link_head {
	uint32_t length;
	enum link_kind kind;
	uint64_t sequence;
};

void link_head_encode(const struct link_head *head, uint8_t out[static LINK_HEAD_BYTES]);
int link_head_decode(const uint8_t bytes[static LINK_HEAD_BYTES], struct link_head *out,
                     struct error *err);

/* Writes a frame whole; waits as long as the other side does not read. */
int link_frame_write(int fd, enum link_kind kind, uint64_t sequence, struct str payload,
                     struct error *err);

/* 1 and a frame, its bytes in `payload`; 0 when the other side has closed; -1. */
int link_frame_read(int fd, struct link_head *out, struct strbuf *payload, struct error *err);
