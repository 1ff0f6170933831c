/* Address spaces of text, of calls, and of living processes whose stacks are unwound. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/elf/perf_map.h"
#include "collector/unwind/address_space.h"
#include "collector/unwind/frame_names.h"
#include "collector/unwind/native_stack.h"
#include "tests/unit/collector/unwind/empty_view.h"
#include "tests/unit/skip.h"

/* A process that only a test knows: it has maps, and no files. */
struct made_process {
	const char *maps;
	size_t readings;
};

static int made_maps(void *context, struct strbuf *out, struct error *err)
{
	struct made_process *process = context;

	process->readings++;
	if (!process->maps)
		return error_set(err, ERROR_NOT_FOUND, "gone");
	strbuf_add_text(out, process->maps);
	return 0;
}

static struct process_view made_view(struct made_process *process)
{
	return (struct process_view){ made_maps,
		                      empty_view_module,
		                      empty_view_memory,
		                      empty_view_perf_map,
		                      empty_view_close,
		                      process,
		                      NULL };
}

static const char maps_before[] = "00400000-00401000 r--p 00000000 08:01 10 /bin/a\n"
				  "00401000-00405000 r-xp 00001000 08:01 10 /bin/a\n"
				  "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
				  "7f0000010000-7f0000020000 rwxp 00000000 00:00 0 \n"
				  "7fffffffe000-7ffffffff000 --xp 00000000 00:00 0 [uprobes]\n";

static void executable_mappings_are_known(void **state)
{
	struct made_process process = { .maps = maps_before };
	const struct process_view view = made_view(&process);
	CLEANUP(module_cache_freep)
	struct module_cache *modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	CLEANUP(address_space_freep)
	struct address_space *space = address_space_new(modules, &view);
	const struct mapping *mapping;

	(void)state;
	assert_null(address_space_known(space, 0x401000));
	mapping = address_space_find(space, 0x401000); /* the first question reads them */
	assert_non_null(mapping);
	assert_int_equal(mapping->kind, MAPPING_FILE);
	assert_int_equal(mapping->offset, 0x1000);
	assert_string_equal(mapping->path, "/bin/a");
	assert_int_equal(process.readings, 1);
	assert_null(address_space_known(space, 0x400fff));
	assert_non_null(address_space_known(space, 0x404fff));
	assert_null(address_space_known(space, 0x405000));
	assert_null(address_space_known(space, UINT64_C(0x7f0000000000)));
	assert_int_equal(address_space_known(space, UINT64_C(0x7f0000010000))->kind,
	                 MAPPING_ANONYMOUS);
	assert_int_equal(address_space_known(space, UINT64_C(0x7fffffffe000))->kind,
	                 MAPPING_RETURN_PROBES);
	(void)address_space_find(space, 0x99);
	(void)address_space_find(space, 0x99);
	assert_true(process.readings <= 2); /* not for each unknown address */
}

static void the_last_that_was_known_stays(void **state)
{
	struct made_process process = { .maps = maps_before };
	const struct process_view view = made_view(&process);
	CLEANUP(module_cache_freep)
	struct module_cache *modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	CLEANUP(address_space_freep)
	struct address_space *space = address_space_new(modules, &view);
	struct error err;

	(void)state;
	assert_int_equal(address_space_read(space, &err), 0);
	process.maps = NULL;
	assert_int_equal(address_space_read(space, &err), -1);
	assert_non_null(address_space_known(space, 0x401000));
	process.maps = "00401000-00405000 r-xp 00001000 08:01 11 /bin/b\n";
	assert_int_equal(address_space_read(space, &err), 0);
	assert_string_equal(address_space_known(space, 0x401000)->path, "/bin/b");
	assert_null(address_space_known(space, UINT64_C(0x7f0000010000)));
}

