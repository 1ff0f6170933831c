#include <stdio.h>
#include <string.h>

#include "tests/unit/collector/live/metrics_fixture.h"

static int set_up(void **state)
{
	return open_metrics(state, NULL);
}

static void take(struct fixture *fixture, struct cuda_event event)
{
	struct gpu_account *account = &gpu_process_table_get(fixture->processes, &event)->account;

	gpu_metrics_count(fixture->metrics, &event);
	gpu_account_book(account, &event, STACK_LOST);
}

static const char *format(struct fixture *fixture)
{
	static const struct named_count dropped[] = { { "ring_full", 4 } };
	static const struct collector_health health = { .is_up = true,
		                                        .attached_libraries = 1,
		                                        .attached_probes = 3,
		                                        .dropped = dropped,
		                                        .dropped_count = 1 };

	return format_with(fixture, &health);
}

/* The text has exactly one line `name` + `rest`. */
static void assert_line(const char *text, const char *name, const char *rest)
{
	char line[1024];
	const char *found;

	(void)snprintf(line, sizeof(line), "\n%s%s\n", name, rest);
	found = strstr(text, line);
	if (!found)
		fail_msg("no line%sin %s", line, text);
	assert_null(strstr(found + 1, line));
}

#define PROCESS                                                            \
	"pid=\"100\",comm=\"worker\",k8s_namespace=\"\",k8s_podname=\"\"," \
	"k8s_containername=\"\",k8s_node=\"\",cluster=\"default\""
#define DEVICE                                                                               \
	"{" PROCESS ",host_raw=\"0\",host=\"DEVICE\",otel_scope_name=\"libcuda_mem_stats\"," \
	"otel_scope_version=\"\"} "

static void all_six_names_have_the_same_labels(void **state)
{
	struct fixture *fixture = *state;
	const char *text;

	take(fixture, alloc_event(0x1000, 100));
	text = format(fixture);
	assert_line(text, "mem_alloc_bytes_total", DEVICE "100");
	assert_line(text, "mem_free_bytes_total", DEVICE "0");
	assert_line(text, "mem_implicit_free_bytes_total", DEVICE "0");
	assert_line(text, "mem_alloc_calls_total", DEVICE "1");
	assert_line(text, "mem_free_calls_total", DEVICE "0");
	assert_line(text, "mem_implicit_free_calls_total", DEVICE "0");
	assert_null(strstr(text, "host_raw=\"1\""));
	assert_line(text, "gpu_memory_inuse_bytes",
	            "{" PROCESS ",cuda_class=\"device\",gpu=\"unknown\"} 100");
	take(fixture, alloc_event(0x2000, 50));
	take(fixture, free_event(0x1000));
	gpu_process_end(gpu_process_table_at(fixture->processes, 0), 7);
	text = format(fixture);
	assert_line(text, "mem_alloc_bytes_total", DEVICE "150");
	assert_line(text, "mem_free_bytes_total", DEVICE "100");
	assert_line(text, "mem_implicit_free_bytes_total", DEVICE "50");
	assert_line(text, "gpu_memory_peak_bytes", "{" PROCESS "} 150");
}

static void a_counter_never_goes_back(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, alloc_event(0x1000, 100));
	take(fixture, alloc_event(0x2000, 30));
	take(fixture, free_event(0x1000));
	assert_line(format(fixture), "mem_free_bytes_total", DEVICE "100");
	take(fixture, undone_event(0x1000, 700)); /* it was scraped in between */
	assert_line(format(fixture), "mem_free_bytes_total", DEVICE "100");
	take(fixture, free_event(0x1000));
	take(fixture, free_event(0x2000));
	assert_line(format(fixture), "mem_free_bytes_total", DEVICE "130");
}

static void an_id_that_is_used_again_is_shown_once(void **state)
{
	struct fixture *fixture = *state;
	struct cuda_event event = alloc_event(0x1000, 100);

	take(fixture, event);
	gpu_process_end(gpu_process_table_at(fixture->processes, 0), 7);
	event.process_start_ns++;
	event.bytes = 60;
	take(fixture, event);
	assert_line(format(fixture), "mem_alloc_bytes_total", DEVICE "60");
}

