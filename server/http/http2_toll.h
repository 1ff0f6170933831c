/*
 * What a peer's frames cost us and bring nothing: SETTINGS, PING, PRIORITY, WINDOW_UPDATE,
 * RST_STREAM, CONTINUATION, what nobody knows, and DATA and HEADERS that no request takes.
 *
 * Shape    a bucket of HTTP2_TOLL_BURST frames that fills by HTTP2_TOLL_PER_S a second, and
 *          by HTTP2_TOLL_GAIN for each DATA frame that moves some of a body, either way: a
 *          peer may ping as often as its round trips are while bodies move. A reset costs
 *          HTTP2_TOLL_RESET: a peer may cancel some thousand calls at once. Every frame is
 *          charged when its head is there, and what a request has taken is given back: the
 *          heads are read here, since libnghttp2 does not tell of frames that it ignores.
 * Errors   a text that names what there was too much of; NULL: all is well.
 * Threads  none.
 * Source   RFC 9113, 4.1, 6 and 10.5; ingest specification, 9 (56). The numbers are guesses.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define HTTP2_TOLL_BURST 10000
#define HTTP2_TOLL_PER_S 1000
#define HTTP2_TOLL_GAIN  2
#define HTTP2_TOLL_RESET 10

#define HTTP2_FRAME_HEAD 9 /* bytes */

struct http2_toll {
	size_t to_skip; /* bytes before the head of the next frame */
	uint8_t head[HTTP2_FRAME_HEAD];
	size_t head_length; /* bytes of it that are there */
	int64_t left;
	int64_t filled_mono_ns;
};

/* For a connection whose first bytes are the preface. */
void http2_toll_init(struct http2_toll *toll, int64_t now_mono_ns);

/* More bytes from the peer. */
const char *http2_toll_take(struct http2_toll *toll, struct str bytes, int64_t now_mono_ns);

/* A frame of the peer has reached its request. */
void http2_toll_return(struct http2_toll *toll);

/* A DATA frame went to the peer, or one of the peer had something that its request took. */
void http2_toll_gain(struct http2_toll *toll);

/* A stream was reset by us. What the peer makes us reset is as dear as what it resets. */
const char *http2_toll_take_reset(struct http2_toll *toll, uint32_t code, int64_t now_mono_ns);
