#include "server/http/http2_toll.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define PREFACE_BYTES 24

enum {
	FRAME_DATA = 0,
	FRAME_HEADERS = 1,
	FRAME_RST_STREAM = 3,
};

enum {
	CODE_NO_ERROR = 0,
	CODE_REFUSED_STREAM = 7,
	CODE_CANCEL = 8,
};

void http2_toll_init(struct http2_toll *toll, int64_t now_mono_ns)
{
	*toll = (struct http2_toll){ .to_skip = PREFACE_BYTES,
		                     .left = HTTP2_TOLL_BURST,
		                     .filled_mono_ns = now_mono_ns };
}

static void gain(struct http2_toll *toll, int64_t frames)
{
	toll->left += frames;
	if (toll->left > HTTP2_TOLL_BURST)
		toll->left = HTTP2_TOLL_BURST;
}

void http2_toll_return(struct http2_toll *toll)
{
	gain(toll, 1);
}

void http2_toll_gain(struct http2_toll *toll)
{
	gain(toll, HTTP2_TOLL_GAIN);
}

/* False when the bucket is empty. */
static bool charge(struct http2_toll *toll, int64_t frames, int64_t now_mono_ns)
{
	const int64_t filled = (now_mono_ns - toll->filled_mono_ns) / (NS_PER_S / HTTP2_TOLL_PER_S);

	if (filled > 0) {
		gain(toll, filled);
		toll->filled_mono_ns = now_mono_ns;
	}
	if (toll->left < frames)
		return false;
	toll->left -= frames;
	return true;
}

static const char *charge_frame(struct http2_toll *toll, uint8_t type, int64_t now_mono_ns)
{
	static const char *const reasons[] = {
		[FRAME_DATA] = "too many DATA frames without use",
		[FRAME_HEADERS] = "too many HEADERS frames without use",
		[2] = "too many PRIORITY frames",
		[FRAME_RST_STREAM] = "too many streams were reset",
		[4] = "too many SETTINGS frames",
		[6] = "too many PING frames",
		[8] = "too many WINDOW_UPDATE frames",
		[9] = "too many CONTINUATION frames",
	};
	const char *reason = type < ARRAY_LENGTH(reasons) ? reasons[type] : NULL;
	const int64_t cost = type == FRAME_RST_STREAM ? HTTP2_TOLL_RESET : 1;

	if (charge(toll, cost, now_mono_ns))
		return NULL;
	return reason ? reason : "too many frames of unknown types";
}

static const char *take_frame(struct http2_toll *toll, int64_t now_mono_ns)
{
	const uint8_t *head = toll->head;
	const size_t length = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];

	toll->to_skip = length;
	toll->head_length = 0;
	return charge_frame(toll, head[3], now_mono_ns);
}

static size_t at_most(size_t wanted, size_t most)
{
	return wanted < most ? wanted : most;
}

const char *http2_toll_take(struct http2_toll *toll, struct str bytes, int64_t now_mono_ns)
{
	const char *reason = NULL;

	while (bytes.length > 0) {
		size_t count = at_most(toll->to_skip, bytes.length);
		const char *one = NULL;

		toll->to_skip -= count;
		bytes = str_skip(bytes, count);
		count = at_most(HTTP2_FRAME_HEAD - toll->head_length, bytes.length);
		if (count == 0)
			break;
		memcpy(toll->head + toll->head_length, bytes.data, count);
		toll->head_length += count;
		bytes = str_skip(bytes, count);
		if (toll->head_length == HTTP2_FRAME_HEAD)
			one = take_frame(toll, now_mono_ns);
		reason = reason ? reason : one;
	}
	return reason;
}

const char *http2_toll_take_reset(struct http2_toll *toll, uint32_t code, int64_t now_mono_ns)
{
	switch (code) {
	case CODE_NO_ERROR: /* our own wish */
	case CODE_CANCEL:
		return NULL;
	case CODE_REFUSED_STREAM:
		return charge(toll, 1, now_mono_ns) ? NULL : "too many streams at a time";
	default:
		return charge(toll, HTTP2_TOLL_RESET, now_mono_ns)
		               ? NULL
		               : "too many streams had to be reset";
	}
}
