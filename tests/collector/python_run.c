#include "tests/collector/python_run.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/python/interpreter.h"
#include "collector/unwind/address_space.h"
#include "collector/unwind/frame_names.h"

#define OUTPUT_MAX ((size_t)16 << 20)
#define GIVE_UP_NS (60 * NS_PER_S) /* a test that waits that long has failed */

/* A process that was seen. */
struct run_process {
	uint32_t tgid;
	uint64_t start_ns;
	struct address_space *space;
	bool is_child; /* its space is that of the first process */
};

/* ---- events ---- */

static struct run_process *process_of(struct python_run *run, const struct cuda_event *event)
{
	struct process_view view;
	struct run_process *process;
	struct error err = { 0 };

	for (size_t i = 0; i < run->process_count; i++)
		if (run->processes[i]->tgid == event->tgid)
			return run->processes[i];
	assert_true(run->process_count < RUN_PROCESSES_MAX);
	process = mem_zalloc(1, sizeof(*process));
	process->tgid = event->tgid;
	process->start_ns = event->process_start_ns;
	if (event->kind == CUDA_EVENT_INIT) {
		assert_int_equal(process_view_open((pid_t)event->tgid, &view, &err), 0);
		process->space = address_space_new(run->modules, &view);
		assert_int_equal(address_space_read(process->space, &err), 0);
	} else {
		/* A forked child has the mappings of its parent, and may have ended already. */
		assert_true(run->process_count > 0);
		process->is_child = true;
		process->space = run->processes[0]->space;
	}
	run->processes[run->process_count++] = process;
	return process;
}

static void describe(struct python_run *run, const struct run_process *process,
                     const struct exec_identity *exec)
{
	const int programs = probe_set_map(run->set, "python_programs");
	struct error err = { 0 };

	run->refusal[0] = '\0';
	if (interpreter_describe_space(process->space, &run->python, &err) < 0) {
		(void)snprintf(run->refusal, sizeof(run->refusal), "%s", err.message);
		return;
	}
	assert_int_equal(bpf_map_update_elem(programs, exec, &run->python, BPF_ANY), 0);
}

struct naming {
	struct frame_names *names;
	struct address_space *space;
};

static void name_native(void *context, const struct native_frame *native, struct frame *out)
{
	const struct naming *naming = context;

	frame_names_get(naming->names, naming->space, native, out);
}

static bool name_end(void *context, const struct native_stack *stack, struct frame *out)
{
	const struct naming *naming = context;

	return frame_names_end(naming->names, naming->space, stack, out);
}

static void keep_frames(struct python_run *run, struct seen_stack *seen,
                        const struct frame_list *list)
{
	seen->count = list->count;
	seen->frames = arena_array(run->arena, list->count + 1, sizeof(struct frame));
	for (size_t i = 0; i < list->count; i++) {
		seen->frames[i] = list->frames[i];
		seen->frames[i].name = arena_copy(run->arena, list->frames[i].name);
		seen->frames[i].system_name = arena_copy(run->arena, list->frames[i].system_name);
		seen->frames[i].file = arena_copy(run->arena, list->frames[i].file);
		seen->frames[i].module = arena_copy(run->arena, list->frames[i].module);
	}
}

static void take_stack(struct python_run *run, const struct cuda_stack_event *event)
{
	struct run_process *process = process_of(run, &event->call);
	CLEANUP(mem_freep) struct native_stack *native = mem_zalloc(1, sizeof(*native));
	CLEANUP(mem_freep) struct frame *frames = mem_zalloc(FRAMES_MAX, sizeof(*frames));
	struct seen_stack *seen = &run->seen[run->seen_count++];
	struct frame_list list = { .frames = frames };
	struct python_memory memory;
	struct code_process named = { .tgid = event->call.tgid,
		                      .start_ns = event->call.process_start_ns,
		                      .python = &run->python };

	assert_true(run->seen_count < RUN_STACKS_MAX);
	memory = python_memory_of_space(process->space);
	if (run->reads_memory && !process->is_child)
		named.memory = &memory;
	native_stack_unwind(process->space, &event->stack, event->bytes, native);
	frame_names_begin(run->frame_names);
	python_stack_merge(run->code_names,
	                   &(struct native_namer){
				   .name = name_native,
				   .end = name_end,
				   .context = &(struct naming){ run->frame_names, process->space },
			   },
	                   PYTHON_INTERNALS_MARK,
	                   &(struct python_stack_input){
				   .process = &named, .captured = &event->stack, .native = native },
	                   &list);
	*seen = (struct seen_stack){
		.size = event->call.bytes,
		.tgid = event->call.tgid,
		.flags = event->stack.flags,
		.python_count = event->stack.python_count,
		.had_memory = named.memory != NULL,
		.end = native->end,
	};
	for (uint32_t i = 0; i < event->stack.python_count; i++)
		seen->entry_count += event->stack.python[i].flags & PYTHON_FRAME_ENTRY;
	keep_frames(run, seen, &list);
}

