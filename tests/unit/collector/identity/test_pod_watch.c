/*
 * The watch on pods, against a server that does what servers do: answers late, too much, half,
 * garbage, not at all.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collector/identity/pod_watch.h"
#include "tests/unit/collector/identity/fake_server.h"

#define GIVE_UP_NS (50 * NS_PER_S)
#define OUTPUT_MAX ((size_t)1 << 20)

#define POD(name, uid, version)                                                                  \
	"{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"prod\",\"uid\":\"" uid             \
	"\",\"resourceVersion\":\"" version "\",\"labels\":{\"app\":\"llama\"}},"                \
	"\"status\":{\"containerStatuses\":[{\"name\":\"train\",\"containerID\":\"containerd://" \
	"c-" uid "\"}]}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}"
#define HOLD                "{\"watch\":[],\"end\":\"hold\"}"

/* A server, and what watches it. */
struct server {
	struct fake_server fake;
	struct pod_table *table;
	struct pod_watch *watch;
};

static void pause_a_moment(void)
{
	const struct timespec pause = { 0, 2000000 };

	nanosleep(&pause, NULL);
}

#define WAIT_FOR(condition)                                            \
	do {                                                           \
		const int64_t give_up_ = clock_mono_ns() + GIVE_UP_NS; \
		while (!(condition)) {                                 \
			assert_true(clock_mono_ns() < give_up_);       \
			pause_a_moment();                              \
		}                                                      \
	} while (0)

static void start(struct server *server, const char *script)
{
	*server = (struct server){ .table = pod_table_new() };
	fake_server_start(&server->fake, script);
}

static void watch(struct server *server)
{
	struct error err = { 0 };

	if (pod_watch_open(&(struct pod_watch_options){ .access = server->fake.access,
	                                                .node = "aks-gpu-0",
	                                                .retry_first_ns = NS_PER_MS,
	                                                .retry_most_ns = 20 * NS_PER_MS },
	                   server->table, &server->watch, &err) < 0)
		fail_msg("%s", err.message);
}

static void stop(struct server *server)
{
	pod_watch_close(server->watch);
	pod_table_free(server->table);
	fake_server_stop(&server->fake);
}

static bool knows(const struct server *server, const char *uid)
{
	struct pod_facts facts;

	return pod_table_find(server->table,
	                      &(struct pod_question){ .uid = uid, .container_id = "" }, &facts);
}

static size_t pods(const struct server *server)
{
	return pod_table_counts(server->table).pods;
}

/* ---- cases ---- */

static void a_list_and_a_watch_keep_the_table(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(OUTPUT_MAX * 4, NULL);
	struct fake_request requests[FAKE_REQUESTS_MAX];
	struct server server;
	struct pod_facts facts;

	(void)state;
	start(&server,
	      "[{\"list\":[" POD("a", "u1", "5") "," POD(
		      "b", "u2",
		      "6") "],\"version\":\"7\"},"
	                   "{\"watch\":[" EVENT("ADDED", POD("c", "u3", "8")) "," EVENT(
				   "MODIFIED",
				   POD("b2", "u2",
	                               "9")) "," EVENT("DELETED",
	                                               POD("a", "u1",
	                                                   "10")) "," EVENT("BOOKMARK",
	                                                                    "{\"metadata\":{\"resourceVersion\":\"12\"}}") "],\"end\":\"close\"}," HOLD
	                                                                                                                   "]");
	watch(&server);
	WAIT_FOR(fake_server_request_count(&server.fake) == 3);
	assert_int_equal(pods(&server), 2);
	assert_false(knows(&server, "u1"));
	assert_true(knows(&server, "u3"));
	assert_true(pod_table_find(server.table,
	                           &(struct pod_question){ .uid = "u2", .container_id = "c-u2" },
	                           &facts));
	assert_string_equal(facts.name.text, "b2");
	assert_string_equal(facts.pod_namespace.text, "prod");
	assert_string_equal(facts.app.text, "llama");
	assert_string_equal(facts.container.text, "train");
	assert_int_equal(pod_watch_counts(server.watch).events, 4);
	assert_int_equal(pod_watch_counts(server.watch).failures, 0);
	assert_int_equal(pod_watch_counts(server.watch).passed_over, 0);
	assert_true(pod_watch_counts(server.watch).is_current);

	assert_int_equal(fake_server_requests(&server.fake, arena, requests), 3);
	assert_true(str_equals(requests[0].path,
	                       "/api/v1/pods?fieldSelector=spec.nodeName%3Daks-gpu-0"
	                       "&resourceVersion=0"));
	assert_true(str_equals(requests[1].path,
	                       "/api/v1/pods?fieldSelector=spec.nodeName%3Daks-gpu-0&watch=1"
	                       "&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=7"));
	/* it goes on where the first has ended */
	assert_true(str_ends_with(requests[2].path, STR("&resourceVersion=12")));
	for (size_t i = 0; i < 3; i++)
		assert_true(str_equals(requests[i].token, "first"));
	stop(&server);
}

