#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/live/range_tree.h"

struct fixture {
	struct range_tree tree;
	struct budget budget;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	budget_init(&fixture->budget, (size_t)64 << 20);
	range_tree_init(&fixture->tree, &fixture->budget);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	int leaked;

	range_tree_fini(&fixture->tree);
	leaked = budget_used(&fixture->budget) != 0;
	free(fixture);
	return leaked;
}

static bool put(struct fixture *fixture, uint64_t start, uint64_t bytes, uint32_t number)
{
	return range_tree_put(&fixture->tree, &(struct address_range){ .start = start,
	                                                               .bytes = bytes,
	                                                               .number = number });
}

/* The number of what is found, 0: nothing. */
static uint32_t found(const struct fixture *fixture, uint64_t address)
{
	const struct address_range *range = range_tree_find(&fixture->tree, address);

	return range ? range->number : 0;
}

static void an_address_leads_to_its_range_or_the_next(void **state)
{
	struct fixture *fixture = *state;
	struct address_range gone;

	assert_int_equal(found(fixture, 0), 0);
	assert_true(put(fixture, 100, 10, 1));
	assert_true(put(fixture, 110, 10, 2)); /* side by side */
	assert_true(put(fixture, UINT64_MAX - 5, range_bytes(UINT64_MAX - 5, 100), 3));
	assert_int_equal(found(fixture, 0), 1);
	assert_int_equal(found(fixture, 100), 1);
	assert_int_equal(found(fixture, 109), 1);
	assert_int_equal(found(fixture, 110), 2);
	assert_int_equal(found(fixture, 120), 3);
	assert_int_equal(found(fixture, UINT64_MAX - 1), 3);
	assert_int_equal(found(fixture, UINT64_MAX), 0); /* no range ends behind that */
	range_tree_check(&fixture->tree);
	assert_false(range_tree_take(&fixture->tree, 101, &gone));
	assert_true(range_tree_take(&fixture->tree, 110, &gone));
	assert_int_equal(gone.number, 2);
	assert_int_equal(found(fixture, 110), 3);
	range_tree_check(&fixture->tree);
}

static void without_room_nothing_is_put(void **state)
{
	struct fixture *fixture = *state;
	uint64_t count = 0;

	fixture->budget.limit = 10000;
	while (put(fixture, count * 10, 10, 1))
		count++;
	assert_true(count > 100); /* 40 bytes each, and room doubles */
	assert_int_equal(fixture->tree.count, count);
	range_tree_check(&fixture->tree);
}

static void what_is_empty_takes_no_memory(void **state)
{
	struct fixture *fixture = *state;
	struct address_range gone;

	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 1000; i++)
			assert_true(put(fixture, i * 10, 10, 1));
		assert_true(budget_used(&fixture->budget) >= 1000 * sizeof(gone));
		for (uint64_t i = 1000; i-- > 0;)
			assert_true(range_tree_take(&fixture->tree, i * 10, &gone));
		assert_int_equal(budget_used(&fixture->budget), 0);
		range_tree_check(&fixture->tree);
	}
}

/* How deep the deepest node is; the tree has no more than `count` nodes. */
static size_t depth_of(const struct range_tree *tree)
{
	struct {
		uint32_t node;
		size_t depth;
	} *left = calloc(tree->count + 1, sizeof(*left));
	size_t waiting = 0;
	size_t deepest = 0;

	left[waiting].node = tree->root;
	left[waiting++].depth = 1;
	while (waiting > 0) {
		const struct address_range *node = &tree->nodes[left[--waiting].node];
		const size_t depth = left[waiting].depth;
		const uint32_t parts[] = { node->left, node->right };

		deepest = depth > deepest ? depth : deepest;
		for (int i = 0; i < 2; i++) {
			if (parts[i] == 0)
				continue;
			left[waiting].node = parts[i];
			left[waiting++].depth = depth + 1;
		}
	}
	free(left);
	return deepest;
}

/*
 * A tree of n random priorities is as one of n keys in random order: more than 4.31 ln n deep
 * next to never (Devroye 1986): 50 for 100,000.
 */
static void no_order_makes_it_deep(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < 100000; i++)
		assert_true(put(fixture, i * 4096, 4096, 1));
	assert_in_range(depth_of(&fixture->tree), 17, 60);
}

/* ---- random steps against a plain list ---- */

#define PLACES 64
#define STEPS  200000

static void random_steps_leave_what_a_plain_list_has(void **state)
{
	struct fixture *fixture = *state;
	uint32_t numbers[PLACES] = { 0 };

	srand(7); /* NOLINT: the same sequence each time */
	for (uint32_t step = 1; step <= STEPS; step++) {
		const size_t place = (size_t)rand() % PLACES; /* NOLINT */
		const uint64_t start = 1000 + place * 10;
		struct address_range gone;
		uint32_t next = 0;

		if (numbers[place] == 0) {
			assert_true(put(fixture, start, 5, step));
			numbers[place] = step;
		} else {
			assert_true(range_tree_take(&fixture->tree, start, &gone));
			assert_int_equal(gone.number, numbers[place]);
			numbers[place] = 0;
		}
		for (size_t i = place; i < PLACES && next == 0; i++)
			next = numbers[i];
		assert_int_equal(found(fixture, start + 4), next);
		if (step % 1000 == 0)
			range_tree_check(&fixture->tree);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(an_address_leads_to_its_range_or_the_next),
		TEST(without_room_nothing_is_put),
		TEST(what_is_empty_takes_no_memory),
		TEST(no_order_makes_it_deep),
		TEST(random_steps_leave_what_a_plain_list_has),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
