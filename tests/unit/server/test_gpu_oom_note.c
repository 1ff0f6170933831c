#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/command/gpu_oom_note.h"

#define LIMIT ((size_t)1 << 20)

static void the_first_event_is_the_note(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_oom_note note;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		gpu_oom_note_parse(
			STR("{\"events\":[{\"time_ms\":60000,\"labels\":{\"service_name\":\"s\","
	                    "\"pid\":\"7\"},\"requested_bytes\":\"9007199254740993\","
	                    "\"live_bytes\":null,\"recovered\":true,"
	                    "\"stack\":[\"main\",\"step\"]},{\"time_ms\":1}],\"next\":\"x\"}"),
			arena, &note, &err),
		0);
	assert_true(note.any && note.has_recovered);
	assert_int_equal(note.time_ms, 60000);
	assert_int_equal(note.requested_bytes, 9007199254740993);
	assert_int_equal(note.live_bytes, GPU_UNKNOWN);
	assert_true(str_equals(note.service, "s"));
	assert_true(str_equals(note.pid, "7"));
	assert_true(str_equals(note.stack, "main > step"));
}

static void without_events_there_is_none(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct gpu_oom_note note;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		gpu_oom_note_parse(STR("{\"events\":[],\"next\":null}"), arena, &note, &err), 0);
	assert_false(note.any);
}

static void an_event_of_other_kinds_is_unknown(void **state)
{
	static const char *const events[] = {
		"1",
		"null",
		"{}",
		"[]",
		"{\"time_ms\":\"x\",\"labels\":[],\"stack\":7,\"recovered\":\"true\"}",
		"{\"stack\":[1,{},null]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(events); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
		struct gpu_oom_note note;
		struct error err = { 0 };
		const struct str text = arena_printf(arena, "{\"events\":[%s]}", events[i]);

		assert_int_equal(gpu_oom_note_parse(text, arena, &note, &err), 0);
		assert_true(note.any);
		assert_false(note.has_recovered);
		assert_int_equal(note.requested_bytes, GPU_UNKNOWN);
		assert_int_equal(note.service.length, 0);
	}
}

static void what_is_no_such_answer_is_refused(void **state)
{
	static const char *const texts[] = { "", "[]", "{}", "{\"events\":{}}", "<html>" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
		struct gpu_oom_note note;
		struct error err = { 0 };

		assert_int_equal(gpu_oom_note_parse(str_of(texts[i]), arena, &note, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_event_is_the_note),
		cmocka_unit_test(without_events_there_is_none),
		cmocka_unit_test(an_event_of_other_kinds_is_unknown),
		cmocka_unit_test(what_is_no_such_answer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
