#include "collector/collector.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "collector/call_stacks.h"
#include "collector/device_round.h"
#include "collector/health_report.h"
#include "collector/kernel_counts.h"
#include "collector/live/earlier_memory.h"
#include "collector/live/tick_clock.h"
#include "collector/trouble_log.h"

#define STACK_BYTES_USUAL    ((size_t)128 << 20)
#define BLOCK_BYTES_USUAL    ((size_t)256 << 20)
#define PEAK_WINDOW_USUAL_NS (300 * NS_PER_S)
#define METRICS_MAX          ((size_t)32 << 20)
#define WAIT_MOST_NS         NS_PER_S /* whatever wakes nobody is seen by then */
#define TICK_DRAINS_MAX      256      /* of EVENT_DRAIN_USUAL: a storm does not hold up a tick */
#define HOSTNAME_BYTES       256

/* What a descriptor that is readable means. */
enum wait_reason {
	WAIT_EVENTS,
	WAIT_STOP,
	WAIT_DEVICES,
};

#define WAITED_FOR 4 /* descriptors */

struct collector {
	struct collector_options options;
	struct call_stacks *stacks;
	struct stack_table *table;
	struct gpu_process_table *processes;
	struct memory_tick *tick;
	struct gpu_metrics *metrics;
	struct device_round *devices;
	struct earlier_memory *earlier;
	struct tick_clock clock;
	int64_t first_metrics_mono_ns; /* 0: they were handed on */
	bool has_more;                 /* the source said so when it was drained last */
	bool has_ended;                /* it will give nothing any more */
	bool is_stopped;               /* somebody said so */
	int epoll;
	int stop; /* an eventfd */
	char hostname[HOSTNAME_BYTES];
	struct strbuf text;
};

/* ---- events ---- */

static uint32_t stack_of(struct collector *collector, struct gpu_process *process,
                         const struct cuda_event *event, size_t size)
{
	const enum cuda_function_id function = (enum cuda_function_id)event->function;
	struct frame_list callers;
	uint32_t stack;

	if (event->kind != CUDA_EVENT_ALLOC && event->kind != CUDA_EVENT_FAILED)
		return stack_lost(function);
	if (event->flags & CUDA_EVENT_SAMPLED)
		return stack_table_sampled(collector->table, function, process->captured[function]);
	callers = call_stacks_make(collector->stacks, event, size);
	stack = stack_table_add(collector->table, function, &callers, &process->stack_bytes);
	if (stack != stack_lost(function))
		process->captured[function] = stack;
	return stack;
}

/* When a call was, on the wall clock. */
static int64_t unix_of(const struct collector *collector, const struct cuda_event *event)
{
	const struct event_source *source = &collector->options.source;
	const int64_t age_ns = source->age ? source->age(source->context, event) : 0;

	return clock_unix_ns() - (age_ns > 0 ? age_ns : 0);
}

/* A call, in the books of its process. */
static void book(struct collector *collector, const struct cuda_event *event, size_t size)
{
	struct gpu_process *process;
	uint32_t stack;

	if (event->function >= CUDA_FUNCTION_COUNT)
		return;
	if (suspension_is_of(event)) {
		suspension_see(collector->processes, collector->options.proc, event);
		return;
	}
	process = gpu_process_table_get(collector->processes, event);
	if (!process)
		return;
	stack = stack_of(collector, process, event, size);
	gpu_account_book(&process->account, event, stack);
	memory_tick_see(collector->tick, process, event, stack, unix_of(collector, event));
	/* no other begins to wait for them, and one question is enough */
	if (event->kind == CUDA_EVENT_FAILED && memory_tick_wants_devices(collector->tick))
		device_round_ask(collector->devices);
	if (process->end_mono_ns != 0) /* it came behind the end: what it gave is gone too */
		gpu_account_close(&process->account);
}

/* Its last thread has ended, or it has become another program. */
static void take_end(struct collector *collector, const struct cuda_event *event)
{
	struct gpu_process *process =
		gpu_process_table_find(collector->processes, event->tgid, event->process_start_ns);

	if (event->kind == CUDA_EVENT_EXEC) {
		call_stacks_execed(collector->stacks, event->tgid);
		if (process)
			memory_tick_exec(collector->tick, process, event->time_ns);
		return;
	}
	call_stacks_end(collector->stacks, event->tgid, event->process_start_ns);
	if (process)
		gpu_process_end(process, clock_mono_ns());
}

