#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "tests/unit/collector/live/live_fixture.h"

static struct str name_of(const struct stack_table *table, uint32_t stack)
{
	const struct stack_node *node = stack_table_node(table, stack);

	return stack_table_string(table, stack_table_frame(table, node->frame)->name);
}

static void assert_name(const struct stack_table *table, uint32_t stack, const char *name)
{
	assert_true(str_equals(name_of(table, stack), name));
}

static void a_stack_ends_in_the_driver(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	const uint32_t stack = STACK_OF(table, "grow", "main");
	const struct stack_frame *leaf =
		stack_table_frame(table, stack_table_node(table, stack)->frame);
	const uint32_t grow = stack_table_node(table, stack)->parent;
	const uint32_t root = stack_table_node(table, grow)->parent;

	(void)state;
	assert_name(table, stack, "cuMemAlloc_v2");
	assert_int_equal(leaf->kind, FUNCTION_CUDA);
	assert_true(str_equals(stack_table_string(table, leaf->module), "libcuda.so.1"));
	assert_name(table, grow, "grow");
	assert_name(table, root, "main");
	assert_int_equal(stack_table_node(table, root)->parent, STACK_NONE);
	assert_int_equal(stack_table_node(table, stack)->depth, 3);
	stack_table_check(table);
}

static void equal_stacks_are_one(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	const uint32_t first = STACK_OF(table, "a", "main");
	const size_t count = stack_table_count(table);
	const size_t frames = stack_table_frame_count(table);

	(void)state;
	assert_int_equal(STACK_OF(table, "a", "main"), first);
	assert_int_equal(stack_table_count(table), count);
	assert_int_not_equal(STACK_OF(table, "b", "main"), first);
	/* "main" and the driver are shared */
	assert_int_equal(stack_table_count(table), count + 2);
	assert_int_equal(stack_table_frame_count(table), frames + 1);
	stack_table_check(table);
}

/* Two files may have one build id, one name and one address: all of a frame must agree. */
static void a_frame_is_all_that_is_known_of_it(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	struct frame frames[8];
	uint32_t stacks[ARRAY_LENGTH(frames)];

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(frames); i++)
		frames[i] = (struct frame){ .name = STR("f"), .module = STR("m"), .address = 1 };
	frames[1].name = STR("g");
	frames[2].module = STR("n");
	frames[3].address = 2;
	frames[4].build_id = STR("ab");
	frames[5].line = 3;
	frames[6].system_name = STR("_f");
	frames[7].kind = FUNCTION_INTERPRETER;
	for (size_t i = 0; i < ARRAY_LENGTH(frames); i++) {
		const struct frame_list list = { &frames[i], 1 };

		stacks[i] = stack_table_add(table, CU_MEM_ALLOC_V2, &list, NULL);
		for (size_t j = 0; j < i; j++)
			assert_int_not_equal(stacks[i], stacks[j]);
	}
}

static void a_call_whose_stack_was_left_out_is_like_another(void **state)
{
	struct stack_table *table = stack_table_new(1 << 20);
	const uint32_t stack = STACK_OF(table, "leaf", "main");
	const uint32_t sampled = stack_table_sampled(table, CU_MEM_ALLOC_V2, stack);
	const struct stack_node *node = stack_table_node(table, sampled);

	(void)state;
	assert_name(table, sampled, "cuMemAlloc_v2");
	assert_name(table, node->parent, "[sampled]");
	assert_int_equal(stack_table_node(table, node->parent)->parent,
	                 stack_table_node(table, stack)->parent);
	assert_int_equal(stack_table_sampled(table, CU_MEM_ALLOC_V2, stack), sampled);
	/* like none that is known */
	assert_int_equal(stack_table_sampled(table, CU_MEM_ALLOC_V2, STACK_LOST),
	                 stack_lost(CU_MEM_ALLOC_V2));
	stack_table_check(table);
	stack_table_free(table);
}