static void a_new_mapping_takes_the_place_of_old_ones(void **state)
{
	struct made_process process = { .maps = maps_before };
	const struct process_view view = made_view(&process);
	CLEANUP(module_cache_freep)
	struct module_cache *modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	CLEANUP(address_space_freep)
	struct address_space *space = address_space_new(modules, &view);
	const struct mapped_file inside = {
		.start = 0x402000, .end = 0x403000, .inode = 12, .path = STR("/bin/c")
	};
	const struct mapped_file over = { .start = 0x404000,
		                          .end = UINT64_C(0x7f0000018000),
		                          .path = STR("//anon") };
	const struct mapping *mappings;
	struct error err;
	size_t count;

	(void)state;
	assert_int_equal(address_space_read(space, &err), 0);
	address_space_map(space, &inside);
	mappings = address_space_mappings(space, &count);
	assert_int_equal(count, 5);
	assert_int_equal(mappings[0].end, 0x402000);
	assert_string_equal(mappings[1].path, "/bin/c");
	assert_int_equal(mappings[2].start, 0x403000);
	assert_int_equal(mappings[2].offset, 0x3000);
	assert_string_equal(mappings[2].path, "/bin/a");
	address_space_map(space, &over);
	mappings = address_space_mappings(space, &count);
	assert_int_equal(count, 6);
	assert_int_equal(mappings[2].end, 0x404000);
	assert_int_equal(mappings[3].kind, MAPPING_ANONYMOUS);
	assert_int_equal(mappings[4].start, UINT64_C(0x7f0000018000));
	assert_int_equal(mappings[4].offset, 0x8000);
}

/* Mappings that come faster than they can be taken are read when somebody asks. */
static void a_storm_of_mappings_costs_no_more_than_a_reading(void **state)
{
	struct made_process process = { .maps = maps_before };
	const struct process_view view = made_view(&process);
	CLEANUP(module_cache_freep)
	struct module_cache *modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	CLEANUP(address_space_freep)
	struct address_space *space = address_space_new(modules, &view);
	struct mapped_file file = { .start = 0x100000000, .end = 0x100001000, .path = STR("/b") };
	struct error err;
	size_t count;

	(void)state;
	assert_int_equal(address_space_read(space, &err), 0);
	for (size_t i = 0; i < 100000; i++) {
		address_space_map(space, &file);
		file.start += 0x1000;
		file.end += 0x1000;
	}
	(void)address_space_mappings(space, &count);
	assert_true(count > ADDRESS_SPACE_MAP_BURST_NS / ADDRESS_SPACE_MAP_NS);
	assert_true(count < ADDRESS_SPACE_MAPPINGS_MAX);
	process.maps = "00401000-00405000 r-xp 00001000 08:01 11 /bin/new\n";
	while (process.readings == 1)
		(void)address_space_find(space, 0x401000); /* known, and maybe no longer true */
	assert_string_equal(address_space_known(space, 0x401000)->path, "/bin/new");
	assert_int_equal(process.readings, 2);
	(void)address_space_find(space, 0x401000);
	assert_int_equal(process.readings, 2);
}

static void code_in_shared_memory_is_made_code(void **state)
{
	struct made_process process = {
		.maps = "00401000-00405000 r-xp 00000000 00:01 11 /memfd:doublemapper (deleted)\n"
			"00406000-00407000 r-xp 00000000 00:01 12 /dev/zero (deleted)\n"
			"00408000-00409000 r-xp 00000000 00:01 13 /dev/shm/libx.so\n"
	};
	const struct process_view view = made_view(&process);
	CLEANUP(module_cache_freep)
	struct module_cache *modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	CLEANUP(address_space_freep)
	struct address_space *space = address_space_new(modules, &view);
	struct error err;

	(void)state;
	assert_int_equal(address_space_read(space, &err), 0);
	assert_int_equal(address_space_known(space, 0x401000)->kind, MAPPING_ANONYMOUS);
	assert_int_equal(address_space_known(space, 0x406000)->kind, MAPPING_ANONYMOUS);
	assert_int_equal(address_space_known(space, 0x408000)->kind, MAPPING_FILE);
}

/* A child that is stopped somewhere inside of a script, with its stack copied. */
struct stopped {
	pid_t pid;
	int to_child;
	int from_child;
	struct captured_stack stack;
	uint8_t bytes[STACK_BYTES_MAX];
	struct native_stack native;
};

static const char script[] = "import sys, os\n"
			     "def leaf(n):\n"
			     "    os.write(1, b'x')\n"
			     "    os.read(0, 1)\n"
			     "    return n\n"
			     "def outer(n):\n"
			     "    return sum(map(outer, [n - 1])) if n else leaf(n)\n"
			     "outer(5)\n";

