#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "server/senders.h"

static void note(struct senders *senders, const char *tenant, const char *address,
                 const char *agent, int64_t time_ns)
{
	senders_note(senders, &(struct sender_note){ str_of(tenant), str_of(address), str_of(agent),
	                                             "/ingest", time_ns });
}

static void a_sender_is_counted_and_the_latest_comes_first(void **state)
{
	CLEANUP(senders_freep) struct senders *senders = senders_new();
	struct sender out[SENDERS_PER_ANSWER];

	(void)state;
	note(senders, "one", "10.0.0.1", "alloy", 5);
	note(senders, "one", "10.0.0.2", "alloy", 6);
	note(senders, "one", "10.0.0.1", "alloy", 9);
	note(senders, "one", "10.0.0.1", "curl", 7);
	note(senders, "two", "10.0.0.1", "alloy", 8);
	assert_int_equal(senders_list(senders, STR("one"), out, SENDERS_PER_ANSWER), 3);
	assert_string_equal(out[0].agent, "alloy");
	assert_string_equal(out[0].address, "10.0.0.1");
	assert_string_equal(out[0].route, "/ingest");
	assert_int_equal(out[0].writes, 2);
	assert_int_equal(out[0].first_unix_ns, 5);
	assert_int_equal(out[0].last_unix_ns, 9);
	assert_string_equal(out[1].agent, "curl");
	assert_string_equal(out[2].address, "10.0.0.2");
	assert_int_equal(senders_list(senders, STR("one"), out, 1), 1);
	assert_int_equal(senders_list(senders, STR("on"), out, SENDERS_PER_ANSWER), 0);
}

static void who_was_silent_the_longest_makes_room(void **state)
{
	CLEANUP(senders_freep) struct senders *senders = senders_new();
	struct sender out[SENDERS_PER_ANSWER];
	char agent[32];

	(void)state;
	note(senders, "quiet", "a", "", 1);
	note(senders, "older", "a", "", 2);
	for (int i = 0; i < SENDERS_MAX - 1; i++) {
		(void)snprintf(agent, sizeof(agent), "%d", i);
		note(senders, "many", "a", agent, 10 + i);
	}
	assert_int_equal(senders_list(senders, STR("quiet"), out, SENDERS_PER_ANSWER), 0);
	assert_int_equal(senders_list(senders, STR("older"), out, SENDERS_PER_ANSWER), 1);
	assert_int_equal(senders_list(senders, STR("many"), out, SENDERS_PER_ANSWER),
	                 SENDERS_PER_ANSWER);
	assert_int_equal(out[0].last_unix_ns, 10 + SENDERS_MAX - 2);
}

static void a_long_agent_is_cut(void **state)
{
	CLEANUP(senders_freep) struct senders *senders = senders_new();
	struct sender out[1];
	char agent[500];

	(void)state;
	memset(agent, 'x', sizeof(agent) - 1);
	agent[sizeof(agent) - 1] = '\0';
	note(senders, "one", "", agent, 1);
	assert_int_equal(senders_list(senders, STR("one"), out, 1), 1);
	assert_int_equal(strlen(out[0].agent), SENDER_AGENT_MAX);
	assert_string_equal(out[0].address, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sender_is_counted_and_the_latest_comes_first),
		cmocka_unit_test(who_was_silent_the_longest_makes_room),
		cmocka_unit_test(a_long_agent_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
