/*
 * The way of driver calls into the store and out again: a collector on events that are
 * written down, the link of `run`, the server half, and its read API over HTTP.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/http_client.h"
#include "base/json.h"
#include "collector/collector.h"
#include "server/options.h"
#include "server/push/link_receiver.h"
#include "server/push/link_sender.h"
#include "server/server.h"
#include "tests/unit/collector/fake_source.h"
#include "tests/unit/collector/live/live_fixture.h"

#define ANSWER_MAX  ((size_t)4 << 20)
#define INTERVAL_NS (3600 * NS_PER_S)

struct fixture {
	char folder[64];
	struct options *options;
	struct server *server;
	struct link_receiver *receiver;
	struct link_sender *sender;
	unsigned port;
	struct http_client *client;
	struct strbuf answer;
};

static void set_option(struct fixture *fixture, const char *name, const char *value)
{
	struct error err = { 0 };

	assert_int_equal(
		options_set(fixture->options, option_find(str_of(name)), str_of(value), &err), 0);
}

static unsigned read_port(const char *path)
{
	unsigned port = 0;
	FILE *file = fopen(path, "re");

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%u", &port), 1); /* NOLINT(cert-err34-c): our own text */
	(void)fclose(file);
	return port;
}

static void pass_over(void)
{
	/* the test ends when it likes */
}

/* Right behind a multiple of the interval: whatever a test does, it has one tick, its last. */
static void begin_interval(void)
{
	const int64_t now_ns = clock_unix_ns();

	clock_warp_unix(now_ns - now_ns % INTERVAL_NS + NS_PER_S, 1);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct server_companion companion;
	struct error err = { 0 };
	char path[128];
	int link[2];

	begin_interval();
	(void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/collected-XXXXXX");
	assert_non_null(mkdtemp(fixture->folder));
	fixture->options = options_new();
	(void)snprintf(path, sizeof(path), "%s/store", fixture->folder);
	set_option(fixture, "storage.path", path);
	(void)snprintf(path, sizeof(path), "%s/port", fixture->folder);
	set_option(fixture, "server.http-port-file", path);
	set_option(fixture, "server.http-listen-port", "0");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, link), 0);
	assert_int_equal(server_open(fixture->options, &fixture->server, &err), 0);
	fixture->receiver = link_receiver_new(link[0], "");
	companion = link_receiver_companion(fixture->receiver);
	assert_int_equal(companion.begin(companion.context, fixture->server, &err), 0);
	assert_int_equal(server_announce(fixture->server, &err), 0);
	fixture->sender =
		link_sender_new(&(struct link_sender_options){ .fd = link[1], .stop = pass_over });
	fixture->port = read_port(path);
	assert_int_equal(http_client_new(&fixture->client, &err), 0);
	strbuf_init(&fixture->answer, ANSWER_MAX);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	struct server_companion companion = link_receiver_companion(fixture->receiver);
	char command[128];
	int status;

	link_sender_free(fixture->sender);
	companion.end(companion.context);
	server_close(fixture->server);
	link_receiver_free(fixture->receiver);
	http_client_free(fixture->client);
	options_free(fixture->options);
	strbuf_fini(&fixture->answer);
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", fixture->folder);
	status = system(command); /* NOLINT(cert-env33-c, concurrency-mt-unsafe): a test's */
	free(fixture);
	return status;
}

static void hand_on_metrics(void *context, struct str text)
{
	link_sender_metrics(context, text);
}

/* Runs a collector over the events, and waits until the store has what it made of them. */
static void collect(struct fixture *fixture, struct fake_source *source)
{
	struct push_queue *queue = push_queue_new(&(struct push_queue_options){
		.transport = link_sender_transport(fixture->sender),
		.backlog = { .memory_bytes = (size_t)64 << 20 },
		.retry_first_ns = NS_PER_MS,
		.retry_most_ns = NS_PER_S,
		.last_moments_ns = 60 * NS_PER_S,
	});
	struct collector *collector = NULL;
	struct error err = { 0 };

	assert_int_equal(collector_open(
				 &(struct collector_options){
					 .interval_ns = INTERVAL_NS,
					 .service_suffix = "-gpu",
					 .cluster = "default",
					 .hostname = "box",
					 .has_pid_label = true,
					 .symbol_cache_bytes = 1 << 20,
					 .source = fake_source_of(source),
					 .sink = push_queue_sink(queue),
					 .metrics = hand_on_metrics,
					 .metrics_context = fixture->sender,
				 },
				 &collector, &err),
	                 0);
	assert_int_equal(collector_run(collector, &err), 0);
	push_queue_free(queue); /* everything is answered, so it is committed */
	collector_close(collector);
}

