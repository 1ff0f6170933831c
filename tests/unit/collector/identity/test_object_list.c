#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "collector/identity/object_list.h"

struct seen {
	struct strbuf text; /* the objects, each with a line's end */
	struct object_list list;
};

static void note(void *context, struct str object)
{
	struct seen *seen = context;

	strbuf_add_str(&seen->text, object);
	strbuf_add_byte(&seen->text, '\n');
}

static void begin(struct seen *seen)
{
	strbuf_init(&seen->text, (size_t)1 << 20);
	object_list_init(&seen->list, note, seen);
}

static void end(struct seen *seen)
{
	object_list_fini(&seen->list);
	strbuf_fini(&seen->text);
}

/* All of it, `step` bytes at a time. */
static int take(struct seen *seen, struct str text, size_t step, struct str *around,
                struct error *err)
{
	while (text.length > 0) {
		if (object_list_take(&seen->list, str_first(text, step), err) < 0)
			return -1;
		text = str_skip(text, step);
	}
	return object_list_end(&seen->list, around, err);
}

static void objects_come_whole_however_the_bytes_do(void **state)
{
	static const struct str text = STR(
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"7\",\"items\":[1]},\n"
		" \"items\" : [ {\"a\":[1,{\"b\":\"}]\\\"\\\\\"}]} ,\n{} ], \"c\":[{\"items\":[2]}]}");

	(void)state;
	for (size_t step = 1; step <= text.length; step++) {
		struct seen seen;
		struct str around;
		struct error err = { 0 };

		begin(&seen);
		assert_int_equal(take(&seen, text, step, &around, &err), 0);
		assert_string_equal(seen.text.data, "{\"a\":[1,{\"b\":\"}]\\\"\\\\\"}]}\n{}\n");
		assert_true(str_equal(around,
		                      STR("{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":"
		                          "\"7\",\"items\":[1]},\n \"items\" : [], "
		                          "\"c\":[{\"items\":[2]}]}")));
		end(&seen);
	}
}

static void a_value_that_is_called_items_is_no_list(void **state)
{
	static const struct str text = STR("{\"kind\":\"items\",\"x\":[{}],\"items\":null}");
	struct seen seen;
	struct str around;
	struct error err = { 0 };

	(void)state;
	begin(&seen);
	assert_int_equal(take(&seen, text, 3, &around, &err), 0);
	assert_int_equal(seen.text.length, 0);
	assert_true(str_equal(around, text));
	end(&seen);
}

static void what_is_no_list_of_objects_is_an_error(void **state)
{
	static const char *const texts[] = {
		"{",   "{\"items\":[",    "{\"items\":[{",       "{\"items\":[]",    "]",
		"{}}", "{\"items\":[7]}", "{\"items\":[\"a\"]}", "{\"items\":[[]]}", "{\"a\":\"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct seen seen;
		struct str around;
		struct error err = { 0 };

		begin(&seen);
		assert_int_equal(take(&seen, str_of(texts[i]), 100, &around, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		end(&seen);
	}
}

static void what_is_too_large_has_a_limit_each(void **state)
{
	char *much = mem_zalloc(OBJECT_BYTES_MAX + 1, 1);
	struct seen seen;
	struct str around;
	struct error err = { 0 };

	(void)state;
	memset(much, 'x', OBJECT_BYTES_MAX + 1);
	/* one object is passed over, the next is not */
	begin(&seen);
	assert_int_equal(object_list_take(&seen.list, STR("{\"items\":[{\"a\":\""), &err), 0);
	assert_int_equal(object_list_take(&seen.list, str_make(much, OBJECT_BYTES_MAX), &err), 0);
	assert_int_equal(take(&seen, STR("\"},{\"b\":1}]}"), 100, &around, &err), 0);
	assert_string_equal(seen.text.data, "{\"b\":1}\n");
	assert_int_equal(seen.list.passed_over, 1);
	end(&seen);
	/* around them there is little */
	begin(&seen);
	assert_int_equal(object_list_take(&seen.list, str_make(much, AROUND_BYTES_MAX), &err), 0);
	assert_int_equal(object_list_take(&seen.list, str_make(much, 1), &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	end(&seen);
	/* and all of it has an end */
	begin(&seen);
	seen.list.bytes = LIST_BYTES_MAX;
	assert_int_equal(object_list_take(&seen.list, str_make(much, 1), &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	end(&seen);
	free(much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(objects_come_whole_however_the_bytes_do),
		cmocka_unit_test(a_value_that_is_called_items_is_no_list),
		cmocka_unit_test(what_is_no_list_of_objects_is_an_error),
		cmocka_unit_test(what_is_too_large_has_a_limit_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
