#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/node_index.h"

#define NODES 200000 /* several rebuilds, several chunks of the column */

static void add(struct column *column, uint32_t id, uint32_t parent, uint32_t location)
{
	struct symbol_stack *stack = column_add(column, id);

	*stack = (struct symbol_stack){ .parent = parent, .location = location };
}

static uint32_t parent_of(uint32_t id)
{
	return id / 3; /* smaller than id; most have three children */
}

static void nodes_are_found_by_parent_and_location(void **state)
{
	struct column column;
	struct node_index index;

	(void)state;
	column_init(&column, sizeof(struct symbol_stack));
	add(&column, 0, 0, 0);
	node_index_init(&index, &column, 42, 1);
	for (uint32_t id = 1; id < NODES; id++) {
		assert_int_equal(node_index_find(&index, parent_of(id), id % 7), 0);
		add(&column, id, parent_of(id), id % 7);
		node_index_add(&index, id);
		node_index_settle(&index);
	}
	for (uint32_t id = 1; id < NODES; id++)
		assert_int_equal(node_index_find(&index, parent_of(id), id % 7), id);
	assert_int_equal(node_index_find(&index, 1, 7), 0);
	node_index_fini(&index);
	column_fini(&column);
}

static void an_index_of_a_column_has_all_its_nodes(void **state)
{
	struct column column;
	struct node_index index;

	(void)state;
	column_init(&column, sizeof(struct symbol_stack));
	for (uint32_t id = 0; id < 1000; id++)
		add(&column, id, parent_of(id), id);
	node_index_init(&index, &column, 7, 1000);
	for (uint32_t id = 1; id < 1000; id++)
		assert_int_equal(node_index_find(&index, parent_of(id), id), id);
	assert_int_equal(node_index_find(&index, 0, 0), 0); /* the root is not in it */
	node_index_fini(&index);
	column_fini(&column);
}

static void more_nodes_may_wait_than_there_are_places(void **state)
{
	struct column column;
	struct node_index index;

	(void)state;
	column_init(&column, sizeof(struct symbol_stack));
	add(&column, 0, 0, 0);
	node_index_init(&index, &column, 1, 1);
	for (uint32_t id = 1; id <= NODE_INDEX_PENDING * 3; id++) {
		add(&column, id, id - 1, 5);
		node_index_add(&index, id);
	}
	node_index_settle(&index);
	for (uint32_t id = 1; id <= NODE_INDEX_PENDING * 3; id++)
		assert_int_equal(node_index_find(&index, id - 1, 5), id);
	node_index_fini(&index);
	column_fini(&column);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_found_by_parent_and_location),
		cmocka_unit_test(an_index_of_a_column_has_all_its_nodes),
		cmocka_unit_test(more_nodes_may_wait_than_there_are_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