static void what_is_not_known_is_a_lost_stack(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	const uint32_t lost = stack_table_add(table, CU_MEM_ALLOC_V2, NULL, NULL);

	(void)state;
	assert_int_equal(lost, stack_lost(CU_MEM_ALLOC_V2));
	assert_name(table, lost, "cuMemAlloc_v2");
	assert_int_equal(stack_table_node(table, lost)->parent, STACK_LOST);
	assert_name(table, STACK_LOST, "[stack lost]");
}

static void a_full_table_loses_new_stacks_only(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(128 << 10);
	const uint32_t known = STACK_OF(table, "a", "main");
	char name[32];
	uint32_t stack = known;
	int count = 0;

	(void)state;
	while (stack_table_overflows(table) == 0) {
		(void)snprintf(name, sizeof(name), "function%d", count++);
		stack = STACK_OF(table, name, "main");
	}
	assert_int_equal(stack, stack_lost(CU_MEM_ALLOC_V2));
	assert_true(count > 50);
	assert_true(stack_table_bytes(table) <= 128 << 10);
	stack_table_check(table);
}

static void a_deep_stack_keeps_both_ends(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(8 << 20);
	char texts[FRAMES_MAX][8];
	const char *names[FRAMES_MAX];
	size_t omitted = 0;
	uint32_t stack;

	(void)state;
	for (size_t i = 0; i < FRAMES_MAX; i++) {
		(void)snprintf(texts[i], sizeof(texts[i]), "f%zu", i);
		names[i] = texts[i];
	}
	/* with the driver's, as many as a stack may have */
	stack = stack_of(table, names, STACK_DEPTH_MAX - 1);
	assert_int_equal(stack_table_node(table, stack)->depth, STACK_DEPTH_MAX);
	stack = stack_of(table, names, FRAMES_MAX);
	assert_int_equal(stack_table_node(table, stack)->depth, STACK_DEPTH_MAX);
	assert_name(table, stack_table_node(table, stack)->parent, "f0");
	for (;;) {
		omitted += str_equals(name_of(table, stack), "[frames left out]");
		if (stack_table_node(table, stack)->parent == STACK_NONE)
			break;
		stack = stack_table_node(table, stack)->parent;
	}
	assert_int_equal(omitted, 1);
	assert_name(table, stack, "f1023");
	stack_table_check(table);
}

static void names_are_made_fit_to_store(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	char longer[3 * STACK_STRING_MAX];
	struct frame frames[2] = { { .name = STR("bad\xff"
		                                 "byte") } };
	const struct frame_list list = { frames, 2 };
	uint32_t stack;

	(void)state;
	memset(longer, 0xc3, sizeof(longer)); /* never a whole character */
	frames[1].name = str_make(longer, sizeof(longer));
	stack = stack_table_add(table, CU_MEM_ALLOC_V2, &list, NULL);
	stack_table_check(table);
	stack = stack_table_node(table, stack)->parent;
	assert_name(table, stack,
	            "bad\xef\xbf\xbd"
	            "byte");
	stack = stack_table_node(table, stack)->parent;
	assert_true(name_of(table, stack).length <= STACK_STRING_MAX);
	assert_true(name_of(table, stack).length > STACK_STRING_MAX - 3);
}

