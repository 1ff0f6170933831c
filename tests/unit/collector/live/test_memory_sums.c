#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/live/memory_sums.h"
#include "collector/live/stack_table.h"

static void a_sum_is_of_a_stack_and_a_class(void **state)
{
	struct budget budget;
	struct memory_sums sums;
	uint32_t device;

	(void)state;
	budget_init(&budget, 1 << 20);
	memory_sums_init(&sums, &budget);
	device = memory_sums_find(&sums, &(struct memory_place){ 77, CUDA_CLASS_DEVICE, 0 });
	assert_int_equal(memory_sums_find(&sums,
	                                  &(struct memory_place){ 77, CUDA_CLASS_DEVICE, 0 }),
	                 device);
	assert_int_not_equal(memory_sums_find(&sums,
	                                      &(struct memory_place){ 77, CUDA_CLASS_PINNED, 0 }),
	                     device);
	assert_int_not_equal(memory_sums_find(&sums,
	                                      &(struct memory_place){ 78, CUDA_CLASS_DEVICE, 0 }),
	                     device);
	assert_int_equal(memory_sums_find(&sums,
	                                  &(struct memory_place){ STACK_LOST, CUDA_CLASS_POOL, 0 }),
	                 CUDA_CLASS_POOL);
	memory_sums_check(&sums);
	memory_sums_fini(&sums);
}

static void without_room_a_stack_is_lost(void **state)
{
	struct budget budget;
	struct memory_sums sums;
	uint32_t stack = 100;

	(void)state;
	budget_init(&budget, 100);
	memory_sums_init(&sums, &budget);
	while (memory_sums_find(&sums, &(struct memory_place){ stack, CUDA_CLASS_VMM, 0 }) >=
	       CUDA_CLASS_COUNT)
		stack++;
	assert_int_equal(memory_sums_find(&sums,
	                                  &(struct memory_place){ stack, CUDA_CLASS_VMM, 0 }),
	                 CUDA_CLASS_VMM);
	assert_int_equal(memory_sums_find(&sums, &(struct memory_place){ 100, CUDA_CLASS_VMM, 0 }),
	                 CUDA_CLASS_COUNT);
	memory_sums_check(&sums);
	memory_sums_fini(&sums);
	assert_int_equal(budget_used(&budget), 0);
}

static void rebuilding_drops_what_says_nothing(void **state)
{
	enum {
		COUNT = 1000
	};
	struct budget budget;
	struct memory_sums sums;
	uint32_t *stack_numbers = calloc(COUNT + 100, sizeof(*stack_numbers));
	uint32_t *numbers;

	(void)state;
	budget_init(&budget, 1 << 20);
	memory_sums_init(&sums, &budget);
	for (uint32_t i = 100; i < 100 + COUNT; i++) {
		struct memory_sum *sum = memory_sums_at(
			&sums,
			memory_sums_find(&sums, &(struct memory_place){ i, CUDA_CLASS_DEVICE, 0 }));

		stack_numbers[i] = i % 10 == 0 ? i + 5000 : STACK_NONE;
		sum->live_objects = i % 10 == 0;
		sum->live_bytes = i % 10 == 0 ? i : 0;
	}
	memory_sums_rebuild(&sums, stack_numbers, &numbers);
	assert_non_null(numbers);
	assert_int_equal(memory_sums_count(&sums), CUDA_CLASS_COUNT + COUNT / 10);
	assert_true(memory_sums_find(&sums, &(struct memory_place){ 5110, CUDA_CLASS_DEVICE, 0 }) ==
	            numbers[CUDA_CLASS_COUNT + 10]);
	assert_true(memory_sums_at(&sums, numbers[CUDA_CLASS_COUNT + 10])->live_bytes == 110);
	assert_int_equal(numbers[CUDA_CLASS_COUNT + 11], UINT32_MAX);
	for (uint32_t i = 0; i < CUDA_CLASS_COUNT; i++)
		assert_int_equal(numbers[i], i);
	memory_sums_check(&sums);
	free(numbers);
	memory_sums_rebuild(&sums, NULL, &numbers);
	assert_null(numbers); /* nothing to gain */
	free(stack_numbers);
	memory_sums_fini(&sums);
	assert_int_equal(budget_used(&budget), 0);
}

static void deltas_begin_anew_and_live_bytes_stay(void **state)
{
	struct budget budget;
	struct memory_sums sums;
	struct memory_sum *sum;

	(void)state;
	budget_init(&budget, 1 << 20);
	memory_sums_init(&sums, &budget);
	sum = memory_sums_at(
		&sums, memory_sums_find(&sums, &(struct memory_place){ 9, CUDA_CLASS_DEVICE, 0 }));
	sum->alloc_bytes = sum->live_bytes = 10;
	sum->alloc_objects = sum->live_objects = 1;
	memory_sums_sent(&sums);
	assert_true(sum->alloc_bytes == 0 && sum->alloc_objects == 0);
	assert_true(sum->live_bytes == 10 && sum->live_objects == 1);
	memory_sums_fini(&sums);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sum_is_of_a_stack_and_a_class),
		cmocka_unit_test(without_room_a_stack_is_lost),
		cmocka_unit_test(rebuilding_drops_what_says_nothing),
		cmocka_unit_test(deltas_begin_anew_and_live_bytes_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
