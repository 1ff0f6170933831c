/*
 * Stacks of real interpreters: what they say of their own frames is what the collector sees,
 * name by name and line by line, with the native frames between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/python/named_code.h"
#include "tests/collector/python_run.h"
#include "tests/unit/collector/python/pythons.h"

static struct python pythons[PYTHONS_MAX];
static size_t python_total;

/* A frame of the program itself, neither of the interpreter's marks. */
static bool is_python(const struct frame *frame)
{
	return frame->kind == FUNCTION_PYTHON && !str_equals(frame->name, PYTHON_SHIM_NAME) &&
	       !str_equals(frame->name, PYTHON_TRUNCATED_NAME);
}

static void print_stack(const struct seen_stack *seen)
{
	for (size_t i = 0; i < seen->count; i++)
		print_message("    %d %.*s %.*s:%lld\n", seen->frames[i].kind,
		              STR_ARGS(seen->frames[i].name), STR_ARGS(seen->frames[i].file),
		              (long long)seen->frames[i].line);
}

/*
 * Whether a frame is the one that was said. Of a process that is gone, the end of a long line
 * table is gone too: that of a module's code.
 */
static bool is_same(const struct seen_stack *seen, const struct frame *frame,
                    const struct said_frame *said)
{
	const bool may_lack_line = !seen->had_memory && str_equals(said->name, "<module>");

	return str_equal(frame->name, said->name) && str_equal(frame->file, said->file) &&
	       (frame->line == said->line || (may_lack_line && frame->line == 0));
}

/* The Python frames are those that the program said, in order. */
static void compare(struct python_run *run, const struct python *python, uint64_t size)
{
	const struct seen_stack *seen = python_run_seen(run, size);
	struct said_stack said;
	size_t at = 0;

	if (!python_run_said(run, size, &said))
		fail_msg("%s: nothing was said of %llu", python->text, (unsigned long long)size);
	if (!seen) {
		fail_msg("%s: nothing was seen of %llu", python->text, (unsigned long long)size);
		return;
	}
	for (size_t i = 0; i < seen->count; i++) {
		const struct frame *frame = &seen->frames[i];

		if (!is_python(frame))
			continue;
		if (at == said.count || !is_same(seen, frame, &said.frames[at])) {
			print_stack(seen);
			fail_msg(
				"%s, size %llu, Python frame %zu of %zu: %.*s %.*s:%lld instead of "
				"%.*s %.*s:%lld",
				python->text, (unsigned long long)size, at, said.count,
				STR_ARGS(frame->name), STR_ARGS(frame->file),
				(long long)frame->line,
				STR_ARGS(at < said.count ? said.frames[at].name : STR("nothing")),
				STR_ARGS(at < said.count ? said.frames[at].file : STR("")),
				(long long)(at < said.count ? said.frames[at].line : 0));
		}
		at++;
	}
	assert_int_equal(at, said.count);
}

static size_t count_named(const struct seen_stack *seen, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < seen->count; i++)
		count += str_equals(seen->frames[i].name, name);
	return count;
}

static size_t place_of(const struct seen_stack *seen, struct str end)
{
	for (size_t i = 0; i < seen->count; i++)
		if (str_ends_with(seen->frames[i].name, end))
			return i;
	fail_msg("no frame %.*s", STR_ARGS(end));
	return 0;
}

/* Native frames stand between two Python ones where a C function called back, only there. */
static void check_order(const struct seen_stack *seen, const struct python *python)
{
	const size_t leaf = place_of(seen, STR("_allocate_kv_cache_tensors"));
	const size_t generator = place_of(seen, STR("gen"));
	const size_t lambda = place_of(seen, STR("<lambda>"));
	const size_t main = place_of(seen, STR("main"));
	const size_t module = place_of(seen, STR("<module>"));

	assert_true(leaf > 0);
	assert_true(leaf < generator && generator < lambda && lambda < main && main < module);
	assert_true(module + 1 < seen->count);
	assert_true(lambda - generator > 1 && main - lambda > 1);
	if (python->version >= 0x030b) {
		assert_int_equal(generator - leaf, 29);
		assert_int_equal(module - main, 1);
	} else {
		assert_true(generator - leaf > 29);
		assert_true(module - main > 1);
	}
}

