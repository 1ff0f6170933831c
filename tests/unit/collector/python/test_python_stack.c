/*
 * Merges of made-up stacks: native frames whose parts of the stack are known, Python frames
 * whose markers lie in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "collector/python/python_stack.h"

#define FRAME_BYTES 0x100 /* of the stack, each native frame */
#define STACK_BASE  UINT64_C(0x7000)
#define INTERPRETER ((struct module *)0x10) /* never looked into */
#define EXTENSION   ((struct module *)0x20)

struct fixture {
	struct code_names *names;
	struct captured_stack captured;
	struct native_stack native;
	const char *native_names[NATIVE_FRAMES_MAX];
	const char *end_name; /* of the frame that the end of the stack says; or NULL */
	uint32_t version;
	enum python_internals internals;
	struct frame frames[FRAMES_MAX];
	struct frame_list out;
};

static void fixture_init(struct fixture *fixture, uint32_t version)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture->names = code_names_new(&(struct code_names_options){ 0 });
	fixture->version = version;
	fixture->out.frames = fixture->frames;
}

/* Calls go on: the next frame lies further up the stack. */
static void native(struct fixture *fixture, const char *name, struct module *module)
{
	const size_t index = fixture->native.count++;

	fixture->native_names[index] = name;
	fixture->native.frames[index] = (struct native_frame){
		.program_counter = index,
		.stack_pointer = STACK_BASE + index * FRAME_BYTES,
		.frame_end = STACK_BASE + (index + 1) * FRAME_BYTES,
		.module = module,
	};
}

/* `run`: the index of the native frame that has the marker; -1: no entry. */
static void python(struct fixture *fixture, const char *name, int run, uint32_t flags)
{
	const uint32_t index = fixture->captured.python_count++;
	struct code_definition definition = {
		.kind = CODE_DEFINITION_CODE,
		.version = fixture->version,
		.object = 0x1000 + index,
		.name_string = { CODE_STRING_LATIN1, (uint32_t)strlen(name) },
		.table_length = CODE_TABLE_UNREAD,
	};

	memcpy(definition.name, name, strlen(name));
	code_names_define(fixture->names, &definition, sizeof(definition));
	fixture->captured.python[index] = (struct python_frame){
		.code = definition.object,
		.flags = flags | (run >= 0 ? PYTHON_FRAME_ENTRY : 0),
		.marker = run >= 0 ? STACK_BASE + (uint64_t)run * FRAME_BYTES + 0x80 : 0,
	};
}

static void name_native(void *context, const struct native_frame *frame, struct frame *out)
{
	const struct fixture *fixture = context;

	*out = (struct frame){
		.name = str_of(fixture->native_names[frame->program_counter]),
		.kind = FUNCTION_NATIVE,
	};
}

static bool name_end(void *context, const struct native_stack *stack, struct frame *out)
{
	const struct fixture *fixture = context;

	(void)stack;
	if (!fixture->end_name)
		return false;
	*out = (struct frame){ .name = str_of(fixture->end_name) };
	return true;
}

/* The names, leaf first; an interpreter's own frame in parentheses. Ends the fixture. */
static void expect(struct fixture *fixture, const char *expected)
{
	const struct code_process process = { 0 };
	struct strbuf text;

	python_stack_merge(fixture->names, &(struct native_namer){ name_native, name_end, fixture },
	                   fixture->internals,
	                   &(struct python_stack_input){ &process, &fixture->captured,
	                                                 &fixture->native },
	                   &fixture->out);
	strbuf_init(&text, 1 << 20);
	for (size_t i = 0; i < fixture->out.count; i++) {
		const struct frame *frame = &fixture->out.frames[i];
		const bool internal = frame->kind == FUNCTION_INTERPRETER;

		strbuf_printf(&text, internal ? "%s(%.*s)" : "%s%.*s", i ? " " : "",
		              STR_ARGS(frame->name));
		if (internal)
			assert_true(str_equals(frame->file, INTERPRETER_FILE));
	}
	assert_string_equal(text.data, expected);
	strbuf_fini(&text);
	code_names_free(fixture->names);
}