static void take_event(void *context, const struct cuda_event *event, size_t size)
{
	struct collector *collector = context;

	gpu_metrics_count(collector->metrics, event);
	switch (event->kind) {
	case CUDA_EVENT_INIT:
		call_stacks_prepare(collector->stacks, event, size);
		break;
	case CUDA_EVENT_EXIT:
	case CUDA_EVENT_EXEC:
		take_end(collector, event);
		break;
	default:
		book(collector, event, size);
		break;
	}
}

static void take_definition(void *context, const struct code_definition *definition)
{
	const struct collector *collector = context;

	call_stacks_define(collector->stacks, definition);
}

static void take_mapped(void *context, uint32_t tgid, const struct mapped_file *file)
{
	const struct collector *collector = context;

	call_stacks_mapped(collector->stacks, tgid, file);
}

static void take_execed(void *context, uint32_t tgid)
{
	const struct collector *collector = context;

	call_stacks_execed(collector->stacks, tgid);
}

static void take_exited(void *context, uint32_t tgid)
{
	const struct collector *collector = context;

	call_stacks_exited(collector->stacks, tgid);
}

/* Up to `turns` times what one drain takes. */
static int drain(struct collector *collector, size_t turns, struct error *err)
{
	const struct event_source *source = &collector->options.source;
	const struct event_handlers handlers = {
		.event = take_event,
		.definition = take_definition,
		.mapped = take_mapped,
		.execed = take_execed,
		.exited = take_exited,
		.context = collector,
	};
	enum event_source_state state = EVENT_SOURCE_MORE;

	for (size_t i = 0; i < turns && state == EVENT_SOURCE_MORE && !collector->has_ended; i++) {
		if (source->drain(source->context, &handlers, EVENT_DRAIN_USUAL, &state, err) < 0)
			return -1;
		collector->has_ended = state == EVENT_SOURCE_END;
	}
	collector->has_more = state == EVENT_SOURCE_MORE;
	return 0;
}

/* ---- what the kernel has counted ---- */

static int count_all(struct collector *collector, struct error *err)
{
	CLEANUP(kernel_counts_fini)
	struct kernel_counts counts = { .source = &collector->options.source,
		                        .processes = collector->processes,
		                        .stacks = collector->stacks };

	kernel_counts_read(&counts);
	if (drain(collector, TICK_DRAINS_MAX, err) < 0)
		return -1;
	kernel_counts_book(&counts);
	return 0;
}

/* ---- devices ---- */

/* Which device each process is on, by what is known now. */
static void settle_devices(struct collector *collector)
{
	device_books_settle(device_round_books(collector->devices), collector->processes);
}

static void take_devices(struct collector *collector)
{
	trouble_log_devices(collector->devices);
	if (!device_round_take(collector->devices))
		return;
	settle_devices(collector);
	memory_tick_see_devices(collector->tick);
}

/* ---- ticks ---- */

static void hand_on_metrics(struct collector *collector)
{
	struct health_report report;

	collector->first_metrics_mono_ns = 0;
	if (!collector->options.metrics)
		return;
	health_report_make(&report, &collector->options.source, collector->stacks, collector->tick);
	strbuf_reset(&collector->text);
	gpu_metrics_format(collector->metrics, collector->processes, collector->table,
	                   &report.health, &collector->text);
	if (strbuf_overflowed(&collector->text))
		log_rarely(LOG_WARN, "metrics are larger than %zu bytes; they are left out",
		           METRICS_MAX);
	else
		collector->options.metrics(collector->options.metrics_context,
		                           strbuf_view(&collector->text));
}

/* No other tick will come: nobody's name can be waited for. */
static bool is_last(const struct collector *collector)
{
	return collector->has_ended || collector->is_stopped;
}

/* Whether a tick is due, and devices have said what they hold or are not waited for. */
static bool is_tick_ready(struct collector *collector)
{
	if (tick_clock_wait(&collector->clock, clock_unix_ns()) > 0)
		return false;
	if (device_round_due_mono_ns(collector->devices) == INT64_MAX)
		earlier_memory_ask(collector->earlier);
	return device_round_is_over(collector->devices);
}

