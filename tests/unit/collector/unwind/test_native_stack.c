/* Stacks of this program, compared with the known path and with the C++ runtime's unwinder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/unwind/address_space.h"
#include "collector/unwind/frame_names.h"
#include "collector/unwind/native_stack.h"
#include "tests/unit/collector/unwind/call_path.h"
#include "tests/unit/collector/unwind/self_capture.h"

struct fixture {
	struct module_cache *modules;
	struct address_space *space;
	struct frame_names *names;
	struct native_stack stack;
};

static struct fixture fixture;

static int open_self(void **state)
{
	struct process_view view;
	struct error err;

	(void)state;
	self_capture_take(); /* once outside of any handler */
	fixture.modules = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	if (process_view_open(getpid(), &view, &err) < 0)
		return -1;
	fixture.space = address_space_new(fixture.modules, &view);
	fixture.names = frame_names_new(FRAME_NAMES_BYTES_USUAL, FRAME_UNNAMED_MODULE);
	return 0;
}

static int close_self(void **state)
{
	(void)state;
	frame_names_free(fixture.names);
	address_space_free(fixture.space);
	module_cache_free(fixture.modules);
	return 0;
}

static void unwind(void)
{
	native_stack_unwind(fixture.space, &self_capture.stack, self_capture.bytes, &fixture.stack);
	frame_names_begin(fixture.names);
}

static struct frame name_of(size_t i)
{
	struct frame frame;

	frame_names_get(fixture.names, fixture.space, &fixture.stack.frames[i], &frame);
	return frame;
}

/* Every return address is the one that the C++ runtime's unwinder found. */
static void assert_like_runtime(void)
{
	assert_int_equal(fixture.stack.end, NATIVE_STACK_COMPLETE);
	assert_int_equal(fixture.stack.count, self_capture.expected_count);
	for (size_t i = 1; i < fixture.stack.count; i++)
		assert_int_equal(fixture.stack.frames[i].program_counter,
		                 (uintptr_t)self_capture.expected[i]);
}

/* Frames own the stack without gaps and without overlaps. */
static void assert_adjoining(void)
{
	for (size_t i = 0; i + 1 < fixture.stack.count; i++) {
		assert_true(fixture.stack.frames[i].stack_pointer <
		            fixture.stack.frames[i].frame_end);
		if (fixture.stack.frames[i + 1].program_counter !=
		    fixture.stack.frames[i + 1].lookup)
			assert_int_equal(fixture.stack.frames[i].frame_end,
			                 fixture.stack.frames[i + 1].stack_pointer);
	}
}

/* The names of a variant, in order, are the names of all frames that bear its prefix. */
static void assert_path(const char *prefix, const char *const *expected, size_t count)
{
	size_t next = 0;

	for (size_t i = 0; i < fixture.stack.count; i++) {
		const struct frame frame = name_of(i);

		if (!str_starts_with(frame.name, str_of(prefix)))
			continue;
		assert_true(next < count);
		assert_int_equal(frame.name.length, strlen(prefix) + strlen(expected[next]));
		assert_memory_equal(frame.name.data + strlen(prefix), expected[next],
		                    strlen(expected[next]));
		next++;
	}
	assert_int_equal(next, count);
}

static void assert_call_path(const char *prefix, int depth)
{
	const char *expected[64] = { "leaf", "big_locals", "with_alloca", "compare", "sorter" };
	size_t count = 5;

	for (int i = 0; i <= depth; i++)
		expected[count++] = "recurse";
	expected[count++] = "path";
	unwind();
	assert_like_runtime();
	assert_adjoining();
	assert_path(prefix, expected, count);
	assert_string_equal(name_of(fixture.stack.count - 1).name.data, "_start");
}

static void stacks_without_optimisation_are_whole(void **state)
{
	(void)state;
	(void)o0_path(20);
	assert_call_path("o0_", 20);
}

static void stacks_without_frame_pointers_are_whole(void **state)
{
	(void)state;
	(void)o2_path(20);
	assert_call_path("o2_", 20);
	(void)o3_path(5);
	assert_call_path("o3_", 5);
}

static void assert_signal_path(const char *prefix)
{
	const char *const expected[] = { "leaf", "handler", "raiser", "signal_path" };

	unwind();
	assert_like_runtime();
	assert_adjoining();
	assert_path(prefix, expected, 4);
}

static void stacks_go_on_below_signal_handlers(void **state)
{
	(void)state;
	(void)o0_signal_path();
	assert_signal_path("o0_");
	(void)o2_signal_path();
	assert_signal_path("o2_");
	(void)o3_signal_path();
	assert_signal_path("o3_");
}

static void templates_have_names_that_people_read(void **state)
{
	static const char *const expected[] = {
		"shop::Counter<std::__cxx11::basic_string<char, std::char_traits<char>, "
		"std::allocator<char> >, 3>::visit(std::vector<int, std::allocator<int> > const&)",
		"int shop::operator<< <std::map<std::__cxx11::basic_string<char, "
		"std::char_traits<char>, std::allocator<char> >, int, "
		"std::less<std::__cxx11::basic_string<char, std::char_traits<char>, "
		"std::allocator<char> > >, "
		"std::allocator<std::pair<std::__cxx11::basic_string<char, "
		"std::char_traits<char>, std::allocator<char> > const, int> > > >",
	};
	size_t i = 0;

	(void)state;
	(void)template_path();
	unwind();
	assert_like_runtime();
	while (i < fixture.stack.count && !str_starts_with(name_of(i).name, STR("shop::Counter")))
		i++;
	assert_string_equal(name_of(i).name.data, expected[0]);
	assert_true(str_starts_with(name_of(i).system_name, STR("_ZN4shop7Counter")));
	assert_true(str_starts_with(name_of(i + 1).name, str_of(expected[1])));
	assert_true(str_starts_with(name_of(i + 2).name, STR("shop::apply(shop::Base&, ")));
	assert_string_equal(name_of(i + 3).name.data, "template_path");
	assert_int_equal(name_of(i + 3).system_name.length, 0);
}