/* The shape that the specification has measured: 33 frames in 3 runs. */
static void check_shape(const struct python_run *run, const struct python *python)
{
	const struct seen_stack *seen = python_run_seen(run, 1);

	assert_non_null(seen);
	assert_int_equal(seen->flags & (CAPTURED_PYTHON_TRUNCATED | CAPTURED_PYTHON_UNKNOWN), 0);
	assert_int_equal(seen->end, NATIVE_STACK_COMPLETE);
	assert_int_equal(seen->python_count, 33);
	assert_int_equal(seen->entry_count, python->version >= 0x030b ? 3 : 33);
	assert_int_equal(count_named(seen, "GPUModelRunner._allocate_kv_cache_tensors"), 1);
	assert_int_equal(count_named(seen, "GPUModelRunner.rec"), 26);
	assert_int_equal(count_named(seen, PYTHON_SHIM_NAME), python->version == 0x030c ? 3 : 0);
	assert_int_equal(count_named(seen, NATIVE_MISSING_NAME), 0);
	assert_int_equal(count_named(seen, PYTHON_UNKNOWN_NAME), 0);
	check_order(seen, python);
}

static void check_recursion(const struct python_run *run)
{
	const struct seen_stack *seen = python_run_seen(run, 70);

	assert_non_null(seen);
	assert_int_equal(seen->python_count, PYTHON_FRAMES_MAX);
	assert_int_equal(seen->flags & CAPTURED_PYTHON_TRUNCATED, CAPTURED_PYTHON_TRUNCATED);
	assert_int_equal(count_named(seen, PYTHON_TRUNCATED_NAME), 1);
	/* Where the native stack was copied whole, the Python frames found their place in it. */
	if (seen->end == NATIVE_STACK_COMPLETE)
		assert_true(!is_python(&seen->frames[seen->count - 2]));
}

static void check_skipped(struct python_run *run, const struct python *python, const char *name,
                          const uint64_t *sizes)
{
	const struct str reason = python_run_skipped(run, name);

	if (reason.length > 0) {
		print_message("%s, %s: skipped: %.*s\n", python->text, name, STR_ARGS(reason));
		return;
	}
	for (size_t i = 0; sizes[i]; i++)
		compare(run, python, sizes[i]);
}

static void start_run(struct python_run *run)
{
	struct error err = { 0 };

	if (python_run_init(run, 0, &err) < 0)
		fail_msg("%s", err.message);
}

static void stacks_are_those_that_interpreters_say(void **state)
{
	static const uint64_t sizes[] = { 1,  2,   3,   4,   10,  11,  20,  21,  22, 23, 24,
		                          25, 26,  30,  40,  41,  42,  50,  60,  63, 64, 70,
		                          80, 110, 111, 112, 113, 114, 115, 116, 117 };

	(void)state;
	for (size_t i = 0; i < python_total; i++) {
		CLEANUP(mem_freep) struct python_run *run = mem_zalloc(1, sizeof(*run));

		start_run(run);
		python_run_start(run, pythons[i].path, "all");
		assert_string_equal(run->refusal, "");
		assert_int_equal(run->python.version, pythons[i].version);
		assert_int_equal(run->python.flags & PYTHON_THREAD_DATA, PYTHON_THREAD_DATA);
		python_run_finish(run);
		for (size_t j = 0; j < ARRAY_LENGTH(sizes); j++)
			compare(run, &pythons[i], sizes[j]);
		for (uint64_t j = 0; j < 64; j++) /* each from a thread of its own */
			compare(run, &pythons[i], 1000 + j);
		for (uint64_t j = 0; j < 40; j++) /* code that is gone at once */
			compare(run, &pythons[i], 1100 + j);
		check_shape(run, &pythons[i]);
		check_recursion(run);
		check_skipped(run, &pythons[i], "sub-interpreter", (uint64_t[]){ 90, 0 });
		check_skipped(run, &pythons[i], "greenlet", (uint64_t[]){ 100, 101, 0 });
		print_message("%s: %zu stacks\n", pythons[i].text, run->seen_count);
		python_run_fini(run);
	}
}