static int tick(struct collector *collector, struct stack_profile_time time, struct error *err)
{
	if (count_all(collector, err) < 0)
		return -1;
	earlier_memory_see(collector->earlier);
	gpu_process_table_settle(collector->processes,
	                         is_last(collector) ? INT64_MAX : clock_mono_ns());
	settle_devices(collector);
	memory_tick_publish(collector->tick, time,
	                    is_last(collector) ? MEMORY_TICK_LAST : MEMORY_TICK_USUAL);
	hand_on_metrics(collector);
	device_round_finish(collector->devices);
	call_stacks_sweep(collector->stacks);
	gpu_process_table_forget(collector->processes, clock_mono_ns() - COLLECTOR_PROCESS_KEEP_NS);
	return 0;
}

/* What does not wait for a tick. Events that were sent by now may change it. */
static int publish_due(struct collector *collector, struct error *err)
{
	if (memory_tick_due_mono_ns(collector->tick) > clock_mono_ns())
		return 0;
	if (drain(collector, TICK_DRAINS_MAX, err) < 0)
		return -1;
	settle_devices(collector);
	memory_tick_publish_due(collector->tick, clock_mono_ns());
	return 0;
}

static int64_t shorter(int64_t wait_ns, int64_t due_mono_ns)
{
	const int64_t left_ns = due_mono_ns - clock_mono_ns();

	if (left_ns >= wait_ns)
		return wait_ns;
	return left_ns > 0 ? left_ns : 0;
}

static int64_t wait_ns(const struct collector *collector)
{
	int64_t wait = tick_clock_wait(&collector->clock, clock_unix_ns());

	if (device_round_due_mono_ns(collector->devices) != INT64_MAX)
		wait = shorter(WAIT_MOST_NS, device_round_due_mono_ns(collector->devices));
	wait = wait < WAIT_MOST_NS ? wait : WAIT_MOST_NS;
	if (collector->first_metrics_mono_ns != 0)
		wait = shorter(wait, collector->first_metrics_mono_ns);
	return shorter(wait, memory_tick_due_mono_ns(collector->tick));
}

/* Waits for events, the next tick or the end. */
static int wait_for_something(struct collector *collector, struct error *err)
{
	const bool can_wait = collector->options.source.descriptor >= 0 && !collector->has_more;
	const int64_t wait_ms = can_wait ? (wait_ns(collector) + NS_PER_MS - 1) / NS_PER_MS : 0;
	struct epoll_event events[WAITED_FOR];
	const int count = epoll_wait(collector->epoll, events, WAITED_FOR, (int)wait_ms);

	if (count < 0 && errno != EINTR)
		return error_set_errno(err, errno, "waiting for driver calls");
	for (int i = 0; i < count; i++)
		collector->is_stopped |= events[i].data.u32 == WAIT_STOP;
	return 0;
}

int collector_run(struct collector *collector, struct error *err)
{
	tick_clock_init(&collector->clock, collector->options.interval_ns, clock_unix_ns());
	collector->first_metrics_mono_ns = clock_mono_ns() + NS_PER_S;
	while (!collector->has_ended && !collector->is_stopped) {
		if (wait_for_something(collector, err) < 0 || drain(collector, 1, err) < 0 ||
		    publish_due(collector, err) < 0)
			return -1;
		trouble_log_source(&collector->options.source);
		trouble_log_stacks(collector->stacks);
		take_devices(collector);
		if (collector->first_metrics_mono_ns != 0 &&
		    clock_mono_ns() >= collector->first_metrics_mono_ns) {
			gpu_process_table_settle(collector->processes, clock_mono_ns());
			settle_devices(collector);
			hand_on_metrics(collector);
		}
		if (is_tick_ready(collector) &&
		    tick(collector, tick_clock_take(&collector->clock, clock_unix_ns()), err) < 0)
			return -1;
	}
	return tick(collector, tick_clock_finish(&collector->clock, clock_unix_ns()), err);
}

void collector_stop(struct collector *collector)
{
	const uint64_t one = 1;

	if (write(collector->stop, &one, sizeof(one)) < 0)
		return; /* it was told before */
}

/* ---- life ---- */

static int add_descriptor(const struct collector *collector, int descriptor,
                          enum wait_reason reason, struct error *err)
{
	struct epoll_event interest = { .events = EPOLLIN, .data.u32 = reason };

