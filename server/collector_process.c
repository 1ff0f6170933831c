#include "server/collector_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "collector/collector.h"
#include "collector/kernel_source.h"
#include "collector/replay/recorded_source.h"
#include "collector/replay/recording_tap.h"
#include "collector/watch/requirements.h"
#include "server/collector_identity.h"
#include "server/http/metrics_port.h"
#include "server/http/notify.h"
#include "server/open_files.h"
#include "server/options.h"
#include "server/process_signals.h"
#include "server/push/link_frame.h"

#define RETRY_FIRST_NS      (500 * NS_PER_MS) /* guesses, as are the three below */
#define RETRY_MOST_NS       (30 * NS_PER_S)
#define LAST_MOMENTS_NS     (5 * NS_PER_S)
#define DELIVERY_POLL_MS    50
#define DURATION_LEAST_NS   NS_PER_S
#define INTERVAL_MOST_NS    (3600 * NS_PER_S)
#define PEAK_WINDOW_MOST_NS (1800 * NS_PER_S) /* servers refuse what is older than an hour */
#define SPOOL_RETRY_NS      (5 * NS_PER_S)
#define DRAIN_PAUSE_NS      (10 * NS_PER_MS)    /* an hour of ticks a second is out in 36 s, */
#define DRAIN_BYTES_S       ((uint64_t)8 << 20) /* a full spool in 30 s */
#define TEXT_MAX            LINK_METRICS_MAX    /* the collector's, and what became of pushes */

_Static_assert(METRICS_PORT_BYTES_MAX >= TEXT_MAX, "whoever shows the text has room for it");

/* What runs; torn down in the reverse order of its making, but for the end's own order. */
struct collecting {
	const struct collector_process *process;
	struct push_queue *queue;
	struct collector *collector;
	struct identifier *identifier; /* NULL: a recording says who processes are */
	int signals;                   /* readable when it should end */
	struct strbuf text;
};

int collector_process_check(const struct options *options, struct error *err)
{
	const struct {
		int64_t value_ns;
		int64_t most_ns;
		const char *name;
		const char *text;
		const char *most;
	} durations[] = {
		{ options->collector_interval_ns, INTERVAL_MOST_NS, "interval",
		  options->texts[OPTION_ID_collector_interval_ns], "1h" },
		{ options->collector_peak_window_ns, PEAK_WINDOW_MOST_NS, "peak-window",
		  options->texts[OPTION_ID_collector_peak_window_ns], "30m" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(durations); i++)
		if (durations[i].value_ns < DURATION_LEAST_NS ||
		    durations[i].value_ns > durations[i].most_ns)
			return error_set(err, ERROR_INVALID,
			                 "-collector.%s=%s is not within 1s and %s",
			                 durations[i].name, durations[i].text, durations[i].most);
	return 0;
}

void collector_process_prepare(const struct options *options)
{
	process_signals_block(NULL);
	log_set_format((enum log_format)options->log_format);
	log_set_level((enum log_level)options->log_level);
	log_name_thread("collector");
	open_files_raise();
}

void collector_process_stop(void)
{
	(void)kill(getpid(), SIGTERM);
}

static int open_signals(enum collector_role role, int *out, struct error *err)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	if (role == COLLECTOR_ALONE)
		(void)sigaddset(&signals, SIGINT);
	*out = signalfd(-1, &signals, SFD_CLOEXEC);
	return *out < 0 ? error_set_errno(err, errno, "waiting for signals") : 0;
}

/* ---- metrics ---- */

static bool has_spool(const struct options *options)
{
	return options->push_spool[0] && strcmp(options->push_spool, "off") != 0;
}

/* Clocks are set; then it may be younger than nothing. */
static uint64_t age_s(int64_t since_unix_ns)
{
	const int64_t now = clock_unix_ns();

	return since_unix_ns > 0 && now > since_unix_ns
	               ? (uint64_t)((now - since_unix_ns) / NS_PER_S)
	               : 0;
}