/* Both ways to be told that a version is gone; what was deleted meanwhile is gone, too. */
static void a_version_that_is_gone_is_listed_anew(void **state)
{
	static const char *const gone[] = {
		"{\"watch\":[{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410,"
		"\"message\":\"too old resource version: 7 (9)\"}}],\"end\":\"hold\"}",
		"{\"status\":410}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(gone); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(OUTPUT_MAX * 4, NULL);
		struct fake_request requests[FAKE_REQUESTS_MAX];
		struct server server;
		char script[2048];

		(void)snprintf(script, sizeof(script), "[%s,%s,%s,%s]",
		               "{\"list\":[" POD("a", "u1", "5") "],\"version\":\"7\"}", gone[i],
		               "{\"list\":[" POD("b", "u2", "9") "],\"version\":\"9\"}", HOLD);
		start(&server, script);
		watch(&server);
		WAIT_FOR(fake_server_request_count(&server.fake) == 4);
		assert_int_equal(pods(&server), 1);
		assert_true(knows(&server, "u2"));
		assert_int_equal(pod_watch_counts(server.watch).lists, 2);
		assert_int_equal(fake_server_requests(&server.fake, arena, requests), 4);
		/* not of a cache: it may be older than what is gone */
		assert_true(str_ends_with(requests[2].path, STR("%3Daks-gpu-0")));
		assert_true(str_ends_with(requests[3].path, STR("&resourceVersion=9")));
		stop(&server);
	}
}

static void a_server_that_is_busy_is_left_alone_as_long_as_it_asks(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(OUTPUT_MAX * 4, NULL);
	struct fake_request requests[FAKE_REQUESTS_MAX];
	struct server server;

	(void)state;
	start(&server, "[{\"status\":503},{\"status\":429,\"retry_after\":1},{\"list\":[" POD(
			       "a", "u1", "5") "],\"version\":\"7\"}," HOLD "]");
	watch(&server);
	WAIT_FOR(knows(&server, "u1"));
	assert_int_equal(pod_watch_counts(server.watch).failures, 2);
	assert_true(fake_server_requests(&server.fake, arena, requests) >= 3);
	assert_true(requests[2].time_s - requests[1].time_s >= 1.0);
	stop(&server);
}

/* The table is as it was until a list is whole. */
static void a_list_that_is_no_list_changes_nothing(void **state)
{
	struct server server;

	(void)state;
	start(&server,
	      "[{\"list\":[" POD(
		      "a", "u1",
		      "5") "],\"version\":\"7\"},{\"status\":410},"
	                   "{\"body\":\"\"},{\"body\":\"garbage\"},{\"body\":\"[]\"},{\"body\":\"{\\\"items\\\":[7]}\"},"
	                   "{\"body\":\"{\\\"metadata\\\":{},\\\"items\\\":[]}\"},"
	                   "{\"body\":\"{\\\"metadata\\\":{\\\"resourceVersion\\\":\\\"a b\\\"},\\\"items\\\":[]}\"},"
	                   "{\"body\":\"{\\\"metadata\\\":{\\\"resourceVersion\\\":\\\"9\\\"},\\\"items\\\":[\"},"
	                   "{\"body\":\"{\\\"metadata\\\":{\\\"resourceVersion\\\":\\\"9\\\"},\\\"items\\\":[\","
	                   "\"length\":100000}]");
	watch(&server);
	WAIT_FOR(fake_server_request_count(&server.fake) == 11);
	assert_int_equal(pod_watch_counts(server.watch).lists, 1);
	assert_int_equal(pod_watch_counts(server.watch).failures, 8);
	assert_false(pod_watch_counts(server.watch).is_current);
	assert_int_equal(pods(&server), 1);
	assert_true(knows(&server, "u1"));
	stop(&server);
}

