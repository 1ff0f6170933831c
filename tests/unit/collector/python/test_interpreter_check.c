/*
 * Descriptions against processes that are made up: right ones, ones that lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "collector/python/interpreter_check.h"
#include "tests/unit/collector/python/python_image.h"

#define KEY          3
#define THREAD_BYTES 4096 /* of a thread's control block */

/* A thread: its control block, its state, one frame. */
struct thread {
	uint64_t pointer;
	uint64_t state;
	uint64_t frame;
	uint64_t code;
};

struct fixture {
	struct python_image image;
	uint64_t interpreter;
	struct thread thread;
};

static void put(struct fixture *fixture, uint64_t address, uint64_t value)
{
	python_image_put64(&fixture->image, address, value);
}

/* The thread's value of KEY, two levels as glibc has them. */
static void put_thread_data(struct fixture *fixture, uint64_t value)
{
	const uint64_t block = python_image_take(&fixture->image, 32 * 16);

	put(fixture, fixture->thread.pointer + 1296, block);
	put(fixture, block + 16 * KEY + 8, value);
}

/* What autoTSSkey is, at an offset of _PyRuntime. */
static void put_key(struct fixture *fixture, uint32_t offset)
{
	python_image_put32(&fixture->image, fixture->image.python.runtime + offset, 1);
	python_image_put32(&fixture->image, fixture->image.python.runtime + offset + 4, KEY);
}

static void put_frame(struct fixture *fixture)
{
	const struct python_offsets *offsets = &fixture->image.python.offsets;
	struct thread *thread = &fixture->thread;

	thread->frame = python_image_take(&fixture->image, 512);
	thread->code = python_image_code(&fixture->image, STR("f"), STR("f.py"), 1, STR(""));
	put(fixture, thread->frame + offsets->frame_code, thread->code);
	if (offsets->thread_frame != PYTHON_OFFSET_NONE) {
		put(fixture, thread->state + offsets->thread_frame, thread->frame);
	} else {
		const uint64_t cframe = python_image_take(&fixture->image, 64);

		put(fixture, thread->state + offsets->thread_cframe, cframe);
		put(fixture, cframe + offsets->cframe_frame, thread->frame);
	}
}

/* A process of one interpreter and one thread, without a frame and without a key. */
static void fixture_init(struct fixture *fixture, uint32_t version)
{
	const struct python_offsets *offsets = &fixture->image.python.offsets;
	struct thread *thread = &fixture->thread;

	python_image_init(&fixture->image, version);
	fixture->interpreter = python_image_take(&fixture->image, 8192);
	thread->pointer = python_image_take(&fixture->image, THREAD_BYTES);
	thread->state = python_image_take(&fixture->image, 512);
	put(fixture, fixture->image.python.runtime + offsets->runtime_interpreters,
	    fixture->interpreter);
	put(fixture, fixture->interpreter + offsets->interpreter_threads, thread->state);
	put(fixture, thread->state + offsets->thread_interpreter, fixture->interpreter);
	put(fixture, thread->state + offsets->thread_id, thread->pointer);
}

static int check(struct fixture *fixture, struct error *err)
{
	const struct interpreter_process process = {
		.memory = python_image_memory(&fixture->image),
	};

	return interpreter_check(&process, &fixture->image.python, err);
}

static void versions_that_fit_are_taken(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	for (uint32_t version = 0x0308; version <= 0x030e; version++) {
		struct error err = { 0 };

		fixture_init(fixture, version);
		put_frame(fixture);
		put_thread_data(fixture, fixture->thread.state);
		put_key(fixture, fixture->image.python.offsets.runtime_key);
		if (check(fixture, &err) < 0)
			fail_msg("%x: %s", version, err.message);
		assert_int_equal(fixture->image.python.flags, PYTHON_THREAD_DATA);
	}
}