static void start(struct stopped *child, const char *interpreter, const char *option)
{
	int down[2];
	int up[2];
	char byte;

	assert_int_equal(pipe(down), 0);
	assert_int_equal(pipe(up), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0) {
		(void)dup2(down[0], 0);
		(void)dup2(up[1], 1);
		(void)close(down[1]);
		(void)close(up[0]);
		if (option)
			(void)execlp(interpreter, interpreter, "-X", option, "-c", script, NULL);
		else
			(void)execlp(interpreter, interpreter, "-c", script, NULL);
		_exit(127);
	}
	(void)close(down[0]);
	(void)close(up[1]);
	child->to_child = down[1];
	child->from_child = up[0];
	assert_int_equal(read(child->from_child, &byte, 1), 1); /* it is in leaf() now */
}

static void finish(struct stopped *child)
{
	(void)ptrace(PTRACE_DETACH, child->pid, NULL, NULL);
	(void)kill(child->pid, SIGKILL);
	(void)waitpid(child->pid, NULL, 0);
	(void)close(child->to_child);
	(void)close(child->from_child);
}

static void stop(struct stopped *child)
{
	struct user_regs_struct r;
	int status;

	if (ptrace(PTRACE_ATTACH, child->pid, NULL, NULL) != 0) {
		finish(child);
		SKIP_BECAUSE("ptrace is not allowed");
	}
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(ptrace(PTRACE_GETREGS, child->pid, NULL, &r), 0);
	memset(&child->stack, 0, sizeof(child->stack));
	memcpy(child->stack.registers,
	       ((uint64_t[]){ r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9,
	                      r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip }),
	       sizeof(child->stack.registers));
	child->stack.base = r.rsp & ~(uint64_t)(STACK_PAGE - 1);
}

static void copy_stack(struct stopped *child, const struct address_space *space)
{
	child->stack.length = (uint32_t)address_space_memory(space, child->stack.base, child->bytes,
	                                                     sizeof(child->bytes));
}

static bool runs(const char *interpreter, const char *option)
{
	char command[4200];

	(void)snprintf(command, sizeof(command),
	               "%s %s -c 'import sys; sys.exit(%s)' >/dev/null 2>&1", interpreter,
	               option ? "-X perf" : "",
	               option ? "sys.version_info < (3, 12) or not sys.is_stack_trampoline_active()"
	                      : "0");
	return system(command) == 0; /* NOLINT(concurrency-mt-unsafe): one thread */
}

#define INTERPRETERS_MAX 16

/* Interpreters on the PATH, and those of VRAMSCOPE_TEST_PYTHONS (separated by colons). */
static char interpreters[INTERPRETERS_MAX][256];
static size_t interpreter_count;

static int find_interpreters(void **state)
{
	const char *given = getenv("VRAMSCOPE_TEST_PYTHONS"); /* NOLINT(concurrency-mt-unsafe) */
	struct str rest = given ? str_of(given) : STR("");
	struct str name;

	(void)state;
	while (given && interpreter_count < INTERPRETERS_MAX && str_split(&rest, ':', &name))
		(void)snprintf(interpreters[interpreter_count++], sizeof(interpreters[0]), "%.*s",
		               STR_ARGS(name));
	for (int minor = 8; minor <= 14 && interpreter_count < INTERPRETERS_MAX; minor++) {
		char *to = interpreters[interpreter_count];

		(void)snprintf(to, sizeof(interpreters[0]), "python3.%d", minor);
		interpreter_count += runs(to, NULL);
	}
	return 0;
}

static void unwind_child(struct stopped *child, struct address_space *space)
{
	stop(child);
	copy_stack(child, space);
	native_stack_unwind(space, &child->stack, child->bytes, &child->native);
}

static size_t count_trampolines(const struct native_stack *stack)
{
	size_t count = 0;

	for (size_t i = 0; i < stack->count; i++)
		count += stack->frames[i].is_trampoline;
	return count;
}

