#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "server/push/link_frame.h"

#define LIMIT ((size_t)1 << 16)

static int ends[2];
static struct strbuf payload;

static int open_link(void **state)
{
	(void)state;
	strbuf_init(&payload, LIMIT);
	return socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
}

static int close_link(void **state)
{
	(void)state;
	strbuf_fini(&payload);
	close(ends[0]);
	return close(ends[1]);
}

static int read_frame(struct link_head *head, struct error *err)
{
	*err = (struct error){ 0 };
	return link_frame_read(ends[1], head, &payload, err);
}

static void send_raw(const void *bytes, size_t length)
{
	assert_int_equal(write(ends[0], bytes, length), (ssize_t)length);
	assert_int_equal(shutdown(ends[0], SHUT_WR), 0);
}

/* The layout stands in link_frame.h. */
static void a_frame_has_the_documented_bytes(void **state)
{
	static const uint8_t expected[] = { 3, 0, 0, 0, 1, 8, 7, 6, 5, 4, 3, 2, 1, 'a', 'b', 'c' };
	uint8_t bytes[64];
	struct error err;

	(void)state;
	assert_int_equal(link_frame_write(ends[0], LINK_PUSH, UINT64_C(0x0102030405060708),
	                                  STR("abc"), &err),
	                 0);
	assert_int_equal(read(ends[1], bytes, sizeof(bytes)), sizeof(expected));
	assert_memory_equal(bytes, expected, sizeof(expected));
}

static void frames_come_back_whole_and_in_order(void **state)
{
	struct link_head head;
	struct error err;

	(void)state;
	assert_int_equal(link_frame_write(ends[0], LINK_METRICS, 0, STR("a 1\n"), &err), 0);
	assert_int_equal(link_frame_write(ends[0], LINK_STOP, 0, STR(""), &err), 0);
	shutdown(ends[0], SHUT_WR);
	assert_int_equal(read_frame(&head, &err), 1);
	assert_int_equal(head.kind, LINK_METRICS);
	assert_true(str_equals(strbuf_view(&payload), "a 1\n"));
	assert_int_equal(read_frame(&head, &err), 1);
	assert_int_equal(head.kind, LINK_STOP);
	assert_int_equal(payload.length, 0);
	assert_int_equal(read_frame(&head, &err), 0);
}

static void an_unknown_kind_is_refused(void **state)
{
	static const uint8_t kinds[] = { 0, LINK_KIND_COUNT, 255 };
	uint8_t bytes[LINK_HEAD_BYTES] = { 0 };
	struct link_head head;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(kinds); i++) {
		bytes[4] = kinds[i];
		assert_int_equal(link_head_decode(bytes, &head, &err), -1);
		assert_int_equal(err.code, ERROR_CORRUPT);
	}
}

static void a_length_over_the_limit_is_refused_before_memory_is_taken(void **state)
{
	static const uint8_t bytes[LINK_HEAD_BYTES] = { 0xff, 0xff, 0xff, 0xff, LINK_PUSH };
	struct link_head head;
	struct error err;

	(void)state;
	send_raw(bytes, sizeof(bytes));
	assert_int_equal(read_frame(&head, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_int_equal(payload.capacity, 0);
}

static void a_length_over_the_readers_own_limit_is_refused(void **state)
{
	static const uint8_t bytes[LINK_HEAD_BYTES] = { 1, 0, 1, 0, LINK_PUSH }; /* 65,537 */
	struct link_head head;
	struct error err;

	(void)state;
	send_raw(bytes, sizeof(bytes));
	assert_int_equal(read_frame(&head, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void half_a_head_is_an_error(void **state)
{
	struct link_head head;
	struct error err;

	(void)state;
	send_raw("\3\0\0", 3);
	assert_int_equal(read_frame(&head, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
}

static void half_a_payload_is_an_error(void **state)
{
	static const uint8_t bytes[LINK_HEAD_BYTES + 2] = { 3, 0, 0, 0, LINK_PUSH };
	struct link_head head;
	struct error err;

	(void)state;
	send_raw(bytes, sizeof(bytes));
	assert_int_equal(read_frame(&head, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
}

static void writing_to_nobody_is_an_error_and_no_signal(void **state)
{
	struct error err;

	(void)state;
	shutdown(ends[1], SHUT_RDWR);
	assert_int_equal(link_frame_write(ends[0], LINK_PUSH, 1, STR("abc"), &err), -1);
	assert_int_equal(err.code, ERROR_IO);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_link, close_link)
	const struct CMUnitTest tests[] = {
		TEST(a_frame_has_the_documented_bytes),
		TEST(frames_come_back_whole_and_in_order),
		TEST(an_unknown_kind_is_refused),
		TEST(a_length_over_the_limit_is_refused_before_memory_is_taken),
		TEST(a_length_over_the_readers_own_limit_is_refused),
		TEST(half_a_head_is_an_error),
		TEST(half_a_payload_is_an_error),
		TEST(writing_to_nobody_is_an_error_and_no_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