static void a_watch_that_is_cut_goes_on_from_what_it_gave(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(OUTPUT_MAX * 4, NULL);
	struct fake_request requests[FAKE_REQUESTS_MAX];
	struct server server;

	(void)state;
	start(&server,
	      "[{\"list\":[],\"version\":\"7\"},{\"watch\":[" EVENT(
		      "ADDED",
		      POD("a", "u1",
	                  "8")) "],\"end\":\"cut\"},{\"watch\":[" EVENT("ADDED",
	                                                                POD("b", "u2",
	                                                                    "9")) "],\"end\":\"hold\"}]");
	watch(&server);
	WAIT_FOR(knows(&server, "u2"));
	assert_true(knows(&server, "u1"));
	assert_int_equal(pods(&server), 2);
	assert_int_equal(pod_watch_counts(server.watch).lists, 1);
	assert_int_equal(fake_server_requests(&server.fake, arena, requests), 3);
	assert_true(str_ends_with(requests[2].path, STR("&resourceVersion=8")));
	stop(&server);
}

static void events_that_are_none_are_passed_over(void **state)
{
	struct server server;

	(void)state;
	start(&server,
	      "[{\"list\":[{\"metadata\":{}},7.5],\"version\":\"7\"},"
	      "{\"list\":[{\"metadata\":{}}],\"version\":\"7\"},{\"watch\":[7,"
	      "{\"type\":\"PARTY\",\"object\":{}},{\"type\":\"ADDED\"}," EVENT(
		      "DELETED", "{}") "," EVENT("ADDED",
	                                         POD("a", "u1", "8")) "],\"end\":\"hold\"}]");
	watch(&server);
	WAIT_FOR(knows(&server, "u1"));
	assert_int_equal(pod_watch_counts(server.watch).failures, 1); /* 7.5 */
	/* two objects without a name in lists, and three events that say nothing */
	assert_int_equal(pod_watch_counts(server.watch).passed_over, 5);
	stop(&server);
}

/* The address sanitizer keeps what was freed, some hundred MB of it. */
#if defined(__SANITIZE_ADDRESS__)
#define MOST_KIB LONG_MAX
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MOST_KIB LONG_MAX
#endif
#endif
#ifndef MOST_KIB
#define MOST_KIB (32 * 1024)
#endif

static long resident_kib(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return usage.ru_maxrss; /* the most there ever was */
}

/* 100 MB: of one pod, which is passed over, and of nothing, which is given up. */
static void a_list_of_any_size_takes_little_memory(void **state)
{
	struct server server;
	long before_kib;

	(void)state;
	start(&server, "[{\"lead\":100000000,\"list\":[]},{\"pad\":100000000,\"list\":[" POD(
			       "a", "u1", "5") "],\"version\":\"7\"}," HOLD "]");
	before_kib = resident_kib();
	watch(&server);
	WAIT_FOR(knows(&server, "u1"));
	assert_int_equal(pod_watch_counts(server.watch).failures, 1);
	assert_int_equal(pod_watch_counts(server.watch).passed_over, 1);
	assert_true(resident_kib() - before_kib < MOST_KIB);
	stop(&server);
}