static void stacks_of_interpreters_are_whole(void **state)
{
	static struct stopped child;

	(void)state;
	if (interpreter_count == 0) {
		SKIP_BECAUSE("no python3.8 to python3.14");
	}
	for (size_t i = 0; i < interpreter_count; i++) {
		CLEANUP(module_cache_freep)
		struct module_cache *modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
		CLEANUP(address_space_freep) struct address_space *space = NULL;
		struct process_view view;
		struct error err;

		start(&child, interpreters[i], NULL);
		assert_int_equal(process_view_open(child.pid, &view, &err), 0);
		space = address_space_new(modules, &view);
		unwind_child(&child, space);
		print_message("%s: %zu frames\n", interpreters[i], child.native.count);
		assert_int_equal(child.native.end, NATIVE_STACK_COMPLETE);
		assert_true(child.native.count >
		            20); /* six runs of the loop, map and sum between */
		finish(&child);
	}
}

static void assert_named(struct address_space *space, const struct native_stack *stack)
{
	CLEANUP(frame_names_freep)
	struct frame_names *names = frame_names_new(FRAME_NAMES_BYTES_USUAL, FRAME_UNNAMED_MODULE);
	size_t outer = 0;

	for (size_t i = 0; i < stack->count; i++) {
		struct frame frame;

		frame_names_get(names, space, &stack->frames[i], &frame);
		assert_true(frame.name.length > 0);
		outer += str_starts_with(frame.name, STR("py::outer:"));
	}
	assert_int_equal(outer, 6);
}

static void trampolines_of_interpreters_are_passed(void **state)
{
	static struct stopped child;
	size_t done = 0;

	(void)state;
	for (size_t i = 0; i < interpreter_count; i++) {
		CLEANUP(module_cache_freep)
		struct module_cache *modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
		CLEANUP(address_space_freep) struct address_space *space = NULL;
		struct process_view view;
		struct error err;

		if (!runs(interpreters[i], "perf"))
			continue;
		done++;
		start(&child, interpreters[i], "perf");
		assert_int_equal(process_view_open(child.pid, &view, &err), 0);
		space = address_space_new(modules, &view);
		unwind_child(&child, space);
		print_message("%s: %zu frames\n", interpreters[i], child.native.count);
		assert_int_equal(child.native.end, NATIVE_STACK_COMPLETE);
		assert_int_equal(count_trampolines(&child.native),
		                 8); /* <module>, outer x 6, leaf */
		assert_named(space, &child.native);
		finish(&child);
	}
	if (done == 0) {
		SKIP_BECAUSE("no interpreter with -X perf");
	}
}

static void processes_that_ended_keep_what_was_known(void **state)
{
	CLEANUP(module_cache_freep)
	struct module_cache *modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	CLEANUP(address_space_freep) struct address_space *space = NULL;
	static struct stopped child;
	struct process_view view;
	struct native_stack before;
	struct error err;

	(void)state;
	if (interpreter_count == 0)
		SKIP_BECAUSE("no python3.8 to python3.14");
	start(&child, interpreters[0], NULL);
	assert_int_equal(process_view_open(child.pid, &view, &err), 0);
	space = address_space_new(modules, &view);
	assert_int_equal(address_space_read(space, &err), 0);
	stop(&child);
	copy_stack(&child, space);
	finish(&child);
	assert_int_equal(address_space_read(space, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	native_stack_unwind(space, &child.stack, child.bytes, &before);
	assert_int_equal(before.end, NATIVE_STACK_COMPLETE);
	for (size_t i = 0; i < before.count; i++)
		assert_non_null(before.frames[i].module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(executable_mappings_are_known),
		cmocka_unit_test(the_last_that_was_known_stays),
		cmocka_unit_test(a_new_mapping_takes_the_place_of_old_ones),
		cmocka_unit_test(a_storm_of_mappings_costs_no_more_than_a_reading),
		cmocka_unit_test(code_in_shared_memory_is_made_code),
		cmocka_unit_test(stacks_of_interpreters_are_whole),
		cmocka_unit_test(trampolines_of_interpreters_are_passed),
		cmocka_unit_test(processes_that_ended_keep_what_was_known),
	};

	return cmocka_run_group_tests(tests, find_interpreters, NULL);
}