/*
 * With code that is made at run time between the runs of the loop (-X perf): the same frames,
 * each in a run of its own.
 */
static void trampolines_are_passed_through(void **state)
{
	static const uint64_t sizes[] = { 1, 2, 3, 4, 10, 11, 20, 25, 30, 50, 60, 63 };

	(void)state;
	/* NOLINTBEGIN(concurrency-mt-unsafe): a test has one thread */
	assert_int_equal(setenv("PYTHONPERFSUPPORT", "1", 1), 0);
	for (size_t i = 0; i < python_total; i++) {
		CLEANUP(mem_freep) struct python_run *run = mem_zalloc(1, sizeof(*run));
		const struct seen_stack *seen;
		char path[64];

		if (pythons[i].version < 0x030c)
			continue;
		start_run(run);
		python_run_start(run, pythons[i].path, "all");
		(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)run->pid);
		python_run_finish(run);
		for (size_t j = 0; j < ARRAY_LENGTH(sizes); j++)
			compare(run, &pythons[i], sizes[j]);
		seen = python_run_seen(run, 1);
		assert_non_null(seen);
		if (seen->end != NATIVE_STACK_COMPLETE)
			print_stack(seen);
		assert_int_equal(seen->end, NATIVE_STACK_COMPLETE);
		assert_int_equal(count_named(seen, NATIVE_MISSING_NAME), 0);
		assert_int_equal(seen->entry_count, 33); /* it was really so */
		(void)unlink(path); /* it is elsewhere where the program has a root of its own */
		python_run_fini(run);
	}
	assert_int_equal(unsetenv("PYTHONPERFSUPPORT"), 0);
	/* NOLINTEND(concurrency-mt-unsafe) */
}

static void names_outlive_their_process(void **state)
{
	(void)state;
	for (size_t i = 0; i < python_total; i++) {
		CLEANUP(mem_freep) struct python_run *run = mem_zalloc(1, sizeof(*run));

		start_run(run);
		run->reads_memory = false;
		python_run_start(run, pythons[i].path, "short");
		python_run_finish_late(run);
		compare(run, &pythons[i], 1);
		check_shape(run, &pythons[i]);
		python_run_fini(run);
	}
}

/* A workload that defines faster than we hand on must not keep us from all else. */
static void a_drain_ends_though_each_definition_begets_another(void **state)
{
	enum {
		RING = 16384, /* three definitions */
		LIMIT = 8,
		MOST = LIMIT + RING / sizeof(struct code_definition) + 1
	};
	CLEANUP(mem_freep) struct python_run *run = mem_zalloc(1, sizeof(*run));
	struct error err = { 0 };

	(void)state;
	if (python_run_init(run, RING, &err) < 0)
		fail_msg("%s", err.message);
	python_run_start(run, pythons[0].path, "fresh");
	python_run_again(run);
	run->definitions = 0;
	run->definitions_max = MOST;
	assert_int_equal(probe_set_drain(run->set, LIMIT), LIMIT);
	assert_true(run->definitions > 1 && run->seen_count > 0);
	run->definitions_max = 0;
	assert_int_equal(write(run->input, "\n", 1), 1);
	python_run_finish_late(run);
	python_run_fini(run);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_those_that_interpreters_say),
		cmocka_unit_test(trampolines_are_passed_through),
		cmocka_unit_test(names_outlive_their_process),
		cmocka_unit_test(a_drain_ends_though_each_definition_begets_another),
	};
	CLEANUP(mem_freep) struct python_run *run = mem_zalloc(1, sizeof(*run));
	struct error err = { 0 };

	if (python_run_init(run, 0, &err) < 0) {
		(void)printf("the programs in the kernel: %s\n", err.message);
		return 77;
	}
	python_run_fini(run);
	python_total = pythons_find(pythons);
	if (python_total == 0) {
		(void)printf("no Python interpreter of 3.8 or later\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
