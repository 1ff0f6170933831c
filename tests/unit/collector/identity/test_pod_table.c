#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/identity/pod_table.h"

static void put(struct pod_table *table, const char *uid, const char *name, const char *container)
{
	struct pod_record record = { .pod_namespace = { "prod" } };

	(void)snprintf(record.uid, sizeof(record.uid), "%s", uid);
	assert_true(label_text_set(&record.name, str_of(name)));
	if (container) {
		record.containers = mem_zalloc(1, sizeof(struct pod_container));
		record.container_count = 1;
		(void)snprintf(record.containers[0].id, sizeof(record.containers[0].id), "c-%s",
		               uid);
		assert_true(label_text_set(&record.containers[0].name, str_of(container)));
	}
	pod_table_put(table, &record);
	assert_null(record.containers); /* it is the table's now */
}

static bool find(struct pod_table *table, const char *uid, const char *container_id,
                 struct pod_facts *out)
{
	return pod_table_find(
		table, &(struct pod_question){ .uid = uid, .container_id = container_id }, out);
}

static void a_pod_is_found_by_its_uid_or_its_name(void **state)
{
	CLEANUP(pod_table_freep) struct pod_table *table = pod_table_new();
	struct pod_record static_pod = { .uid = "u2",
		                         .static_uid = "8f14e45fceea167a5a36dedd4bea2543",
		                         .name = { "proxy" },
		                         .pod_namespace = { "kube-system" } };
	struct pod_facts facts;

	(void)state;
	put(table, "u1", "llm-0", "train");
	pod_table_put(table, &static_pod);
	assert_true(find(table, "u1", "c-u1", &facts));
	assert_string_equal(facts.name.text, "llm-0");
	assert_string_equal(facts.container.text, "train");
	assert_true(find(table, "u1", "c-u2", &facts));
	assert_string_equal(facts.container.text, ""); /* not told yet */
	assert_true(find(table, "8f14e45fceea167a5a36dedd4bea2543", "", &facts));
	assert_string_equal(facts.name.text, "proxy");
	assert_false(find(table, "u3", "", &facts));
	assert_true(pod_table_find(table,
	                           &(struct pod_question){ .uid = "",
	                                                   .pod_namespace = STR("prod"),
	                                                   .name = STR("llm-0"),
	                                                   .container_id = "" },
	                           &facts));
	assert_false(pod_table_find(table,
	                            &(struct pod_question){ .uid = "",
	                                                    .pod_namespace = STR("dev"),
	                                                    .name = STR("llm-0"),
	                                                    .container_id = "" },
	                            &facts));
	/* nothing is asked for */
	assert_false(find(table, "", "", &facts));
}

static void a_newer_state_takes_the_place_of_the_older(void **state)
{
	CLEANUP(pod_table_freep) struct pod_table *table = pod_table_new();
	struct pod_facts facts;

	(void)state;
	put(table, "u1", "llm-0", NULL);
	put(table, "u2", "llm-1", "train");
	put(table, "u1", "llm-0", "train");
	assert_int_equal(pod_table_counts(table).pods, 2);
	assert_true(find(table, "u1", "c-u1", &facts));
	assert_string_equal(facts.container.text, "train");
	pod_table_remove(table, STR("u1"));
	pod_table_remove(table, STR("u1"));
	pod_table_remove(table, STR(""));
	assert_false(find(table, "u1", "", &facts));
	assert_true(find(table, "u2", "c-u2", &facts));
	assert_string_equal(facts.container.text, "train");
	assert_int_equal(pod_table_counts(table).pods, 1);
}

static void a_list_replaces_all(void **state)
{
	CLEANUP(pod_table_freep) struct pod_table *table = pod_table_new();
	CLEANUP(pod_table_freep) struct pod_table *list = pod_table_new();
	struct pod_facts facts;

	(void)state;
	put(table, "u1", "llm-0", "train");
	put(list, "u2", "llm-1", "train");
	pod_table_replace(table, list);
	assert_false(find(table, "u1", "", &facts));
	assert_true(find(table, "u2", "", &facts));
	assert_int_equal(pod_table_counts(list).pods, 0);
	put(list, "u3", "llm-2", NULL); /* it is a table still */
	assert_true(find(list, "u3", "", &facts));
}

static void a_table_has_a_bound(void **state)
{
	CLEANUP(pod_table_freep) struct pod_table *table = pod_table_new();
	struct pod_facts facts;

	(void)state;
	for (int i = 0; i < POD_TABLE_MAX + 3; i++) {
		char uid[16];

		(void)snprintf(uid, sizeof(uid), "u%d", i);
		put(table, uid, "llm", "train");
	}
	assert_int_equal(pod_table_counts(table).pods, POD_TABLE_MAX);
	assert_int_equal(pod_table_counts(table).refused, 3);
	assert_true(find(table, "u0", "", &facts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pod_is_found_by_its_uid_or_its_name),
		cmocka_unit_test(a_newer_state_takes_the_place_of_the_older),
		cmocka_unit_test(a_list_replaces_all),
		cmocka_unit_test(a_table_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