static const char *get(struct fixture *fixture, const char *path)
{
	struct error err = { 0 };
	char url[1024];
	int status = 0;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", fixture->port, path);
	strbuf_reset(&fixture->answer);
	assert_int_equal(
		http_client_do(fixture->client,
	                       &(struct http_client_request){ .method = "GET", .url = url },
	                       &fixture->answer, &status, &err),
		0);
	assert_int_equal(status, 200);
	return fixture->answer.data;
}

/* numTicks of the whole, as the dashboard of the reference asks. */
static int64_t render(struct fixture *fixture, const char *type, const char *selector)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ANSWER_MAX, NULL);
	const struct json *root;
	struct error err = { 0 };
	char path[512];

	(void)snprintf(path, sizeof(path), "/pyroscope/render?from=now-1h&until=now&query=%s%s",
	               type, selector);
	assert_int_equal(json_parse(str_of(get(fixture, path)), arena, &root, &err), 0);
	return json_int(json_get(json_get(root, "flamebearer"), "numTicks"));
}

#define SERVICE "%7Bservice_name%3D%22worker-gpu%22%7D" /* {service_name="worker-gpu"} */

static void bytes_come_out_as_they_were_allocated(void **state)
{
	struct fixture *fixture = *state;
	struct fake_source *source = calloc(1, sizeof(*source));

	/* ids that no process of this machine has: names come from the events */
	for (uint64_t i = 1; i <= 1000; i++) {
		struct cuda_event event = alloc_event(i << 12, i);

		event.tgid = 0x7fffff00;
		fake_source_add(source, event);
		if (i % 2)
			continue;
		event = free_event(i << 12);
		event.tgid = 0x7fffff00;
		fake_source_add(source, event);
	}
	collect(fixture, source);
	assert_int_equal(render(fixture, "memory:alloc_space:bytes:space:bytes", SERVICE),
	                 1000 * 1001 / 2);
	assert_int_equal(render(fixture, "memory:alloc_objects:count:space:bytes", SERVICE), 1000);
	/* odd sizes are left: 500 of them add up to 500 * 500 */
	assert_int_equal(render(fixture, "memory:inuse_space:bytes:space:bytes", SERVICE),
	                 500 * 500);
	assert_int_equal(render(fixture, "memory:inuse_objects:count:space:bytes", SERVICE), 500);
	assert_int_equal(render(fixture,
	                        "process_cpu:malloc:bytes::", "%7Bservice_name%3D%22worker%22%7D"),
	                 1000 * 1001 / 2);
	free(source);
}

static void an_idle_machine_is_watched_and_holds_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct fake_source *source = calloc(1, sizeof(*source));

	collect(fixture, source);
	assert_int_equal(render(fixture, "memory:inuse_space:bytes:space:bytes",
	                        "%7Bhostname%3D%22box%22%7D"),
	                 0);
	assert_non_null(strstr(get(fixture, "/pyroscope/label-values?label=hostname"), "\"box\""));
	free(source);
}

static void metrics_stand_behind_the_servers_own(void **state)
{
	struct fixture *fixture = *state;
	struct fake_source *source = calloc(1, sizeof(*source));
	struct cuda_event event = alloc_event(0x1000, 12345);
	const char *text;

	event.tgid = 0x7fffff00;
	fake_source_add(source, event);
	collect(fixture, source);
	/* on its way; the test's limit of time ends a wait for nothing */
	do
		text = get(fixture, "/metrics");
	while (!strstr(text, "mem_alloc_bytes_total"));
	assert_non_null(strstr(text, "pyroscope_build_info{"));
	assert_non_null(strstr(text, "mem_alloc_bytes_total{pid=\"2147483392\",comm=\"worker\""));
	assert_non_null(strstr(text, "} 12345\n"));
	free(source);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_come_out_as_they_were_allocated),
		TEST(an_idle_machine_is_watched_and_holds_nothing),
		TEST(metrics_stand_behind_the_servers_own),
	};

	/* the receiver tells the process to stop when the other half has gone */
	(void)signal(SIGTERM, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
