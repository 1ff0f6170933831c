#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "profile/profile_type.h"

static struct profile_type parsed(const char *id)
{
	struct profile_type type;
	struct error err;

	assert_int_equal(profile_type_parse(str_of(id), &type, &err), 0);
	return type;
}

static void an_id_has_five_parts_and_a_sixth_is_ignored(void **state)
{
	static const char *const ids[] = {
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(ids); i++) {
		const struct profile_type type = parsed(ids[i]);

		assert_true(str_equals(type.name, "process_cpu"));
		assert_true(str_equals(type.sample_type, "cpu"));
		assert_true(str_equals(type.sample_unit, "nanoseconds"));
		assert_true(str_equals(type.period_type, "cpu"));
		assert_true(str_equals(type.period_unit, "nanoseconds"));
	}
}

static void parts_may_be_empty(void **state)
{
	const struct profile_type type = parsed("process_cpu:malloc:bytes::");

	(void)state;
	assert_true(str_equals(type.sample_type, "malloc"));
	assert_true(str_equals(type.period_type, ""));
	assert_true(str_equals(type.period_unit, ""));
	assert_true(str_equals(parsed("::::").name, ""));
}

static void another_number_of_parts_is_refused_in_the_references_words(void **state)
{
	static const struct {
		const char *id;
		const char *message;
	} cases[] = {
		{ "cpu", "profile-type selection must be of the form "
		         "<name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>(:delta), "
		         "got(1): \"cpu\"" },
		{ "", "profile-type selection must be of the form "
		      "<name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>(:delta), "
		      "got(1): \"\"" },
		{ "a:b:c:d:e:f:g", "profile-type selection must be of the form "
		                   "<name>:<sample-type>:<sample-unit>:<period-type>:<period-unit>"
		                   "(:delta), got(7): \"a:b:c:d:e:f:g\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct profile_type type;
		struct error err = { 0 };

		assert_int_equal(profile_type_parse(str_of(cases[i].id), &type, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void the_id_of_a_type_is_its_five_parts(void **state)
{
	const struct profile_type type = parsed("a:b:c::e:f");
	CLEANUP(arena_freep) struct arena *arena = arena_new(1 << 16, NULL);

	(void)state;
	assert_true(str_equals(profile_type_id(&type, arena), "a:b:c::e"));
}

static void gauges_merge_by_their_own_rule(void **state)
{
	static const struct {
		const char *id;
		bool instant;
		enum profile_merge mean;
		enum profile_merge last;
	} cases[] = {
		{ "process_cpu:cpu:nanoseconds:cpu:nanoseconds", false, PROFILE_MERGE_SUM,
		  PROFILE_MERGE_SUM },
		{ "memory:alloc_space:bytes:space:bytes", false, PROFILE_MERGE_SUM,
		  PROFILE_MERGE_SUM },
		{ "memory:inuse_space:bytes:space:bytes", true, PROFILE_MERGE_MEAN,
		  PROFILE_MERGE_LAST },
		{ "goroutine:goroutine:count:goroutine:count", true, PROFILE_MERGE_MEAN,
		  PROFILE_MERGE_LAST },
		{ "goroutines:goroutine:count:goroutine:count", true, PROFILE_MERGE_MEAN,
		  PROFILE_MERGE_LAST },
		{ "memory:live:count:objects:count", true, PROFILE_MERGE_MEAN, PROFILE_MERGE_LAST },
		{ "gpu_memory_peak:peak_space:bytes:space:bytes", true, PROFILE_MERGE_MAX,
		  PROFILE_MERGE_LAST },
		{ "gpu_memory_oom:requested_space:bytes:space:bytes", false, PROFILE_MERGE_SUM,
		  PROFILE_MERGE_SUM },
		{ "gpu_memory_oom:device_total_space:bytes:space:bytes", true, PROFILE_MERGE_MAX,
		  PROFILE_MERGE_LAST },
		{ "gpu_memory_device:device_used_space:bytes:space:bytes", true, PROFILE_MERGE_MEAN,
		  PROFILE_MERGE_LAST },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct profile_type type = parsed(cases[i].id);

		assert_int_equal(profile_type_is_instant(&type), cases[i].instant);
		assert_int_equal(profile_type_merge(&type, PROFILE_MERGE_MEAN), cases[i].mean);
		assert_int_equal(profile_type_merge(&type, PROFILE_MERGE_LAST), cases[i].last);
		assert_int_equal(profile_type_merge(&type, PROFILE_MERGE_SUM), PROFILE_MERGE_SUM);
	}
}

static void merges_have_four_names(void **state)
{
	enum profile_merge merge;

	(void)state;
	assert_true(profile_merge_parse(STR("sum"), &merge));
	assert_int_equal(merge, PROFILE_MERGE_SUM);
	assert_true(profile_merge_parse(STR("mean"), &merge));
	assert_int_equal(merge, PROFILE_MERGE_MEAN);
	assert_true(profile_merge_parse(STR("last"), &merge));
	assert_int_equal(merge, PROFILE_MERGE_LAST);
	assert_true(profile_merge_parse(STR("max"), &merge));
	assert_int_equal(merge, PROFILE_MERGE_MAX);
	assert_false(profile_merge_parse(STR("average"), &merge));
	assert_false(profile_merge_parse(STR(""), &merge));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_has_five_parts_and_a_sixth_is_ignored),
		cmocka_unit_test(parts_may_be_empty),
		cmocka_unit_test(another_number_of_parts_is_refused_in_the_references_words),
		cmocka_unit_test(the_id_of_a_type_is_its_five_parts),
		cmocka_unit_test(gauges_merge_by_their_own_rule),
		cmocka_unit_test(merges_have_four_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