/* leaf, call, loop (run 1), call, C function, loop (run 2), start-up */
static void push_two_runs(struct fixture *fixture)
{
	native(fixture, "malloc", EXTENSION);
	native(fixture, "vectorcall", INTERPRETER);
	native(fixture, "loop", INTERPRETER);
	native(fixture, "slot_call", INTERPRETER);
	native(fixture, "callback", EXTENSION);
	native(fixture, "loop", INTERPRETER);
	native(fixture, "Py_RunMain", INTERPRETER);
	native(fixture, "_start", INTERPRETER);
}

static void python_frames_stand_where_their_run_is(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030d);
	push_two_runs(fixture);
	python(fixture, "a", -1, 0);
	python(fixture, "b", 2, PYTHON_FRAME_SHIM);
	python(fixture, "c", 5, PYTHON_FRAME_SHIM);
	expect(fixture, "malloc (vectorcall) a b (loop) (slot_call) callback c (loop) "
	                "Py_RunMain _start");
}

static void a_shim_has_a_name_in_3_12(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030c);
	push_two_runs(fixture);
	python(fixture, "a", -1, 0);
	python(fixture, "b", 2, PYTHON_FRAME_SHIM);
	python(fixture, "c", 5, PYTHON_FRAME_SHIM);
	expect(fixture, "malloc (vectorcall) a b <interpreter trampoline> (loop) (slot_call) "
	                "callback c <interpreter trampoline> (loop) Py_RunMain _start");
}

static void internals_may_be_dropped(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030b);
	fixture->internals = PYTHON_INTERNALS_DROP;
	push_two_runs(fixture);
	python(fixture, "a", 2, 0);
	python(fixture, "b", 5, 0);
	expect(fixture, "malloc a callback b Py_RunMain _start");
}

static void a_program_without_python_is_as_it_is(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030c);
	push_two_runs(fixture);
	fixture->end_name = "[stack truncated]";
	fixture->native.end = NATIVE_STACK_TRUNCATED;
	expect(fixture, "malloc vectorcall loop slot_call callback loop Py_RunMain _start "
	                "[stack truncated]");
}

/* 3.8 and 3.9 have no markers: each loop by its name is one Python frame. */
static void runs_without_markers_are_told_by_name(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x0309);
	native(fixture, "malloc", EXTENSION);
	native(fixture, "_PyEval_EvalFrameDefault", INTERPRETER);
	native(fixture, "function_code_fastcall", INTERPRETER);
	native(fixture, "_PyEval_EvalFrameDefault.cold", INTERPRETER);
	native(fixture, "_PyEval_EvalFrameDefaultOther", EXTENSION);
	native(fixture, "_PyEval_EvalFrameDefault", INTERPRETER);
	native(fixture, "main", INTERPRETER);
	python(fixture, "a", -1, PYTHON_FRAME_ENTRY);
	python(fixture, "b", -1, PYTHON_FRAME_ENTRY);
	python(fixture, "c", -1, PYTHON_FRAME_ENTRY);
	expect(fixture, "malloc a (_PyEval_EvalFrameDefault) (function_code_fastcall) b "
	                "(_PyEval_EvalFrameDefault.cold) _PyEval_EvalFrameDefaultOther c "
	                "(_PyEval_EvalFrameDefault) main");
}

static void a_broken_native_stack_keeps_all_python_frames(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030c);
	native(fixture, "malloc", EXTENSION);
	native(fixture, "loop", INTERPRETER);
	native(fixture, "0x1234", NULL);
	fixture->native.end = NATIVE_STACK_NO_RULE;
	fixture->end_name = "[unwind failed]";
	python(fixture, "a", 1, PYTHON_FRAME_SHIM);
	python(fixture, "b", -1, 0);
	python(fixture, "c", 7, PYTHON_FRAME_SHIM);
	expect(fixture, "malloc a <interpreter trampoline> (loop) 0x1234 <native frames missing> "
	                "b c <interpreter trampoline>");
}