static void take_event(void *context, const struct cuda_event *event, size_t size)
{
	struct python_run *run = context;
	const struct cuda_stack_event *with_stack = (const struct cuda_stack_event *)event;

	if (size < sizeof(*with_stack))
		return;
	if (event->kind == CUDA_EVENT_INIT) {
		describe(run, process_of(run, event), &with_stack->stack.exec);
	} else if (event->kind == CUDA_EVENT_ALLOC) {
		take_stack(run, with_stack);
	}
}

static void take_definition(void *context, const struct code_definition *definition)
{
	struct python_run *run = context;

	code_names_define(run->code_names, definition, sizeof(*definition));
	run->definitions++;
	if (run->definitions_max == 0)
		return;
	if (run->definitions > run->definitions_max)
		fail_msg("more than %zu definitions are handed on by one drain",
		         run->definitions_max);
	python_run_again(run);
}

/* ---- the program ---- */

static void run_child(const char *python, const char *name, int input, int output)
{
	const char *const arguments[] = { python, "-B", PYTHON_WORKLOAD, STUB_DRIVER, name, NULL };
	char *const *argv =
		(char *const *)(uintptr_t)arguments; /* NOLINT(performance-no-int-to-ptr) */

	(void)dup2(input, STDIN_FILENO);
	(void)dup2(output, STDOUT_FILENO);
	(void)execv(python, argv);
	_exit(127);
}

static char *output_of(struct python_run *run, struct str *out)
{
	char *text = mem_zalloc(1, OUTPUT_MAX);
	const ssize_t length = pread(run->output, text, OUTPUT_MAX - 1, 0);

	assert_true(length >= 0);
	*out = str_make(text, (size_t)length);
	return text;
}

static bool has_said(struct python_run *run, struct str line)
{
	struct str output;
	CLEANUP(mem_freep) char *text = output_of(run, &output);

	(void)text;
	return str_find(output, line) >= 0;
}