static void put_pushes(const struct collecting *collecting, struct strbuf *out)
{
	const struct push_queue_counts counts = push_queue_counts(collecting->queue);
	const struct named_count outcomes[] = {
		{ "delivered", counts.delivered },
		{ "retried", counts.retried },
		{ "refused", counts.refused },
		{ "dropped", push_queue_dropped(&counts) },
	};
	struct named_count drops[PUSH_DROP_COUNT];

	for (size_t i = 0; i < PUSH_DROP_COUNT; i++)
		drops[i] = (struct named_count){ push_drop_names[i], counts.backlog.dropped[i] };
	gpu_metrics_format_pushes(
		&(struct push_health){
			.outcomes = outcomes,
			.outcome_count = ARRAY_LENGTH(outcomes),
			.drops = drops,
			.drop_count = ARRAY_LENGTH(drops),
			.waiting_in_memory = counts.backlog.waiting - counts.backlog.spool_waiting,
			.waiting_in_spool = counts.backlog.spool_waiting,
			.waiting_bytes = counts.backlog.waiting_bytes,
			.oldest_age_s = age_s(counts.backlog.oldest_unix_ns),
			.spool_bytes = counts.backlog.spool_bytes,
			.has_spool = has_spool(collecting->process->options),
			.is_spooling = counts.backlog.is_spooling,
		},
		out);
}

static void put_pods(const struct collecting *collecting, struct strbuf *out)
{
	struct identifier_counts counts;

	if (!collecting->identifier)
		return;
	counts = identifier_counts(collecting->identifier);
	gpu_metrics_format_pods(&counts, out);
}

static void take_metrics(void *context, struct str text)
{
	struct collecting *collecting = context;
	const struct collector_process *process = collecting->process;

	strbuf_reset(&collecting->text);
	strbuf_add_str(&collecting->text, text);
	put_pushes(collecting, &collecting->text);
	put_pods(collecting, &collecting->text);
	if (!strbuf_overflowed(&collecting->text))
		process->metrics(process->context, strbuf_view(&collecting->text));
}

/* ---- life ---- */

/* To end; waits for that as poll() does. It stays said: whoever asks again hears it again. */
static bool is_told(const struct collecting *collecting, int timeout_ms)
{
	struct pollfd told = { .fd = collecting->signals, .events = POLLIN };

	return poll(&told, 1, timeout_ms) == 1;
}

/* Nothing can be watched: says so to whoever asks, and waits for the end. */
static int wait_without(struct collecting *collecting, const struct error *why)
{
	log_warn("GPU memory is not watched: %s; the server goes on without", why->message);
	strbuf_reset(&collecting->text);
	gpu_metrics_format_down(&collecting->text);
	collecting->process->metrics(collecting->process->context, strbuf_view(&collecting->text));
	while (!is_told(collecting, -1))
		continue;
	return 0;
}

/* What the machine lacks, where that is known. */
static int explain(struct error *err)
{
	const struct error cause = *err;
	struct requirement missing;

	if (!requirements_explain(&missing))
		return -1;
	return error_set(err, cause.code, "%s (%s: %s; %s)", cause.message, missing.name,
	                 missing.detail, missing.remedy);
}

static int open_kernel(struct collecting *collecting, struct event_source *out, struct error *err)
{
	const struct options *options = collecting->process->options;

	if (collector_identity_open(options, &collecting->identifier, err) < 0)
		return -1;
	if (kernel_source_open(
		    &(struct kernel_source_options){
			    .storm_limit = options->collector_storm_limit < UINT32_MAX
	                                           ? (uint32_t)options->collector_storm_limit
	                                           : 0,
			    .has_contexts = options->collector_gpu_contexts,
			    .namer = identifier_namer(collecting->identifier),
		    },
		    out, err) < 0)
		return explain(err);
	return 0;
}

/* A recording is shown again and again in `run`; else it is sent on once. */
static int open_replay(const struct collector_process *process, struct event_source *out,
                       struct error *err)
{
	const char *path = process->options->collector_replay;

	if (recorded_source_open(
		    path, process->role == COLLECTOR_OF_RUN ? RECORDED_PACED : RECORDED_AT_ONCE,
		    out, err) < 0)
		return error_context(err, "-collector.replay=%s", path);
	return 0;
}

static int open_source(struct collecting *collecting, struct event_source *out, struct error *err)
{
	const struct collector_process *process = collecting->process;
	const struct options *options = process->options;
	struct event_source kernel;

	if (options->collector_replay[0])
		return open_replay(process, out, err);
	if (!options->collector_record[0])
		return open_kernel(collecting, out, err);
	if (open_kernel(collecting, &kernel, err) < 0)
		return -1;
	if (recording_tap_open(options->collector_record, &kernel, out, err) < 0)
		return error_context(err, "-collector.record=%s", options->collector_record);
	return 0;
}

/* A recording says nothing of this machine's devices. */
static const char *nvml_of(const struct options *options)
{
	if (options->collector_replay[0] || strcmp(options->collector_nvml, "off") == 0)
		return NULL;
	return strcmp(options->collector_nvml, "auto") == 0 ? "" : options->collector_nvml;
}

