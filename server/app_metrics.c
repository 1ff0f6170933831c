#include "server/app_metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/live/gpu_metrics.h"
#include "server/app.h"
#include "server/version.h"

/* As the reference's: requests in seconds, sizes and counts in powers. */
static const double seconds[] = { 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
	                          1,     2.5,  5,     10,   25,  50,   100 };
static const double bytes[] = { 1e3, 1e4, 1e5, 2.5e5, 5e5, 1e6, 2.5e6, 5e6, 1e7, 1e8 };
static const double counts[] = { 10, 100, 1000, 2500, 5000, 10000, 25000, 50000, 100000 };

#define BOUNDS_NONE    NULL, 0
#define BOUNDS_SECONDS seconds, ARRAY_LENGTH(seconds)
#define BOUNDS_BYTES   bytes, ARRAY_LENGTH(bytes)
#define BOUNDS_COUNTS  counts, ARRAY_LENGTH(counts)

static struct metric_family *add(struct metrics *registry, const char *name, const char *help,
                                 enum metric_type type, const double *bounds, size_t bound_count,
                                 const char *const *labels)
{
	struct metric_family_options options = { .name = name,
		                                 .help = help,
		                                 .type = type,
		                                 .bounds = bounds,
		                                 .bound_count = bound_count };
	struct metric_family *family;

	for (size_t i = 0; labels[i]; i++)
		options.label_names[i] = labels[i];
	family = metrics_add(registry, &options);
	if (!labels[0] && type != METRIC_HISTOGRAM)
		(void)metric_family_get(family, NULL); /* shown from the start, as 0 */
	return family;
}

/* Seven parameters behind one name: the table has them in one row. */
#define ADD(name, help, type, bounds, ...) \
	add(registry, name, help, METRIC_##type, bounds, (const char *const[]){ __VA_ARGS__ })

struct app_metrics *app_metrics_new(struct metrics *registry)
{
	struct app_metrics *metrics = mem_zalloc(1, sizeof(*metrics));

#define METRIC(field, name, type, bounds, help, ...) \
	metrics->field = ADD(name, help, type, BOUNDS_##bounds, ##__VA_ARGS__, NULL);
#include "server/metrics.def"
#undef METRIC
	metric_set(METRIC_OF(metrics->build_info, str_of(version_text()),
	                     str_of(version_revision()), str_of(version_branch()),
	                     str_of(version_compiler())),
	           1);
	return metrics;
}

void app_metrics_free(struct app_metrics *metrics)
{
	free(metrics); /* the families are the registry's */
}

static void set(struct metric_family *family, double value)
{
	metric_set(metric_family_get(family, NULL), value);
}

static void collect_store(struct app *app)
{
	const struct app_metrics *metrics = app->metrics;
	struct store_usage usage = { 0 };

	store_usage(app->store, &usage);
	set(metrics->store_disk_bytes, (double)usage.disk_bytes);
	set(metrics->store_wal_bytes, (double)usage.wal_bytes);
	set(metrics->store_windows, (double)usage.window_count);
	set(metrics->store_sealed_windows, (double)usage.sealed_window_count);
	set(metrics->store_open_windows, (double)usage.open_window_count);
	set(metrics->store_cache_bytes, (double)usage.cache_bytes);
	set(metrics->store_queue_length, (double)usage.queue_length);
	set(metrics->store_queue_bytes, (double)usage.queue_bytes);
	set(metrics->store_appended, (double)usage.profiles_appended);
	set(metrics->store_deduplicated, (double)usage.profiles_deduplicated);
	set(metrics->store_damaged, (double)usage.damaged_windows);
	set(metrics->store_commits, (double)usage.commits);
	set(metrics->store_blocks, (double)usage.blocks_made);
	set(metrics->store_compacted, (double)usage.profiles_compacted);
	set(metrics->store_compaction_cpu, (double)usage.compaction_cpu_ns / (double)NS_PER_S);
	set(metrics->store_compaction_backlog, (double)usage.compaction_backlog);
}

static double resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	char line[128] = "";
	const char *second;

	if (!file)
		return 0;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	(void)fclose(file);
	second = strchr(line, ' ');
	return second ? strtod(second, NULL) * (double)sysconf(_SC_PAGESIZE) : 0;
}

static double open_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	double count = -3; /* ".", ".." and the folder's own */

	if (!folder)
		return 0;
	while (readdir(folder)) /* NOLINT(concurrency-mt-unsafe): a folder of our own */
		count++;
	(void)closedir(folder);
	return count;
}

static double cpu_seconds(void)
{
	struct rusage usage = { 0 };

	(void)getrusage(RUSAGE_SELF, &usage);
	return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void collect_process(const struct app *app)
{
	const struct app_metrics *metrics = app->metrics;

	set(metrics->process_cpu, cpu_seconds());
	set(metrics->process_resident, resident_bytes());
	set(metrics->process_open_fds, open_fds());
	set(metrics->process_start, (double)app->start_unix_ns / (double)NS_PER_S);
}

void app_metrics_collect(struct app *app)
{
	const struct app_metrics *metrics = app->metrics;

	collect_store(app);
	collect_process(app);
	set(metrics->memory_used, (double)budget_used(&app->memory));
	set(metrics->memory_limit, (double)app->memory.limit);
	if (app->gauge) {
		struct server_gauge gauge = { 0 };

		app->gauge(app->gauge_context, &gauge);
		metric_set(METRIC_OF(metrics->tcp_connections, STR("http")),
		           (double)gauge.connections);
		set(metrics->worker_queue_length, (double)gauge.queue_length);
		set(metrics->worker_busy, (double)gauge.workers_busy);
	}
}

void app_metrics_print_docs(struct strbuf *out)
{
	static const struct {
		const char *name;
		const char *type;
		const char *help;
		const char *labels[METRIC_LABELS_MAX + 1];
	} rows[] = {
#define COUNTER                                      "counter"
#define GAUGE                                        "gauge"
#define HISTOGRAM                                    "histogram"
#define METRIC(field, name, type, bounds, help, ...) { name, type, help, { __VA_ARGS__ } },
#include "server/metrics.def"
#undef METRIC
#undef COUNTER
#undef GAUGE
#undef HISTOGRAM
	};

	strbuf_add_text(out, "# Metrics\n\n"
	                     "Written by `vramscope config print-docs metrics` from "
	                     "`server/metrics.def`; served at `/metrics`.\n\n"
	                     "| metric | type | labels | what it is |\n"
	                     "|---|---|---|---|\n");
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		strbuf_printf(out, "| `%s` | %s | ", rows[i].name, rows[i].type);
		for (size_t j = 0; rows[i].labels[j]; j++)
			strbuf_printf(out, "%s%s", j > 0 ? ", " : "", rows[i].labels[j]);
		strbuf_printf(out, " | %s |\n", rows[i].help);
	}
	strbuf_add_text(out, "\n## The collector's\n\n"
	                     "From `collector/live/gpu_metrics.def`; served at `/metrics` of "
	                     "`collector`, and behind the server's own by `run`. Labels of a "
	                     "process: pid, comm, k8s_namespace, k8s_podname, "
	                     "k8s_containername, k8s_node, cluster.\n\n"
	                     "| metric | type | labels | what it is |\n"
	                     "|---|---|---|---|\n");
	gpu_metrics_print_docs(out);
}