static void *run_thread(void *context)
{
	(void)o2_path(*(int *)context);
	return NULL;
}

static void stacks_of_threads_end_where_they_began(void **state)
{
	pthread_t thread;
	int depth = 3;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, run_thread, &depth), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(self_capture.stack.registers[REGISTER_STACK_POINTER] -
	                                 self_capture.stack.base <
	                         STACK_PAGE,
	                 1);
	unwind();
	assert_like_runtime();
}

static void a_copy_that_ends_early_says_so(void **state)
{
	size_t whole;
	struct frame end;

	(void)state;
	(void)o2_path(20);
	unwind();
	whole = fixture.stack.count;
	for (uint32_t length = self_capture.stack.length; length > 0; length -= length / 7 + 1) {
		self_capture.stack.length = length;
		unwind();
		assert_true(fixture.stack.count <= whole && fixture.stack.count > 0);
		for (size_t i = 1; i < fixture.stack.count; i++)
			assert_int_equal(fixture.stack.frames[i].program_counter,
			                 (uintptr_t)self_capture.expected[i]);
		if (fixture.stack.count == whole)
			continue;
		assert_int_equal(fixture.stack.end, NATIVE_STACK_TRUNCATED);
		assert_true(frame_names_end(fixture.names, fixture.space, &fixture.stack, &end));
		assert_string_equal(end.name.data, "[stack truncated]");
	}
}

static void a_deep_recursion_is_cut_at_the_limit(void **state)
{
	(void)state;
	(void)o0_path(900);
	unwind();
	assert_true(fixture.stack.end == NATIVE_STACK_DEPTH ||
	            fixture.stack.end == NATIVE_STACK_TRUNCATED);
	assert_true(fixture.stack.count <= NATIVE_FRAMES_MAX);
	for (size_t i = 1; i < fixture.stack.count; i++)
		assert_int_equal(fixture.stack.frames[i].program_counter,
		                 (uintptr_t)self_capture.expected[i]);
}

/* Frame `number` of a path returns through a probe, as the kernel would have it. */
static void replace_return_address(size_t number, uint64_t slot_distance)
{
	const uint64_t slot = fixture.stack.frames[number].frame_end - RETURN_SLOT_BYTES;
	const uint64_t page = UINT64_C(0x7fffffffe000);
	struct captured_stack *stack = &self_capture.stack;

	stack->return_probes[stack->return_probe_count++] = (struct return_probe){
		.slot = slot + slot_distance,
		.address = fixture.stack.frames[number + 1].program_counter,
	};
	memcpy(self_capture.bytes + (slot - stack->base), &page, sizeof(page));
}

static void return_addresses_under_probes_are_the_true_ones(void **state)
{
	const struct mapped_file page = { .start = UINT64_C(0x7fffffffe000),
		                          .end = UINT64_C(0x7ffffffff000),
		                          .path = STR("[uprobes]") };
	struct frame end;

	(void)state;
	for (uint64_t distance = 0; distance <= RETURN_SLOT_BYTES; distance += RETURN_SLOT_BYTES) {
		(void)o2_path(20);
		unwind();
		address_space_map(fixture.space, &page);
		replace_return_address(2, distance);
		replace_return_address(9, distance);
		unwind();
		assert_like_runtime();
	}
	self_capture.stack.return_probe_count = 1;
	unwind();
	assert_int_equal(fixture.stack.end, NATIVE_STACK_RETURN_PROBE);
	assert_int_equal(fixture.stack.count, 10);
	assert_true(frame_names_end(fixture.names, fixture.space, &fixture.stack, &end));
	assert_string_equal(end.name.data, "[return probe]");
}

static void garbage_registers_end_at_once(void **state)
{
	static const uint64_t values[] = {
		0, 1, 0x1000, UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63
	};
	struct frame frame;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		(void)o2_path(2);
		self_capture.stack.registers[REGISTER_RETURN_ADDRESS] = values[i];
		unwind();
		assert_int_equal(fixture.stack.end, NATIVE_STACK_NO_MAPPING);
		assert_int_equal(fixture.stack.count, 1);
		frame = name_of(0);
		assert_true(str_starts_with(frame.name, STR("0x")));
		(void)o2_path(2);
		self_capture.stack.registers[REGISTER_STACK_POINTER] = values[i];
		unwind();
		assert_int_not_equal(fixture.stack.end, NATIVE_STACK_COMPLETE);
		assert_int_equal(fixture.stack.count, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_without_optimisation_are_whole),
		cmocka_unit_test(stacks_without_frame_pointers_are_whole),
		cmocka_unit_test(stacks_go_on_below_signal_handlers),
		cmocka_unit_test(templates_have_names_that_people_read),
		cmocka_unit_test(stacks_of_threads_end_where_they_began),
		cmocka_unit_test(a_copy_that_ends_early_says_so),
		cmocka_unit_test(a_deep_recursion_is_cut_at_the_limit),
		cmocka_unit_test(return_addresses_under_probes_are_the_true_ones),
		cmocka_unit_test(garbage_registers_end_at_once),
	};

	return cmocka_run_group_tests(tests, open_self, close_self);
}