static void a_token_that_was_exchanged_is_read_anew(void **state)
{
	struct server server;

	(void)state;
	start(&server, "[{\"token\":\"first\",\"list\":[],\"version\":\"7\"},{\"token\":\"second\","
	               "\"watch\":[" EVENT("ADDED", POD("a", "u1", "8")) "],\"end\":\"hold\"}]");
	watch(&server);
	WAIT_FOR(pod_watch_counts(server.watch).failures >= 2);
	assert_false(knows(&server, "u1"));
	fake_server_set_token(&server.fake, "second");
	WAIT_FOR(knows(&server, "u1"));
	assert_int_equal(pod_watch_counts(server.watch).lists, 1);
	stop(&server);
}

static void what_is_no_token_is_not_sent(void **state)
{
	static const char *const tokens[] = { "", "\n\n", "a b", "a\r\nX-Evil: 1", "\xff" };
	struct server server;

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(tokens); i++) {
		start(&server, "[]");
		fake_server_set_token(&server.fake, tokens[i]);
		watch(&server);
		WAIT_FOR(pod_watch_counts(server.watch).failures >= 2);
		assert_int_equal(fake_server_request_count(&server.fake), 0);
		stop(&server);
	}
}

/* Whoever cannot prove to be the cluster's server gets no token. */
static void a_server_of_another_authority_is_told_nothing(void **state)
{
	struct server server;
	struct server other;

	(void)state;
	start(&server, "[{\"list\":[" POD("a", "u1", "5") "],\"version\":\"7\"}]");
	start(&other, "[]");
	memcpy(server.fake.access.ca_file, other.fake.access.ca_file,
	       sizeof(server.fake.access.ca_file));
	watch(&server);
	WAIT_FOR(pod_watch_counts(server.watch).failures >= 2);
	assert_int_equal(fake_server_request_count(&server.fake), 0);
	assert_int_equal(pods(&server), 0);
	stop(&server);
	stop(&other);
}

/* It is in the middle of a list that never ends, of a watch, of a wait: each is left at once. */
static void closing_waits_for_nobody(void **state)
{
	struct server server;

	(void)state;
	start(&server,
	      "[{\"list\":[" POD("a", "u1", "5") "],\"lead\":1000000000,\"trickle\":true}]");
	watch(&server);
	WAIT_FOR(fake_server_request_count(&server.fake) == 1);
	stop(&server);

	start(&server, "[{\"list\":[],\"version\":\"7\"}," HOLD "]");
	watch(&server);
	WAIT_FOR(fake_server_request_count(&server.fake) == 2);
	stop(&server);

	start(&server, "[{\"status\":429,\"retry_after\":300}]");
	watch(&server);
	WAIT_FOR(pod_watch_counts(server.watch).failures == 1);
	stop(&server);
}

static void a_list_that_comes_slowly_is_taken(void **state)
{
	struct server server;

	(void)state;
	start(&server,
	      "[{\"list\":[" POD("a", "u1", "5") "],\"version\":\"7\",\"trickle\":true}," HOLD "]");
	watch(&server);
	WAIT_FOR(knows(&server, "u1"));
	assert_int_equal(pod_watch_counts(server.watch).failures, 0);
	stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_and_a_watch_keep_the_table),
		cmocka_unit_test(a_version_that_is_gone_is_listed_anew),
		cmocka_unit_test(a_server_that_is_busy_is_left_alone_as_long_as_it_asks),
		cmocka_unit_test(a_list_that_is_no_list_changes_nothing),
		cmocka_unit_test(a_watch_that_is_cut_goes_on_from_what_it_gave),
		cmocka_unit_test(events_that_are_none_are_passed_over),
		cmocka_unit_test(a_list_of_any_size_takes_little_memory),
		cmocka_unit_test(a_token_that_was_exchanged_is_read_anew),
		cmocka_unit_test(what_is_no_token_is_not_sent),
		cmocka_unit_test(a_server_of_another_authority_is_told_nothing),
		cmocka_unit_test(closing_waits_for_nobody),
		cmocka_unit_test(a_list_that_comes_slowly_is_taken),
	};

	if (!fake_server_is_possible())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
