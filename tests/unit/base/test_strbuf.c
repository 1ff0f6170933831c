#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"

static void it_grows_and_always_ends_with_a_nul(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf, 1 << 20);
	assert_string_equal(buf.data, "");
	for (size_t i = 0; i < 5000; i++) {
		strbuf_add_byte(&buf, (char)('a' + i % 26));
		assert_int_equal(buf.data[buf.length], '\0');
	}
	strbuf_add(&buf, NULL, 0);
	strbuf_add_str(&buf, STR("x\0y"));
	strbuf_printf(&buf, "%05d", 42);
	assert_int_equal(buf.length, 5008);
	assert_memory_equal(buf.data + 5000, "x\0y00042", 9);
	assert_false(strbuf_overflowed(&buf));
	strbuf_fini(&buf);
}

static void the_limit_is_reached_exactly(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf, 10);
	strbuf_add_text(&buf, "0123456789");
	assert_false(strbuf_overflowed(&buf));
	assert_string_equal(buf.data, "0123456789");
	strbuf_add_byte(&buf, 'x');
	assert_true(strbuf_overflowed(&buf));
	assert_string_equal(buf.data, "0123456789");
	strbuf_fini(&buf);
}

static void what_does_not_fit_is_dropped_whole_and_all_after_it(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf, 10);
	strbuf_add_text(&buf, "01234567");
	strbuf_printf(&buf, "%s", "abc");
	strbuf_add_byte(&buf, 'x'); /* would fit, but an answer with a hole is none */
	assert_string_equal(buf.data, "01234567");
	assert_true(strbuf_overflowed(&buf));
	assert_null(strbuf_reserve(&buf, 1));
	strbuf_reset(&buf);
	assert_false(strbuf_overflowed(&buf));
	assert_string_equal(buf.data, "");
	assert_null(strbuf_reserve(&buf, SIZE_MAX));
	strbuf_fini(&buf);
}

static void without_a_limit_sizes_that_would_wrap_are_refused(void **state)
{
	struct strbuf buf;

	(void)state;
	strbuf_init(&buf, SIZE_MAX);
	strbuf_add_text(&buf, "x");
	assert_null(strbuf_reserve(&buf, SIZE_MAX - 1));
	assert_true(strbuf_overflowed(&buf));
	strbuf_fini(&buf);
}

static void bytes_change_hands(void **state)
{
	struct strbuf buf;
	size_t length;
	char *bytes;

	(void)state;
	strbuf_init(&buf, 100);
	strbuf_add_text(&buf, "abc");
	bytes = strbuf_detach(&buf, &length);
	assert_int_equal(length, 3);
	assert_string_equal(bytes, "abc");
	free(bytes);
	assert_int_equal(buf.length, 0);
	assert_int_equal(buf.limit, 100);
	bytes = strbuf_detach(&buf, NULL);
	assert_string_equal(bytes, "");
	free(bytes);
	strbuf_fini(&buf);
}

static void reserved_room_counts_once_it_is_written(void **state)
{
	struct strbuf buf;
	char *room;

	(void)state;
	strbuf_init(&buf, 100);
	room = strbuf_reserve(&buf, 50);
	assert_non_null(room);
	memset(room, 'a', 4);
	assert_int_equal(buf.length, 0);
	strbuf_advance(&buf, 3);
	strbuf_advance(&buf, 0);
	assert_string_equal(buf.data, "aaa");
	strbuf_fini(&buf);
}

static void what_a_descriptor_has_is_added_up_to_the_limit(void **state)
{
	struct strbuf buf;
	int ends[2];

	(void)state;
	for (size_t limit = 9; limit <= 12; limit++) {
		strbuf_init(&buf, limit);
		strbuf_add_text(&buf, "<");
		assert_int_equal(pipe(ends), 0);
		assert_int_equal(write(ends[1], "0123456789", 10), 10);
		(void)close(ends[1]);
		assert_int_equal(strbuf_read(&buf, ends[0]), 0);
		assert_int_equal(strbuf_overflowed(&buf), limit < 11);
		assert_memory_equal(buf.data, "<0123456789", limit < 11 ? limit : 11);
		(void)close(ends[0]);
		assert_int_equal(strbuf_read(&buf, ends[0]), limit < 11 ? 0 : -1);
		strbuf_fini(&buf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_grows_and_always_ends_with_a_nul),
		cmocka_unit_test(the_limit_is_reached_exactly),
		cmocka_unit_test(what_does_not_fit_is_dropped_whole_and_all_after_it),
		cmocka_unit_test(without_a_limit_sizes_that_would_wrap_are_refused),
		cmocka_unit_test(bytes_change_hands),
		cmocka_unit_test(reserved_room_counts_once_it_is_written),
		cmocka_unit_test(what_a_descriptor_has_is_added_up_to_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
