#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/http/body.h"

static const char bytes[200 << 10];

static void a_body_grows_by_what_comes_and_not_by_what_is_announced(void **state)
{
	struct budget budget;
	struct body body;

	(void)state;
	budget_init(&budget, (size_t)1 << 30);
	body_init(&body, (size_t)1 << 30, (size_t)1 << 29, &budget);
	assert_int_equal(budget_used(&budget), 0);
	assert_true(body_add(&body, bytes, 10));
	assert_true(budget_used(&budget) <= 64 << 10);
	assert_true(body_add(&body, bytes, sizeof(bytes)));
	assert_true(budget_used(&budget) <= 2 * sizeof(bytes) + (64 << 10));
	assert_int_equal(body.length, sizeof(bytes) + 10);
	body_fini(&body);
	assert_int_equal(budget_used(&budget), 0);
}

static void a_body_that_keeps_its_word_takes_no_more(void **state)
{
	struct budget budget;
	struct body body;

	(void)state;
	budget_init(&budget, (size_t)1 << 30);
	body_init(&body, (size_t)1 << 30, 100, &budget);
	for (int i = 0; i < 10; i++)
		assert_true(body_add(&body, "0123456789", 10));
	assert_int_equal(budget_used(&budget), 100);
	assert_memory_equal(body.data + 90, "0123456789", 10);
	body_fini(&body);
}

static void limit_and_budget_are_told_apart(void **state)
{
	struct budget budget;
	struct body body;

	(void)state;
	budget_init(&budget, 100 << 10);
	body_init(&body, 10, 0, &budget);
	assert_true(body_add(&body, bytes, 10));
	assert_false(body_add(&body, bytes, 1));
	assert_false(body.starved);
	body_fini(&body);

	body_init(&body, (size_t)1 << 30, 0, &budget);
	assert_false(body_add(&body, bytes, sizeof(bytes)));
	assert_true(body.starved);
	body_fini(&body);
	assert_int_equal(budget_used(&budget), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_body_grows_by_what_comes_and_not_by_what_is_announced),
		cmocka_unit_test(a_body_that_keeps_its_word_takes_no_more),
		cmocka_unit_test(limit_and_budget_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
