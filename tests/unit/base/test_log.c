#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/log.h"

#define NEW_YEAR_NS (INT64_C(1767225600) * NS_PER_S) /* 2026-01-01 */

static int real_stderr;
static int file;

/* From here on standard error goes to a file in memory. */
static void begin_capture(void)
{
	real_stderr = dup(STDERR_FILENO);
	file = memfd_create("log", 0);
	assert_true(real_stderr >= 0 && file >= 0);
	assert_true(dup2(file, STDERR_FILENO) >= 0);
}

/* What was written since begin_capture(). */
static const char *end_capture(void)
{
	static char text[65536];
	ssize_t length;

	assert_true(dup2(real_stderr, STDERR_FILENO) >= 0);
	length = pread(file, text, sizeof(text) - 1, 0);
	assert_true(length >= 0);
	text[length] = '\0';
	(void)close(file);
	(void)close(real_stderr);
	return text;
}

/* A clock that stands still, but for a millisecond in a million seconds. */
static int stop_clock(void **state)
{
	(void)state;
	clock_warp_unix(NEW_YEAR_NS + 678 * NS_PER_MS, 1e-9);
	return 0;
}

static void a_line_is_logfmt(void **state)
{
	(void)state;
	begin_capture();
	log_info("sealed %s in %d ms", "2026-01-02", 17);
	assert_string_equal(end_capture(), "ts=2026-01-01T00:00:00.678Z level=info thread=main "
	                                   "msg=\"sealed 2026-01-02 in 17 ms\"\n");
}

static void a_line_may_be_json(void **state)
{
	(void)state;
	log_set_format(LOG_JSON);
	begin_capture();
	log_warn("a \"quoted\" word");
	assert_string_equal(end_capture(),
	                    "{\"ts\":\"2026-01-01T00:00:00.678Z\",\"level\":\"warn\","
	                    "\"thread\":\"main\",\"msg\":\"a \\\"quoted\\\" word\"}\n");
	log_set_format(LOG_LOGFMT);
}

static void a_message_cannot_make_lines(void **state)
{
	(void)state;
	log_name_thread("worker 2");
	begin_capture();
	log_error("x\nlevel=info msg=\"y\"\x1b[31m\xff");
	assert_string_equal(end_capture(),
	                    "ts=2026-01-01T00:00:00.678Z level=error thread=\"worker 2\" "
	                    "msg=\"x\\nlevel=info msg=\\\"y\\\"\\u001b[31m\xef\xbf\xbd\"\n");
	log_name_thread("main");
}

static void a_long_message_is_cut(void **state)
{
	static char message[10000];
	const char *text;

	(void)state;
	memset(message, 'x', sizeof(message) - 1);
	begin_capture();
	log_info("%s", message);
	text = end_capture();
	assert_in_range(strlen(text), 2000, 2200);
	assert_string_equal(text + strlen(text) - 3, "x\"\n");
}

static void lines_below_the_level_are_left_out(void **state)
{
	(void)state;
	begin_capture();
	log_debug("no");
	log_set_level(LOG_ERROR);
	log_info("no");
	log_warn("no");
	log_rarely(LOG_WARN, "no");
	log_set_level(LOG_DEBUG);
	log_debug("yes");
	log_set_level(LOG_INFO);
	assert_string_equal(end_capture(), "ts=2026-01-01T00:00:00.678Z level=debug thread=main "
	                                   "msg=\"yes\"\n");
	assert_true(log_enabled(LOG_INFO));
	assert_false(log_enabled(LOG_DEBUG));
}

static void what_repeats_is_said_once_and_counted(void **state)
{
	struct log_rarely place = { 0 };

	(void)state;
	begin_capture();
	for (int i = 0; i < 5; i++)
		log_write_rarely(&place, LOG_WARN, "the disk is slow");
	place.next_mono_ns = 0; /* a minute later */
	log_write_rarely(&place, LOG_WARN, "the disk is slow");
	assert_string_equal(end_capture(),
	                    "ts=2026-01-01T00:00:00.678Z level=warn thread=main "
	                    "msg=\"the disk is slow\"\n"
	                    "ts=2026-01-01T00:00:00.678Z level=warn thread=main "
	                    "msg=\"the disk is slow (and 4 more since the last such line)\"\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_logfmt),
		cmocka_unit_test(a_line_may_be_json),
		cmocka_unit_test(a_message_cannot_make_lines),
		cmocka_unit_test(a_long_message_is_cut),
		cmocka_unit_test(lines_below_the_level_are_left_out),
		cmocka_unit_test(what_repeats_is_said_once_and_counted),
	};

	return cmocka_run_group_tests(tests, stop_clock, NULL);
}
