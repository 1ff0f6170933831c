#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "server/http/http2_toll.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct fixture {
	struct http2_toll toll;
	int64_t now_mono_ns;
};

static struct fixture begun(void)
{
	struct fixture f = { .now_mono_ns = 5 * NS_PER_S };

	http2_toll_init(&f.toll, f.now_mono_ns);
	assert_null(http2_toll_take(&f.toll, STR(PREFACE), f.now_mono_ns));
	return f;
}

static const char *take(struct fixture *f, struct str bytes)
{
	return http2_toll_take(&f->toll, bytes, f->now_mono_ns);
}

/* How many of these frames pass before one is too many. */
static size_t passing(struct fixture *f, struct str frame)
{
	size_t count = 0;

	while (count < 100000 && !take(f, frame))
		count++;
	return count;
}

#define FRAME(bytes) str_make(bytes, sizeof(bytes) - 1)

static void frames_without_use_pass_until_the_bucket_is_empty(void **state)
{
	const struct {
		struct str frame;
		size_t passing;
		const char *reason;
	} cases[] = {
		{ FRAME("\0\0\x8\6\0\0\0\0\0"
		        "12345678"),
		  10000, "too many PING frames" },
		{ FRAME("\0\0\0\4\0\0\0\0\0"), 10000, "too many SETTINGS frames" },
		{ FRAME("\0\0\5\2\0\0\0\0\1"
		        "12345"),
		  10000, "too many PRIORITY frames" },
		{ FRAME("\0\0\4\x8\0\0\0\0\1"
		        "1234"),
		  10000, "too many WINDOW_UPDATE frames" },
		/* DATA: empty, ending a stream, of padding alone; HEADERS and CONTINUATION */
		{ FRAME("\0\0\0\0\0\0\0\0\1"), 10000, "too many DATA frames without use" },
		{ FRAME("\0\0\0\0\1\0\0\0\1"), 10000, "too many DATA frames without use" },
		{ FRAME("\0\0\1\0\x8\0\0\0\1\0"), 10000, "too many DATA frames without use" },
		{ FRAME("\0\0\1\1\4\0\0\0\1\x82"), 10000, "too many HEADERS frames without use" },
		{ FRAME("\0\0\1\x9\4\0\0\0\1\x82"), 10000, "too many CONTINUATION frames" },
		{ FRAME("\0\0\4\3\0\0\0\0\1"
		        "1234"),
		  1000, "too many streams were reset" },
		{ FRAME("\0\0\1\xbe\0\0\0\0\1"
		        "1"),
		  10000, "too many frames of unknown types" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct fixture f = begun();
		const char *reason;

		assert_int_equal(passing(&f, cases[i].frame), cases[i].passing);
		reason = take(&f, cases[i].frame);
		assert_non_null(reason);
		assert_string_equal(reason, cases[i].reason);
	}
}

static void frames_that_reach_a_request_pass_always(void **state)
{
	const struct str frames[] = {
		FRAME("\0\0\1\0\0\0\0\0\1x"),    /* DATA */
		FRAME("\0\0\0\0\1\0\0\0\1"),     /* DATA, empty, with END_STREAM */
		FRAME("\0\0\1\1\4\0\0\0\1\x82"), /* HEADERS */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(frames); i++) {
		struct fixture f = begun();

		for (size_t count = 0; count < 3 * HTTP2_TOLL_BURST; count++) {
			assert_null(take(&f, frames[i]));
			http2_toll_return(&f.toll);
		}
		assert_int_equal(f.toll.left, HTTP2_TOLL_BURST);
	}
}

static void the_bucket_fills_with_time_and_with_bodies(void **state)
{
	const struct str ping = FRAME("\0\0\x8\6\0\0\0\0\0"
	                              "12345678");
	struct fixture f = begun();

	(void)state;
	assert_int_equal(passing(&f, ping), 10000);
	f.now_mono_ns += 50 * NS_PER_MS; /* 1000 a second */
	assert_int_equal(passing(&f, ping), 50);
	http2_toll_gain(&f.toll);
	assert_int_equal(passing(&f, ping), 2);
	f.now_mono_ns += 1000 * NS_PER_S; /* never more than it holds */
	assert_int_equal(passing(&f, ping), 10000);
}

/* A frame's bytes may hold what looks like heads, and come cut anywhere. */
static void frames_are_followed_through_any_cuts(void **state)
{
	static const char bytes[] = PREFACE "\0\0\x9\0\0\0\0\0\1"
					    "\0\0\4\3\0\0\0\0\1"
					    "\0\0\4\3\0\0\0\0\1"
					    "1234";
	struct http2_toll whole;

	(void)state;
	http2_toll_init(&whole, 0);
	assert_null(http2_toll_take(&whole, FRAME(bytes), 0));
	assert_int_equal(whole.left, HTTP2_TOLL_BURST - 1 - HTTP2_TOLL_RESET);
	for (size_t cut = 1; cut < sizeof(bytes) - 1; cut++) {
		struct http2_toll toll;

		http2_toll_init(&toll, 0);
		assert_null(http2_toll_take(&toll, str_make(bytes, cut), 0));
		assert_null(
			http2_toll_take(&toll, str_make(bytes + cut, sizeof(bytes) - 1 - cut), 0));
		assert_int_equal(toll.left, whole.left);
	}
}

static void resets_that_the_peer_causes_cost_as_its_own(void **state)
{
	static const struct {
		uint32_t code;
		int64_t cost;
	} cases[] = {
		{ 0, 0 },  /* NO_ERROR: an answer before its request's end */
		{ 8, 0 },  /* CANCEL: a deadline of ours */
		{ 7, 1 },  /* REFUSED_STREAM */
		{ 1, 10 }, /* PROTOCOL_ERROR */
		{ 5, 10 }, /* STREAM_CLOSED */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct fixture f = begun();

		assert_null(http2_toll_take_reset(&f.toll, cases[i].code, f.now_mono_ns));
		assert_int_equal(f.toll.left, HTTP2_TOLL_BURST - cases[i].cost);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_without_use_pass_until_the_bucket_is_empty),
		cmocka_unit_test(frames_that_reach_a_request_pass_always),
		cmocka_unit_test(the_bucket_fills_with_time_and_with_bodies),
		cmocka_unit_test(frames_are_followed_through_any_cuts),
		cmocka_unit_test(resets_that_the_peer_causes_cost_as_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