	if (epoll_ctl(collector->epoll, EPOLL_CTL_ADD, descriptor, &interest) < 0)
		return error_set_errno(err, errno, "waiting for driver calls");
	return 0;
}

static int open_descriptors(struct collector *collector, struct error *err)
{
	collector->epoll = epoll_create1(EPOLL_CLOEXEC);
	collector->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (collector->epoll < 0 || collector->stop < 0)
		return error_set_errno(err, errno, "waiting for driver calls");
	if (add_descriptor(collector, collector->stop, WAIT_STOP, err) < 0)
		return -1;
	if (collector->options.stop_descriptor > 0 &&
	    add_descriptor(collector, collector->options.stop_descriptor, WAIT_STOP, err) < 0)
		return -1;
	if (device_round_descriptor(collector->devices) >= 0 &&
	    add_descriptor(collector, device_round_descriptor(collector->devices), WAIT_DEVICES,
	                   err) < 0)
		return -1;
	if (collector->options.source.descriptor < 0)
		return 0;
	return add_descriptor(collector, collector->options.source.descriptor, WAIT_EVENTS, err);
}

static const char *hostname_of(struct collector *collector)
{
	if (collector->options.hostname)
		return collector->options.hostname;
	if (gethostname(collector->hostname, sizeof(collector->hostname) - 1) < 0)
		return "localhost";
	return collector->hostname;
}

static void make_parts(struct collector *collector)
{
	const struct collector_options *options = &collector->options;

	collector->table =
		stack_table_new(options->stack_bytes ? options->stack_bytes : STACK_BYTES_USUAL);
	collector->processes = gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = options->source.identify
	                         ? (struct process_namer){ options->source.identify,
	                                                   options->source.settle,
	                                                   options->source.context }
	                         : process_namer_of_proc("/proc"),
		.memory_bytes = options->block_bytes ? options->block_bytes : BLOCK_BYTES_USUAL,
	});
	collector->stacks = call_stacks_new(&(struct call_stacks_options){
		.symbol_cache_bytes = options->symbol_cache_bytes,
		.unnamed = options->unnamed,
		.internals = options->python_internals,
		.source = &options->source,
	});
	collector->metrics = gpu_metrics_new(&(struct gpu_metrics_options){
		.cluster = options->cluster, .devices = device_round_books(collector->devices) });
	collector->earlier = earlier_memory_new(
		options->proc, device_round_books(collector->devices), collector->processes);
	collector->tick = memory_tick_new(
		&(struct memory_tick_options){
			.series = {
				.service_suffix = options->service_suffix,
				.hostname = hostname_of(collector),
				.cluster = options->cluster,
				.has_pid_label = options->has_pid_label,
				.sink = options->sink,
			},
			.devices = device_round_books(collector->devices),
			.peak_window_ns = options->peak_window_ns ? options->peak_window_ns
	                                                          : PEAK_WINDOW_USUAL_NS,
			.malloc_series = options->malloc_series,
			.malloc_service_name = options->malloc_service_name,
		},
		collector->processes, collector->table);
}

int collector_open(const struct collector_options *options, struct collector **out,
                   struct error *err)
{
	struct collector *collector = mem_zalloc(1, sizeof(*collector));

	collector->options = *options;
	collector->epoll = collector->stop = -1;
	strbuf_init(&collector->text, METRICS_MAX);
	collector->devices = device_round_open(&(struct device_round_options){
		.proc = options->proc,
		.nvml = options->nvml,
		.host_root = options->host_root,
		.interval_ns = options->interval_ns,
	});
	if (open_descriptors(collector, err) < 0) {
		collector_close(collector);
		return -1;
	}
	make_parts(collector);
	*out = collector;
	return 0;
}

void collector_close(struct collector *collector)
{
	if (!collector)
		return;
	memory_tick_free(collector->tick);
	earlier_memory_free(collector->earlier);
	gpu_metrics_free(collector->metrics);
	call_stacks_free(collector->stacks);
	gpu_process_table_free(collector->processes);
	stack_table_free(collector->table);
	device_round_close(collector->devices);
	if (collector->options.source.close)
		collector->options.source.close(collector->options.source.context);
	if (collector->epoll >= 0)
		(void)close(collector->epoll);
	if (collector->stop >= 0)
		(void)close(collector->stop);
	strbuf_fini(&collector->text);
	free(collector);
}