static void shrinking_keeps_what_is_marked(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(64 << 20);
	enum {
		COUNT = 10000
	};
	uint32_t *stacks = calloc(COUNT, sizeof(*stacks));
	uint32_t *numbers = NULL;
	uint8_t *marks;
	char name[32];

	(void)state;
	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(name, sizeof(name), "function%d", i);
		stacks[i] = STACK_OF(table, name, "main");
	}
	marks = stack_table_marks(table);
	for (int i = 0; i < COUNT; i++)
		marks[stacks[i]] = 1;
	stack_table_shrink(table, marks, &numbers);
	assert_null(numbers); /* all is in use */

	marks = stack_table_marks(table);
	for (int i = 0; i < COUNT; i += 100)
		marks[stacks[i]] = 1;
	stack_table_shrink(table, marks, &numbers);
	assert_non_null(numbers);
	stack_table_check(table);
	for (int i = 0; i < COUNT; i++) {
		if (i % 100 != 0) {
			assert_int_equal(numbers[stacks[i]], STACK_NONE);
			continue;
		}
		(void)snprintf(name, sizeof(name), "function%d", i);
		assert_name(table, stack_table_node(table, numbers[stacks[i]])->parent, name);
		assert_int_equal(STACK_OF(table, name, "main"), numbers[stacks[i]]);
	}
	assert_int_equal(numbers[stack_lost(CU_MEM_ALLOC_V2)], stack_lost(CU_MEM_ALLOC_V2));
	free(numbers);
	free(stacks);
}

/* One that makes stacks without end leaves room for others, and those that it knows stay. */
static void who_makes_many_leaves_room(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 20);
	struct frame frame = { .name = STR("f"), .kind = FUNCTION_NATIVE };
	const struct frame_list list = { &frame, 1 };
	const uint32_t lost = stack_lost(CU_MEM_ALLOC_V2);
	size_t shares[3] = { 0 };
	uint32_t first = 0;
	uint32_t stack;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(shares); i++) {
		size_t added = 0;

		for (frame.address = (i + 1) << 32;; frame.address++) {
			stack = stack_table_add(table, CU_MEM_ALLOC_V2, &list, &shares[i]);
			if (stack == lost)
				break;
			if (added++ == 0 && i == 0)
				first = stack;
		}
		assert_true(added > 100);
		assert_true(stack_table_overflows(table) == i + 1);
	}
	assert_true(shares[0] > shares[1] && shares[1] > shares[2]);
	frame.address = UINT64_C(1) << 32;
	assert_int_equal(stack_table_add(table, CU_MEM_ALLOC_V2, &list, &shares[2]), first);
	stack_table_check(table);
}

/* Where there is no room at all, what is there is found all the same. */
static void a_full_table_knows_its_stacks(void **state)
{
	CLEANUP(stack_table_freep) struct stack_table *table = stack_table_new(1 << 18);
	struct frame frames[STACK_DEPTH_MAX + 100] = { 0 };
	const struct frame_list deep = { frames, ARRAY_LENGTH(frames) };
	struct frame other = { .name = STR("other"), .kind = FUNCTION_NATIVE };
	const struct frame_list one = { &other, 1 };
	uint32_t stack;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(frames); i++)
		frames[i] = (struct frame){ .name = STR("deep"), .address = i };
	stack = stack_table_add(table, CU_MEM_ALLOC_V2, &deep, NULL);
	assert_true(stack > stack_lost(CU_MEM_ALLOC_V2));
	while (stack_table_overflows(table) == 0) {
		other.address++;
		(void)stack_table_add(table, CU_MEM_ALLOC_V2, &one, NULL);
	}
	assert_int_equal(stack_table_add(table, CU_MEM_ALLOC_V2, &deep, NULL), stack);
	assert_int_equal(stack_table_overflows(table), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_makes_many_leaves_room),
		cmocka_unit_test(a_full_table_knows_its_stacks),
		cmocka_unit_test(a_stack_ends_in_the_driver),
		cmocka_unit_test(equal_stacks_are_one),
		cmocka_unit_test(a_frame_is_all_that_is_known_of_it),
		cmocka_unit_test(a_call_whose_stack_was_left_out_is_like_another),
		cmocka_unit_test(what_is_not_known_is_a_lost_stack),
		cmocka_unit_test(a_full_table_loses_new_stacks_only),
		cmocka_unit_test(a_deep_stack_keeps_both_ends),
		cmocka_unit_test(names_are_made_fit_to_store),
		cmocka_unit_test(shrinking_keeps_what_is_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
