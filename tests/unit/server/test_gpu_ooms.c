#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "fake_store.h"
#include "server/query/gpu_ooms.h"

#define LIMIT   ((size_t)16 << 20)
#define START_S INT64_C(1767225600)
#define OOM     "__profile_type__=gpu_memory_oom:requested_space:bytes:space:bytes,hostname=n"

static int64_t ns(int64_t second)
{
	return (START_S + second) * NS_PER_S;
}

static struct gpu_oom_list list(struct fake_store *fake, const char *selector, struct arena *arena)
{
	CLEANUP(gpu_question_fini) struct gpu_question question;
	const struct read_query_context context = { .store = &fake->store, .arena = arena };
	struct gpu_oom_list list = { 0 };
	struct error err = { 0 };

	gpu_question_init(&question, &context);
	if (gpu_question_set_range(&question, START_S * 1000, (START_S + 100) * 1000, &err) < 0 ||
	    gpu_question_set_selector(&question, str_of(selector), &err) < 0 ||
	    gpu_ooms_list(&question, STR(""), 10, &list, &err) < 0)
		fail_msg("%s", err.message);
	return list;
}

/* Its labels are those of a heartbeat; only ticks are heartbeats. */
static void an_oom_of_a_service_named_as_the_collector_is_one(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct fake_profile profiles[] = {
		{ OOM ",service_name=vramscope-collector", ns(10), 7, "f" },
	};
	struct fake_store fake;
	struct gpu_oom_list found;

	(void)state;
	fake_store_init(&fake, profiles, ARRAY_LENGTH(profiles));
	found = list(&fake, "", arena);
	assert_int_equal(found.count, 1);
	assert_true(str_equals(found.events[0].id, "n:vramscope-collector:1767225610000"));
	assert_int_equal(found.events[0].requested_bytes, 7);
	assert_true(str_equals(label_set_value(&found.events[0].labels, STR("service_name")),
	                       "vramscope-collector"));
}

static void the_newest_stand_first_and_each_has_its_labels(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	const struct fake_profile profiles[] = {
		{ OOM ",pid=1,service_name=a,gpu=0,cuda_error=X", ns(10), 7, "f" },
		{ OOM ",pid=2,service_name=b,gpu=1,recovered=true", ns(30), 8, "f" },
		{ OOM ",pid=1,service_name=a,gpu=0,cuda_error=X", ns(20), 9, "f" },
		{ OOM ",pid=3,service_name=c,gpu=0", ns(101), 1, "f" },
	};
	struct fake_store fake;
	struct gpu_oom_list found;

	(void)state;
	fake_store_init(&fake, profiles, ARRAY_LENGTH(profiles));
	found = list(&fake, "", arena);
	assert_int_equal(found.count, 3);
	assert_true(str_equals(found.events[0].id, "n:2:1767225630000"));
	assert_true(str_equals(found.events[0].gpu, "1"));
	assert_int_equal(found.events[0].recovery, GPU_OOM_RECOVERED);
	assert_true(str_equals(found.events[1].id, "n:1:1767225620000"));
	assert_true(str_equals(found.events[1].cuda_error, "X"));
	assert_int_equal(found.events[2].requested_bytes, 7);
	found = list(&fake, "{service_name=\"a\"}", arena);
	assert_int_equal(found.count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_oom_of_a_service_named_as_the_collector_is_one),
		cmocka_unit_test(the_newest_stand_first_and_each_has_its_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