static int open_collector(struct collecting *collecting, struct error *err)
{
	const struct options *options = collecting->process->options;
	struct collector_options wanted = {
		.interval_ns = options->collector_interval_ns,
		.service_suffix = options->collector_service_suffix,
		.cluster = options->collector_cluster,
		.hostname = collector_identity_hostname(options),
		.has_pid_label = options->collector_pid_label,
		.peak_window_ns = options->collector_peak_window_ns,
		.malloc_series = (enum malloc_series)options->collector_compat,
		.malloc_service_name = options->compat_service_name,
		.python_internals = (enum python_internals)options->collector_python_internals,
		.unnamed = options->collector_raw_addresses ? FRAME_UNNAMED_ADDRESS
		                                            : FRAME_UNNAMED_MODULE,
		.symbol_cache_bytes = (size_t)options->collector_symbol_cache_bytes,
		.sink = push_queue_sink(collecting->queue),
		.metrics = take_metrics,
		.metrics_context = collecting,
		.proc = options->collector_replay[0] ? NULL : "/proc",
		.nvml = nvml_of(options),
		.host_root = options->collector_host_root[0] ? options->collector_host_root
		                                             : "/proc/1/root",
		.stop_descriptor = collecting->signals,
	};

	if (open_source(collecting, &wanted.source, err) < 0)
		return -1;
	return collector_open(&wanted, &collecting->collector, err);
}

static const char *what_is_watched(const struct options *options)
{
	return options->collector_replay[0] ? "a recording, not this machine" : "the CUDA driver";
}

/* `run` serves on where watching is not allowed; not where a recording was asked for. */
static bool goes_on_without(const struct collector_process *process, const struct error *why)
{
	const struct options *options = process->options;

	return process->role == COLLECTOR_OF_RUN && why->code != ERROR_INVALID &&
	       !options->collector_replay[0] && !options->collector_record[0];
}

static int collect(struct collecting *collecting, struct error *err)
{
	if (is_told(collecting, 0))
		return 0; /* before it has begun */
	if (open_collector(collecting, err) < 0)
		return goes_on_without(collecting->process, err) ? wait_without(collecting, err)
		                                                 : -1;
	log_info("watching %s, a tick each %lld s", what_is_watched(collecting->process->options),
	         (long long)(collecting->process->options->collector_interval_ns / NS_PER_S));
	if (collecting->process->role == COLLECTOR_ALONE)
		notify_send("READY=1");
	return collector_run(collecting->collector, err);
}

/* A recording that has ended has all the time that its server takes; whoever stops us, not. */
static void wait_for_delivery(const struct collecting *collecting)
{
	while (push_queue_counts(collecting->queue).backlog.waiting > 0 &&
	       !is_told(collecting, DELIVERY_POLL_MS))
		continue;
}

static struct push_queue *make_queue(const struct collector_process *process)
{
	const struct options *options = process->options;

	return push_queue_new(&(struct push_queue_options){
		.transport = process->transport,
		.backlog = { .memory_bytes = (size_t)options->push_max_bytes,
	                     .max_age_ns = options->push_max_age_ns,
	                     .spool_path = has_spool(options) ? options->push_spool : NULL,
	                     .spool_bytes = options->push_spool_max_bytes,
	                     .spool_retry_ns = SPOOL_RETRY_NS },
		.retry_first_ns = RETRY_FIRST_NS,
		.retry_most_ns = RETRY_MOST_NS,
		.drain_pause_ns = DRAIN_PAUSE_NS,
		.drain_bytes_s = DRAIN_BYTES_S,
		.last_moments_ns = LAST_MOMENTS_NS,
	});
}

int collector_process_run(const struct collector_process *process)
{
	struct collecting collecting = { .process = process, .signals = -1 };
	struct error err = { 0 };
	int status = -1;

	strbuf_init(&collecting.text, TEXT_MAX);
	collecting.queue = make_queue(process);
	if (open_signals(process->role, &collecting.signals, &err) == 0)
		status = collect(&collecting, &err);
	if (status < 0)
		log_error("%s", err.message);
	else
		wait_for_delivery(&collecting);
	push_queue_free(collecting.queue);
	process->delivered(process->context);
	collector_close(collecting.collector);
	identifier_close(collecting.identifier);
	if (collecting.signals >= 0)
		(void)close(collecting.signals);
	strbuf_fini(&collecting.text);
	return status < 0 ? 1 : 0;
}
