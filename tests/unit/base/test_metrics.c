#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/metrics.h"

static void families_are_written_as_prometheus_reads_them(void **state)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	const double bounds[] = { 0.005, 0.1, 2.5 };
	struct metric_family *requests = metrics_add(
		metrics, &(struct metric_family_options){ .name = "vramscope_requests_total",
	                                                  .help = "Requests by route.",
	                                                  .type = METRIC_COUNTER,
	                                                  .label_names = { "route", "status" } });
	struct metric *queue = metric_family_get(
		metrics_add(metrics,
	                    &(struct metric_family_options){ .name = "vramscope_queue_bytes",
	                                                     .help = "What waits.",
	                                                     .type = METRIC_GAUGE }),
		NULL);
	struct metric_family *seconds = metrics_add(
		metrics, &(struct metric_family_options){ .name = "vramscope_request_seconds",
	                                                  .help = "Time.",
	                                                  .type = METRIC_HISTOGRAM,
	                                                  .label_names = { "route" },
	                                                  .bounds = bounds,
	                                                  .bound_count = 3 });
	struct metric *render = metric_family_get(seconds, (struct str[]){ STR("render") });
	struct strbuf text;

	(void)state;
	metric_add(metric_family_get(requests, (struct str[]){ STR("push"), STR("200") }), 3);
	metric_add(metric_family_get(requests, (struct str[]){ STR("push"), STR("429") }), 1);
	metric_add(metric_family_get(requests, (struct str[]){ STR("push"), STR("200") }), 1);
	metric_set(queue, 1.5);
	metric_observe(render, 0.005); /* a bound belongs to its bucket */
	metric_observe(render, 0.05);
	metric_observe(render, 100);
	strbuf_init(&text, 1 << 20);
	metrics_format(metrics, &text);
	assert_string_equal(text.data,
	                    "# HELP vramscope_requests_total Requests by route.\n"
	                    "# TYPE vramscope_requests_total counter\n"
	                    "vramscope_requests_total{route=\"push\",status=\"200\"} 4\n"
	                    "vramscope_requests_total{route=\"push\",status=\"429\"} 1\n"
	                    "# HELP vramscope_queue_bytes What waits.\n"
	                    "# TYPE vramscope_queue_bytes gauge\n"
	                    "vramscope_queue_bytes 1.5\n"
	                    "# HELP vramscope_request_seconds Time.\n"
	                    "# TYPE vramscope_request_seconds histogram\n"
	                    "vramscope_request_seconds_bucket{route=\"render\",le=\"0.005\"} 1\n"
	                    "vramscope_request_seconds_bucket{route=\"render\",le=\"0.1\"} 2\n"
	                    "vramscope_request_seconds_bucket{route=\"render\",le=\"2.5\"} 2\n"
	                    "vramscope_request_seconds_bucket{route=\"render\",le=\"+Inf\"} 3\n"
	                    "vramscope_request_seconds_sum{route=\"render\"} 100.055\n"
	                    "vramscope_request_seconds_count{route=\"render\"} 3\n");
	assert_true(metric_value(render) == 3);
	assert_true(metric_value(queue) == 1.5);
	strbuf_fini(&text);
}

static void help_and_values_are_escaped(void **state)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	struct metric_family *family =
		metrics_add(metrics, &(struct metric_family_options){ .name = "m",
	                                                              .help = "a \\ \"b\"\nc",
	                                                              .type = METRIC_GAUGE,
	                                                              .label_names = { "v" } });
	struct strbuf text;

	(void)state;
	metric_set(metric_family_get(family, (struct str[]){ STR("a\\b\"c\nd\xff\0e") }), INFINITY);
	metric_set(metric_family_get(family, (struct str[]){ STR("a\\b\"c\nd\xff\0f") }),
	           -INFINITY);
	metric_set(metric_family_get(family, (struct str[]){ { NULL, 0 } }), NAN);
	strbuf_init(&text, 1 << 20);
	metrics_format(metrics, &text);
	assert_true(
		str_equal(strbuf_view(&text), STR("# HELP m a \\\\ \"b\"\\nc\n"
	                                          "# TYPE m gauge\n"
	                                          "m{v=\"a\\\\b\\\"c\\nd\xef\xbf\xbd\0e\"} +Inf\n"
	                                          "m{v=\"a\\\\b\\\"c\\nd\xef\xbf\xbd\0f\"} -Inf\n"
	                                          "m{v=\"\"} NaN\n")));
	strbuf_fini(&text);
}

static void past_their_number_new_values_count_as_other(void **state)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	struct metric_family *family =
		metrics_add(metrics, &(struct metric_family_options){ .name = "m_total",
	                                                              .help = "x",
	                                                              .type = METRIC_COUNTER,
	                                                              .label_names = { "tenant" },
	                                                              .max = 10 });
	static char huge[100000];
	char name[20];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "t%d", i);
		metric_add(metric_family_get(family, (struct str[]){ str_of(name) }), 1);
	}
	assert_true(metric_value(metric_family_get(family, (struct str[]){ STR("other") })) == 990);
	assert_true(metric_value(metric_family_get(family, (struct str[]){ STR("t9") })) == 1);
	memset(huge, 'x', sizeof(huge));
	assert_ptr_equal(metric_family_get(family, (struct str[]){ str_make(huge, sizeof(huge)) }),
	                 metric_family_get(family, (struct str[]){ STR("other") }));
}

static void values_that_read_alike_together_are_apart(void **state)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	struct metric_family *family = metrics_add(
		metrics, &(struct metric_family_options){ .name = "m_total",
	                                                  .help = "x",
	                                                  .type = METRIC_COUNTER,
	                                                  .label_names = { "a", "b" } });

	(void)state;
	assert_ptr_not_equal(metric_family_get(family, (struct str[]){ STR("xy"), STR("z") }),
	                     metric_family_get(family, (struct str[]){ STR("x"), STR("yz") }));
}

#define THREADS 4
#define ROUNDS  10000

static void *count(void *context)
{
	struct metric_family *family = context;

	for (int i = 0; i < ROUNDS; i++)
		metric_add(metric_family_get(family,
		                             (struct str[]){ i % 2 ? STR("odd") : STR("even") }),
		           1);
	return NULL;
}

static void threads_lose_no_count(void **state)
{
	CLEANUP(metrics_freep) struct metrics *metrics = metrics_new();
	struct metric_family *family =
		metrics_add(metrics, &(struct metric_family_options){ .name = "m_total",
	                                                              .help = "x",
	                                                              .type = METRIC_COUNTER,
	                                                              .label_names = { "kind" } });
	pthread_t threads[THREADS];
	struct strbuf text;

	(void)state;
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, family), 0);
	strbuf_init(&text, 1 << 20);
	for (int i = 0; i < 100; i++) {
		strbuf_reset(&text);
		metrics_format(metrics, &text);
	}
	strbuf_fini(&text);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(metric_value(metric_family_get(family, (struct str[]){ STR("odd") })) ==
	            (double)(THREADS * ROUNDS) / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_are_written_as_prometheus_reads_them),
		cmocka_unit_test(help_and_values_are_escaped),
		cmocka_unit_test(past_their_number_new_values_count_as_other),
		cmocka_unit_test(values_that_read_alike_together_are_apart),
		cmocka_unit_test(threads_lose_no_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