static void pause_briefly(int64_t since_ns)
{
	assert_true(clock_mono_ns() - since_ns < GIVE_UP_NS);
	(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static size_t count_said(struct python_run *run, struct str line)
{
	struct str rest;
	struct str said;
	CLEANUP(mem_freep) char *text = output_of(run, &rest);
	size_t count = 0;

	(void)text;
	while (str_split(&rest, '\n', &said))
		count += str_equal(said, line);
	return count;
}

void python_run_again(struct python_run *run)
{
	const int64_t since_ns = clock_mono_ns();
	const size_t before = count_said(run, STR("N"));

	assert_int_equal(write(run->input, "again\n", 6), 6);
	while (count_said(run, STR("N")) == before)
		pause_briefly(since_ns);
}

void python_run_start(struct python_run *run, const char *python, const char *name)
{
	const int64_t since_ns = clock_mono_ns();
	int words[2];

	run->output = memfd_create("python", MFD_CLOEXEC);
	assert_true(run->output >= 0);
	/* threads may write at once, and a file in memory has no lock for its place */
	assert_int_equal(fcntl(run->output, F_SETFL, O_APPEND), 0);
	assert_int_equal(pipe2(words, O_CLOEXEC), 0);
	run->refusal[0] = '\0';
	run->python = (struct python_description){ 0 };
	run->pid = fork();
	assert_true(run->pid >= 0);
	if (run->pid == 0)
		run_child(python, name, words[0], run->output);
	(void)close(words[0]);
	run->input = words[1];
	while (run->python.version == 0 && run->refusal[0] == '\0') {
		(void)probe_set_drain(run->set, 1000);
		assert_int_equal(waitpid(run->pid, NULL, WNOHANG), 0);
		pause_briefly(since_ns);
	}
	while (!has_said(run, STR("R\n")))
		pause_briefly(since_ns);
	assert_int_equal(write(run->input, "\n", 1), 1);
}

static void close_program(struct python_run *run, int status)
{
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	while (probe_set_drain(run->set, 1000) > 0)
		;
	(void)close(run->input);
	run->pid = 0;
}

void python_run_finish(struct python_run *run)
{
	const int64_t since_ns = clock_mono_ns();
	bool is_told = false;
	int status;

	while (waitpid(run->pid, &status, WNOHANG) == 0) {
		const bool has_done_all = is_told || has_said(run, STR("\nD\n"));

		if (probe_set_drain(run->set, 1000) > 0)
			continue;
		/* all was seen while its memory was there */
		if (has_done_all && !is_told)
			assert_int_equal(write(run->input, "\n", 1), 1);
		is_told = has_done_all;
		pause_briefly(since_ns);
	}
	close_program(run, status);
}

void python_run_finish_late(struct python_run *run)
{
	int status;

	assert_int_equal(waitpid(run->pid, &status, 0), run->pid);
	close_program(run, status);
}

/* ---- what it said ---- */

static struct str field(struct str *line)
{
	struct str part = { 0 };

	(void)str_split(line, '\t', &part);
	return part;
}

static uint64_t number_field(struct str *line)
{
	uint64_t number = 0;

	assert_true(str_to_u64(field(line), UINT64_MAX, &number));
	return number;
}

static void read_frames(struct python_run *run, struct str lines, struct said_stack *out)
{
	struct str line;

	out->frames = arena_array(run->arena, out->count + 1, sizeof(*out->frames));
	for (size_t i = 0; i < out->count; i++) {
		assert_true(str_split(&lines, '\n', &line));
		assert_true(str_equals(field(&line), "F"));
		out->frames[i].line = (int64_t)number_field(&line);
		out->frames[i].name = arena_copy(run->arena, field(&line));
		out->frames[i].file = arena_copy(run->arena, field(&line));
	}
}

bool python_run_said(struct python_run *run, uint64_t size, struct said_stack *out)
{
	struct str lines;
	struct str line;
	CLEANUP(mem_freep) char *text = output_of(run, &lines);

	(void)text;
	while (str_split(&lines, '\n', &line)) {
		if (!str_equals(field(&line), "E") || number_field(&line) != size)
			continue;
		*out = (struct said_stack){ .size = size, .count = number_field(&line) };
		read_frames(run, lines, out);
		return true;
	}
	return false;
}

struct str python_run_skipped(struct python_run *run, const char *name)
{
	struct str lines;
	struct str line;
	CLEANUP(mem_freep) char *text = output_of(run, &lines);

	(void)text;
	while (str_split(&lines, '\n', &line))
		if (str_equals(field(&line), "S") && str_equals(field(&line), name))
			return arena_copy(run->arena, line);
	return STR("");
}

const struct seen_stack *python_run_seen(const struct python_run *run, uint64_t size)
{
	for (size_t i = 0; i < run->seen_count; i++)
		if (run->seen[i].size == size)
			return &run->seen[i];
	return NULL;
}

/* ---- the collector's part ---- */

static int attach(struct python_run *run, struct error *err)
{
	const int library = open(STUB_DRIVER, O_RDONLY | O_CLOEXEC);
	struct probe_points points;

	assert_true(library >= 0);
	assert_int_equal(probe_points_find(library, PROBE_SCOPE_ALL, &points, err), 0);
	assert_int_equal(probe_set_attach(run->set, &(struct probe_target){ library, &points, 0 },
	                                  &run->link, err),
	                 0);
	return close(library);
}

int python_run_init(struct python_run *run, size_t definition_ring_bytes, struct error *err)
{
	const struct probe_set_options options = { .event_ring_bytes = (size_t)32 << 20,
		                                   .definition_ring_bytes = definition_ring_bytes };
	const struct probe_set_handlers handlers = { .event = take_event,
		                                     .definition = take_definition,
		                                     .context = run };

	memset(run, 0, sizeof(*run));
	run->reads_memory = true;
	run->output = -1;
	if (probe_set_open(&options, &handlers, &run->set, err) < 0)
		return -1;
	run->modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	run->frame_names = frame_names_new(FRAME_NAMES_BYTES_USUAL, FRAME_UNNAMED_MODULE);
	run->code_names = code_names_new(&(struct code_names_options){ 0 });
	run->arena = arena_new((size_t)256 << 20, NULL);
	return attach(run, err);
}

void python_run_fini(struct python_run *run)
{
	for (size_t i = 0; i < run->process_count; i++) {
		if (!run->processes[i]->is_child)
			address_space_free(run->processes[i]->space);
		free(run->processes[i]);
	}
	probe_set_detach(run->set, run->link);
	probe_set_close(run->set);
	code_names_free(run->code_names);
	frame_names_free(run->frame_names);
	module_cache_free(run->modules);
	arena_free(run->arena);
	if (run->output >= 0)
		(void)close(run->output);
}
