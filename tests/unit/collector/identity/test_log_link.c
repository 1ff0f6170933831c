#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/identity/log_link.h"

#define ID  "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define UID "9d6c1c5e-7a0b-4f3e-8c21-0f1e2d3c4b5a"

static void the_link_of_a_log_names_pod_and_container(void **state)
{
	struct container_facts facts;

	(void)state;
	assert_true(log_link_read(STR("llm-0_prod_train-gpu-" ID ".log"), ID, &facts));
	assert_string_equal(facts.pod.text, "llm-0");
	assert_string_equal(facts.pod_namespace.text, "prod");
	assert_string_equal(facts.container.text, "train-gpu");
	assert_string_equal(facts.name.text, "");
}

static void names_of_another_kind_say_nothing(void **state)
{
	static const char *const names[] = {
		"",
		".log",
		ID ".log",
		"-" ID ".log",
		"llm-0_prod_train-" ID,
		"llm-0_prod_train-" ID ".txt",
		"llm-0_prod_train" ID ".log",
		"llm-0_prod-" ID ".log",
		"llm-0_prod_a_b-" ID ".log",
		"_prod_train-" ID ".log",
		"llm-0__train-" ID ".log",
		"llm-0_prod_-" ID ".log",
	};
	struct container_facts facts = { .pod = { "as it was" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		assert_false(log_link_read(str_of(names[i]), ID, &facts));
	assert_string_equal(facts.pod.text, "as it was");
}

static void the_folder_of_its_logs_names_a_pod(void **state)
{
	static const char *const others[] = { "prod_llm-0", "prod_llm-0_" UID "_x", "_llm-0_" UID,
		                              "prod__" UID, "prod_llm-0_8f14e45fceea" };
	struct container_facts facts;

	(void)state;
	assert_true(log_link_read_folder(STR("prod_llm-0_" UID), UID, &facts));
	assert_string_equal(facts.pod.text, "llm-0");
	assert_string_equal(facts.pod_namespace.text, "prod");
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++)
		assert_false(log_link_read_folder(str_of(others[i]), UID, &facts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_link_of_a_log_names_pod_and_container),
		cmocka_unit_test(names_of_another_kind_say_nothing),
		cmocka_unit_test(the_folder_of_its_logs_names_a_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