static void python_frames_without_any_run_come_last(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030d);
	native(fixture, "malloc", EXTENSION);
	native(fixture, "_start", EXTENSION);
	python(fixture, "a", 9, 0);
	python(fixture, "b", -1, 0);
	expect(fixture, "malloc _start a b");
}

static void a_cut_chain_says_so(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030a);
	fixture->captured.flags = CAPTURED_PYTHON_TRUNCATED;
	native(fixture, "malloc", EXTENSION);
	native(fixture, "loop", INTERPRETER);
	native(fixture, "loop", INTERPRETER);
	native(fixture, "loop", INTERPRETER);
	python(fixture, "a", 1, 0);
	python(fixture, "b", 2, 0);
	expect(fixture, "malloc a (loop) b <python frames truncated> (loop) (loop)");
}

/* The entry of the last run was not read, but where its loop is. */
static void a_chain_cut_within_a_run_stays_in_it(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030c);
	fixture->captured.flags = CAPTURED_PYTHON_TRUNCATED;
	native(fixture, "malloc", EXTENSION);
	native(fixture, "loop", INTERPRETER);
	native(fixture, "main", EXTENSION);
	python(fixture, "a", -1, 0);
	python(fixture, "b", 1, 0);
	fixture->captured.python[1].flags = 0;
	expect(fixture, "malloc a b <python frames truncated> (loop) main");
}

static void trampolines_of_perf_are_left_out(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030d);
	native(fixture, "malloc", EXTENSION);
	native(fixture, "loop", INTERPRETER);
	native(fixture, "py::a:/a.py", NULL);
	fixture->native.frames[2].is_trampoline = 1;
	native(fixture, "loop", INTERPRETER);
	python(fixture, "a", 1, PYTHON_FRAME_SHIM);
	python(fixture, "b", 3, PYTHON_FRAME_SHIM);
	expect(fixture, "malloc a (loop) b (loop)");
}

static void a_stack_has_no_more_frames_than_fit(void **state)
{
	CLEANUP(mem_freep) struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)state;
	fixture_init(fixture, 0x030c);
	for (int i = 0; i < NATIVE_FRAMES_MAX; i++)
		native(fixture, "f", INTERPRETER);
	for (int i = 0; i < PYTHON_FRAMES_MAX; i++)
		python(fixture, "p", 2 * i, PYTHON_FRAME_SHIM);
	fixture->captured.flags = CAPTURED_PYTHON_TRUNCATED;
	fixture->captured.python_count = UINT32_MAX; /* what a record must not say */
	python_stack_merge(fixture->names, &(struct native_namer){ name_native, name_end, fixture },
	                   PYTHON_INTERNALS_MARK,
	                   &(struct python_stack_input){ &(struct code_process){ 0 },
	                                                 &fixture->captured, &fixture->native },
	                   &fixture->out);
	assert_int_equal(fixture->out.count, FRAMES_MAX);
	code_names_free(fixture->names);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(python_frames_stand_where_their_run_is),
		cmocka_unit_test(a_shim_has_a_name_in_3_12),
		cmocka_unit_test(internals_may_be_dropped),
		cmocka_unit_test(a_program_without_python_is_as_it_is),
		cmocka_unit_test(runs_without_markers_are_told_by_name),
		cmocka_unit_test(a_broken_native_stack_keeps_all_python_frames),
		cmocka_unit_test(python_frames_without_any_run_come_last),
		cmocka_unit_test(a_cut_chain_says_so),
		cmocka_unit_test(a_chain_cut_within_a_run_stays_in_it),
		cmocka_unit_test(trampolines_of_perf_are_left_out),
		cmocka_unit_test(a_stack_has_no_more_frames_than_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
