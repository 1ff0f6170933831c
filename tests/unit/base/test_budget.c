#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/budget.h"
#include "base/cleanup.h"

#define THREADS 4
#define ROUNDS  20000

static void it_says_no_past_the_limit_and_changes_nothing(void **state)
{
	struct budget budget;

	(void)state;
	budget_init(&budget, 100);
	assert_true(budget_take(&budget, 60));
	assert_false(budget_take(&budget, 41));
	assert_int_equal(budget_used(&budget), 60);
	assert_true(budget_take(&budget, 40));
	assert_true(budget_take(&budget, 0));
	assert_false(budget_take(&budget, 1));
	budget_give(&budget, 100);
	assert_int_equal(budget_used(&budget), 0);
}

static void sums_that_would_wrap_are_refused(void **state)
{
	struct budget budget;

	(void)state;
	budget_init(&budget, SIZE_MAX);
	assert_true(budget_take(&budget, 10));
	assert_false(budget_take(&budget, SIZE_MAX));
	assert_true(budget_take(&budget, SIZE_MAX - 10));
	assert_false(budget_take(&budget, 1));
}

static size_t take_all(struct budget *budget)
{
	size_t taken = 0;

	while (budget_take(budget, 1))
		taken++;
	return taken;
}

static void shares_leave_something(void **state)
{
	struct budget whole;
	struct budget shares[3];

	(void)state;
	budget_init(&whole, 1000);
	for (size_t i = 0; i < ARRAY_LENGTH(shares); i++)
		budget_init_share(&shares[i], &whole);
	assert_int_equal(take_all(&shares[0]), 500); /* and 500 are left */
	assert_int_equal(take_all(&shares[1]), 250);
	assert_int_equal(take_all(&shares[2]), 125);
	assert_int_equal(budget_used(&whole), 875);
	assert_true(budget_take(&whole, 125)); /* it is no share itself */
	budget_give(&whole, 125);
	budget_give(&shares[0], 500);
	assert_int_equal(budget_used(&shares[0]), 0);
	assert_int_equal(take_all(&shares[1]), 437 - 250); /* half of what is not the third's */
	budget_give(&shares[1], 437);
	budget_give(&shares[2], 125);
	assert_int_equal(budget_used(&whole), 0);
}

/* Takes and gives; returns how often the budget was seen past its limit. */
static void *take_and_give(void *context)
{
	struct budget *budget = context;
	uintptr_t past = 0;

	for (int i = 0; i < ROUNDS; i++) {
		if (!budget_take(budget, 7))
			continue;
		past += budget_used(budget) > budget->limit;
		budget_give(budget, 7);
	}
	return (void *)past; // NOLINT(performance-no-int-to-ptr)
}

static void threads_never_take_more_than_the_limit(void **state)
{
	struct budget budget;
	pthread_t threads[THREADS];

	(void)state;
	budget_init(&budget, 7 * (THREADS - 1));
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, take_and_give, &budget), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
		void *past;

		assert_int_equal(pthread_join(threads[i], &past), 0);
		assert_null(past);
	}
	assert_int_equal(budget_used(&budget), 0);
}

/* What somebody else has taken of the whole counts in a share, once. */
static void bytes_of_others_count_in_a_share_alone(void **state)
{
	struct budget whole;
	struct budget share;

	(void)state;
	budget_init(&whole, 100);
	budget_init_share(&share, &whole);
	assert_true(budget_take(&whole, 40));
	assert_true(budget_count(&share, 40));
	assert_int_equal(budget_used(&whole), 40);
	assert_false(budget_count(&share, 21)); /* 60 are left of the whole */
	assert_false(budget_take(&share, 11));  /* 49 would be left, for 51 */
	assert_true(budget_take(&share, 10));
	assert_int_equal(budget_used(&whole), 50);
	budget_uncount(&share, 40);
	assert_int_equal(budget_used(&share), 10);
	assert_int_equal(budget_used(&whole), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_no_past_the_limit_and_changes_nothing),
		cmocka_unit_test(sums_that_would_wrap_are_refused),
		cmocka_unit_test(shares_leave_something),
		cmocka_unit_test(threads_never_take_more_than_the_limit),
		cmocka_unit_test(bytes_of_others_count_in_a_share_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