/* Those of Kubernetes alone, of which dashboards know; and of whoever has its name. */
static void labels_of_a_pod_stand_on_each_process(void **state)
{
	struct fixture *fixture = *state;
	struct cuda_event event = alloc_event(0x1000, 100);
	struct process_identity *identity =
		&gpu_process_table_get(fixture->processes, &event)->identity;

	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++)
		(void)snprintf(identity->labels[i].text, sizeof(identity->labels[i].text),
		               "%s of it", identity_label_on_profiles((enum identity_label)i));
	take(fixture, event);
	event.tgid++;
	gpu_process_table_get(fixture->processes, &event)->identity.is_late = true;
	take(fixture, event);
	assert_line(format(fixture), "gpu_memory_peak_bytes",
	            "{pid=\"100\",comm=\"worker\",k8s_namespace=\"k8s_namespace of it\","
	            "k8s_podname=\"k8s_podName of it\","
	            "k8s_containername=\"k8s_containerName of it\","
	            "k8s_node=\"k8s_node of it\",cluster=\"default\"} 100");
	assert_null(strstr(format(fixture), "pid=\"101\""));
}

static void names_are_escaped(void **state)
{
	struct fixture *fixture = *state;
	struct cuda_event event = alloc_event(0x1000, 100);

	memcpy(event.comm, "a\"b\\c", 6);
	take(fixture, event);
	assert_non_null(strstr(format(fixture), "comm=\"a\\\"b\\\\c\","));
}

static void calls_and_trouble_are_counted(void **state)
{
	struct fixture *fixture = *state;
	struct cuda_event event = alloc_event(0x1000, 100);
	const char *text;

	event.duration_ns = 50000;
	take(fixture, event);
	take(fixture, failed_event(1 << 20, 2));
	take(fixture, failed_event(1 << 20, 2));
	take(fixture, free_event(0x5000));
	text = format(fixture);
	assert_line(text, "gpu_memory_alloc_failures_total",
	            "{cuda_error=\"CUDA_ERROR_OUT_OF_MEMORY\"} 2");
	assert_line(text, "gpu_memory_alloc_seconds_bucket", "{le=\"1e-05\"} 0");
	assert_line(text, "gpu_memory_alloc_seconds_bucket", "{le=\"0.0001\"} 1");
	assert_line(text, "gpu_memory_alloc_seconds_bucket", "{le=\"+Inf\"} 1");
	assert_line(text, "gpu_memory_alloc_seconds_sum", " 0.000050000");
	assert_line(text, "cuda_collector_events_total", "{kind=\"failed\"} 2");
	assert_line(text, "cuda_collector_unknown_frees_total", " 1");
	assert_line(text, "cuda_collector_dropped_total", "{reason=\"ring_full\"} 4");
	assert_line(text, "cuda_collector_lost_bytes_total", " 100");
	assert_line(text, "cuda_collector_up", " 1");
	assert_line(text, "cuda_collector_attached_probes", " 3");
	assert_line(text, "cuda_collector_processes", " 1");
}

/* HELP and TYPE once for each family, in front of its series. */
static void the_text_is_well_formed(void **state)
{
	struct fixture *fixture = *state;
	char family[128] = "";
	struct str rest;
	struct str line;

	take(fixture, alloc_event(0x1000, 100));
	take(fixture, failed_event(1, 77));
	rest = str_of(format(fixture));
	while (str_split(&rest, '\n', &line)) {
		size_t length = 0;

		if (str_starts_with(line, STR("# HELP ")))
			(void)snprintf(
				family, sizeof(family), "%.*s",
				STR_ARGS(str_first(str_skip(line, 7),
			                           (size_t)str_index(str_skip(line, 7), ' '))));
		if (line.length == 0 || line.data[0] == '#')
			continue;
		while (length < line.length && line.data[length] != '{' && line.data[length] != ' ')
			length++;
		assert_true(str_starts_with(str_first(line, length), str_of(family)));
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(labels_of_a_pod_stand_on_each_process),
		TEST(all_six_names_have_the_same_labels),
		TEST(a_counter_never_goes_back),
		TEST(an_id_that_is_used_again_is_shown_once),
		TEST(names_are_escaped),
		TEST(calls_and_trouble_are_counted),
		TEST(the_text_is_well_formed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
