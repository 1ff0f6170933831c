/* Names of frames that have none, of code made at run time, and of files that lie. */
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

#include "base/mem.h"
#include "base/utf8.h"
#include "collector/unwind/address_space.h"
#include "collector/unwind/frame_names.h"
#include "tests/unit/collector/unwind/empty_view.h"

static const char maps[] =
	"00401000-00405000 r-xp 00001000 08:01 10 /opt/a\x01/lib\xff.so (deleted)\n"
	"00501000-00505000 r-xp 00002000 08:01 11 /usr/lib/libcuda.so.550.54\n"
	"7f0000010000-7f0000020000 rwxp 00000000 00:00 0 \n";

static const char perf_lines[] = "7f0000010000 100 Lazy\x02JIT\xfe name\n";

static int made_maps(void *context, struct strbuf *out, struct error *err)
{
	(void)context;
	(void)err;
	strbuf_add_text(out, maps);
	return 0;
}

static int made_perf_map(void *context)
{
	const int descriptor = memfd_create("perf", MFD_CLOEXEC);

	(void)context;
	assert_int_equal(write(descriptor, perf_lines, sizeof(perf_lines) - 1),
	                 sizeof(perf_lines) - 1);
	return descriptor;
}

static const struct process_view view = { made_maps,     empty_view_module, empty_view_memory,
	                                  made_perf_map, empty_view_close,  NULL,
	                                  NULL };

struct subject {
	struct module_cache *modules;
	struct address_space *space;
	struct frame_names *names;
};

static struct subject open_subject(enum frame_unnamed unnamed)
{
	struct subject subject = { .modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL) };
	struct error err;

	subject.space = address_space_new(subject.modules, &view);
	subject.names = frame_names_new(FRAME_NAMES_BYTES_USUAL, unnamed);
	assert_int_equal(address_space_read(subject.space, &err), 0);
	return subject;
}

static void close_subject(struct subject *subject)
{
	frame_names_free(subject->names);
	address_space_free(subject->space);
	module_cache_free(subject->modules);
}

static struct frame name_at(const struct subject *subject, uint64_t address)
{
	const struct native_frame native = { .program_counter = address, .lookup = address };
	struct frame frame;

	frame_names_begin(subject->names);
	frame_names_get(subject->names, subject->space, &native, &frame);
	assert_true(utf8_is_valid(frame.name));
	assert_true(utf8_is_valid(frame.module));
	return frame;
}

static void assert_name(const struct subject *subject, uint64_t address, const char *expected)
{
	const struct frame frame = name_at(subject, address);

	assert_int_equal(frame.name.length, strlen(expected));
	assert_memory_equal(frame.name.data, expected, frame.name.length);
}

static void frames_without_a_name_say_where_they_are(void **state)
{
	struct subject subject = open_subject(FRAME_UNNAMED_MODULE);

	(void)state;
	assert_name(&subject, 0x401010, "lib\xef\xbf\xbd.so+0x1010");
	assert_int_equal(name_at(&subject, 0x401010).kind, FUNCTION_NATIVE);
	assert_string_equal(name_at(&subject, 0x401010).module.data,
	                    "/opt/a\xef\xbf\xbd/lib\xef\xbf\xbd.so");
	assert_name(&subject, 0x501010, "libcuda.so.550.54+0x2010");
	assert_int_equal(name_at(&subject, 0x501010).kind, FUNCTION_CUDA);
	assert_name(&subject, 0x99, "0x99");
	close_subject(&subject);
	subject = open_subject(FRAME_UNNAMED_ADDRESS);
	assert_name(&subject, 0x401010, "0x1010");
	close_subject(&subject);
}

static void code_made_at_run_time_has_its_makers_name(void **state)
{
	struct subject subject = open_subject(FRAME_UNNAMED_MODULE);

	(void)state;
	assert_name(&subject, UINT64_C(0x7f0000010080), "Lazy\xef\xbf\xbdJIT\xef\xbf\xbd name");
	assert_name(&subject, UINT64_C(0x7f0000010100), "[jit]");
	close_subject(&subject);
}

static void ends_of_stacks_say_why(void **state)
{
	static const struct {
		enum native_stack_end end;
		uint64_t address;
		const char *expected;
	} cases[] = {
		{ NATIVE_STACK_COMPLETE, 0x401010, NULL },
		{ NATIVE_STACK_TRUNCATED, 0x401010, "[stack truncated]" },
		{ NATIVE_STACK_DEPTH, 0x401010, "[stack truncated]" },
		{ NATIVE_STACK_RETURN_PROBE, 0x401010, "[return probe]" },
		{ NATIVE_STACK_NO_RULE, 0x501010, "[unwind failed at libcuda.so.550.54+0x2010]" },
		{ NATIVE_STACK_NO_RULE, UINT64_C(0x7f0000010080),
		  "[unwind failed at code made at run time]" },
		{ NATIVE_STACK_NO_MAPPING, 0x99, "[unwind failed at an unknown address]" },
		{ NATIVE_STACK_BROKEN, 0x401010, "[unwind failed at lib\xef\xbf\xbd.so+0x1010]" },
	};
	CLEANUP(mem_freep) struct native_stack *stack = mem_zalloc(1, sizeof(*stack));
	struct subject subject = open_subject(FRAME_UNNAMED_MODULE);
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		stack->end = cases[i].end;
		stack->count = 1;
		stack->frames[0].lookup = cases[i].address;
		assert_int_equal(frame_names_end(subject.names, subject.space, stack, &frame),
		                 cases[i].expected != NULL);
		if (cases[i].expected)
			assert_true(str_equals(frame.name, cases[i].expected));
	}
	close_subject(&subject);
}

static void names_are_forgotten_at_the_limit(void **state)
{
	struct subject subject = open_subject(FRAME_UNNAMED_MODULE);

	(void)state;
	frame_names_free(subject.names);
	subject.names = frame_names_new(1000, FRAME_UNNAMED_MODULE);
	for (uint64_t i = 0; i < 100000; i++) {
		char expected[64];

		(void)snprintf(expected, sizeof(expected), "lib\xef\xbf\xbd.so+0x%llx",
		               (unsigned long long)(0x1000 + i % 0x4000));
		assert_name(&subject, 0x401000 + i % 0x4000, expected);
	}
	close_subject(&subject);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_without_a_name_say_where_they_are),
		cmocka_unit_test(code_made_at_run_time_has_its_makers_name),
		cmocka_unit_test(ends_of_stacks_say_why),
		cmocka_unit_test(names_are_forgotten_at_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