/* Who embeds Python may run it for moments only; that its threads have states is enough. */
static void one_that_rests_is_taken(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));
	struct error err = { 0 };

	(void)state;
	fixture_init(fixture, 0x030c);
	put_thread_data(fixture, fixture->thread.state);
	put_key(fixture, fixture->image.python.offsets.runtime_key);
	assert_int_equal(check(fixture, &err), 0);
	assert_int_equal(fixture->image.python.flags, PYTHON_THREAD_DATA);
	/* a frame that is none says more */
	put_frame(fixture);
	put(fixture, fixture->thread.code + fixture->image.python.offsets.object_type, 0);
	assert_int_equal(check(fixture, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

static void a_key_that_moved_is_found(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));
	struct error err = { 0 };

	(void)state;
	fixture_init(fixture, 0x030c);
	put_frame(fixture);
	put_thread_data(fixture, fixture->thread.state);
	put_key(fixture, 2000);
	assert_int_equal(check(fixture, &err), 0);
	assert_int_equal(fixture->image.python.flags, PYTHON_THREAD_DATA);
	assert_int_equal(fixture->image.python.offsets.runtime_key, 2000);
}

static void without_a_key_the_lists_are_searched(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));
	struct error err = { 0 };

	(void)state;
	fixture_init(fixture, 0x030c);
	put_frame(fixture);
	put_thread_data(fixture, 0x1234);
	put_key(fixture, fixture->image.python.offsets.runtime_key);
	assert_int_equal(check(fixture, &err), 0);
	assert_int_equal(fixture->image.python.flags, 0);
	assert_int_equal(fixture->image.python.offsets.runtime_key, 1544);
}

static void what_has_not_begun_is_no_mistake(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));
	struct error err = { 0 };

	(void)state;
	fixture_init(fixture, 0x030b);
	assert_int_equal(check(fixture, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	put(fixture,
	    fixture->image.python.runtime + fixture->image.python.offsets.runtime_interpreters, 0);
	assert_int_equal(check(fixture, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
	fixture->image.is_gone = true;
	assert_int_equal(check(fixture, &err), -1);
	assert_int_equal(err.code, ERROR_UNAVAILABLE);
}

static void what_lies_is_refused(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));
	struct error err = { 0 };

	(void)state;
	/* A state of another interpreter. */
	fixture_init(fixture, 0x030d);
	put_frame(fixture);
	put(fixture, fixture->thread.state + 16, fixture->interpreter + 8);
	assert_int_equal(check(fixture, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);

	/* Frames of something else. */
	fixture_init(fixture, 0x030d);
	put_frame(fixture);
	put(fixture, fixture->thread.code + 8, fixture->interpreter);
	assert_int_equal(check(fixture, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
}

/* Lists without an end, and a runtime that is nothing but keys: an answer, after a while. */
static void circles_end(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));
	struct error err = { 0 };

	(void)state;
	fixture_init(fixture, 0x0309);
	put_frame(fixture);
	put(fixture, fixture->thread.code + 8, 0);
	put(fixture, fixture->thread.frame + fixture->image.python.offsets.frame_back,
	    fixture->thread.frame);
	put(fixture, fixture->thread.state + 8, fixture->thread.state);
	put(fixture, fixture->interpreter, fixture->interpreter);
	for (uint32_t offset = 1024; offset + 8 < 16384; offset += 8)
		put_key(fixture, offset);
	put_thread_data(fixture, 0x1234);
	assert_int_equal(check(fixture, &err), -1);
	assert_true(fixture->image.reads < 100000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_that_fit_are_taken),
		cmocka_unit_test(one_that_rests_is_taken),
		cmocka_unit_test(a_key_that_moved_is_found),
		cmocka_unit_test(without_a_key_the_lists_are_searched),
		cmocka_unit_test(what_has_not_begun_is_no_mistake),
		cmocka_unit_test(what_lies_is_refused),
		cmocka_unit_test(circles_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
