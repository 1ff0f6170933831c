#include "collector/live/memory_tick.h"

#include <stdlib.h>

#include "base/mem.h"
#include "collector/live/cuda_error.h"
#include "collector/live/device_groups.h"
#include "collector/live/oom_reports.h"
#include "collector/live/profile_kinds.h"
#include "collector/live/suspended_series.h"

/* What Inspektor Gadget counts for its flame graphs. */
static const char *const strict_functions[] = {
	"cuMemAlloc_v2",
	"cuMemAllocHost_v2",
	"cuMemAllocManaged",
	"cuMemAllocPitch_v2",
};

struct memory_tick {
	struct memory_tick_options options;
	struct gpu_process_table *processes;
	struct stack_table *stacks;
	struct series_batch *batch;
	struct oom_reports *ooms;
	struct stack_profile_time time;
	bool is_window_over; /* of peaks */
	int64_t peaks;       /* of this tick so far */
};

struct memory_tick *memory_tick_new(const struct memory_tick_options *options,
                                    struct gpu_process_table *processes, struct stack_table *stacks)
{
	struct memory_tick *tick = mem_zalloc(1, sizeof(*tick));

	tick->options = *options;
	tick->processes = processes;
	tick->stacks = stacks;
	tick->batch = series_batch_new(&options->series, stacks);
	tick->ooms = oom_reports_new(options->devices, processes);
	return tick;
}

void memory_tick_free(struct memory_tick *tick)
{
	if (!tick)
		return;
	oom_reports_free(tick->ooms);
	series_batch_free(tick->batch);
	free(tick);
}

struct memory_tick_counts memory_tick_counts(const struct memory_tick *tick)
{
	return (struct memory_tick_counts){ series_batch_dropped(tick->batch),
		                            oom_reports_counts(tick->ooms) };
}

void memory_tick_see(struct memory_tick *tick, struct gpu_process *process,
                     const struct cuda_event *event, uint32_t stack, int64_t unix_ns)
{
	struct high_water *high = &process->account.sums.high;

	if (high->unix_ns == 0)
		high->unix_ns = unix_ns;
	oom_reports_see(tick->ooms, process, event, stack, unix_ns);
}

void memory_tick_exec(struct memory_tick *tick, struct gpu_process *process, uint64_t time_ns)
{
	struct gpu_process *former = gpu_process_table_exec(tick->processes, process, time_ns);

	oom_reports_exec(tick->ooms, process, former);
}

void memory_tick_see_devices(struct memory_tick *tick)
{
	oom_reports_see_devices(tick->ooms);
}

bool memory_tick_wants_devices(const struct memory_tick *tick)
{
	return oom_reports_want_devices(tick->ooms);
}

int64_t memory_tick_due_mono_ns(const struct memory_tick *tick)
{
	return oom_reports_due_mono_ns(tick->ooms);
}

void memory_tick_publish_due(struct memory_tick *tick, int64_t now_mono_ns)
{
	oom_reports_publish(tick->ooms, tick->batch, now_mono_ns);
}

/* ---- rows ---- */

/* One class of a process, on some of its devices. */
struct class_rows {
	const struct memory_sums *sums;
	const struct device_group *group;
	enum cuda_class memory_class;
};

static bool next_memory(const void *rows, size_t *cursor, uint32_t *out_stack, int64_t *out_values)
{
	const struct class_rows *of = rows;

	while (*cursor < memory_sums_count(of->sums)) {
		const struct memory_sum *sum = memory_sums_at(of->sums, (uint32_t)(*cursor)++);

		if (sum->memory_class != of->memory_class ||
		    !device_group_has(of->group, sum->device) ||
		    (sum->alloc_objects == 0 && sum->alloc_bytes == 0 && sum->live_objects == 0))
			continue;
		*out_stack = sum->stack;
		out_values[0] = wide_sum_value(sum->alloc_bytes);
		out_values[1] = wide_sum_value(sum->alloc_objects);
		out_values[2] = wide_sum_value(sum->live_bytes);
		out_values[3] = wide_sum_value(sum->live_objects);
		return true;
	}
	return false;
}

struct malloc_rows {
	const struct memory_sums *sums;
	const struct stack_table *stacks;
	enum malloc_series which;
};

/* Whether the innermost frame, the driver's function, is one of the strict ones. */
static bool is_strict(const struct stack_table *stacks, uint32_t stack)
{
	const struct stack_frame *leaf =
		stack_table_frame(stacks, stack_table_node(stacks, stack)->frame);
	const struct str name = stack_table_string(stacks, leaf->name);

	for (size_t i = 0; i < ARRAY_LENGTH(strict_functions); i++)
		if (str_equals(name, strict_functions[i]))
			return true;
	return false;
}

static bool next_malloc(const void *rows, size_t *cursor, uint32_t *out_stack, int64_t *out_values)
{
	const struct malloc_rows *of = rows;

	while (*cursor < memory_sums_count(of->sums)) {
		const struct memory_sum *sum = memory_sums_at(of->sums, (uint32_t)(*cursor)++);

		/* registering pins memory that is there, it allocates none */
		if (sum->memory_class == CUDA_CLASS_REGISTERED || sum->alloc_bytes == 0 ||
		    (of->which == MALLOC_SERIES_STRICT && !is_strict(of->stacks, sum->stack)))
			continue;
		*out_stack = sum->stack;
		out_values[0] = wide_sum_value(sum->alloc_bytes);
		return true;
	}
	return false;
}

struct failure_rows {
	const struct gpu_account *account;
	const struct device_group *group;
	enum cuda_class memory_class;
	const char *cuda_error;
};

static bool next_failure(const void *rows, size_t *cursor, uint32_t *out_stack, int64_t *out_values)
{
	const struct failure_rows *of = rows;

	while (*cursor < of->account->failure_count) {
		const struct failure_sum *sum = &of->account->failures[(*cursor)++];
		char name[CUDA_ERROR_TEXT];

		cuda_error_name(sum->result, name);
		if (sum->memory_class != of->memory_class ||
		    !device_group_has(of->group, sum->device) || strcmp(name, of->cuda_error) != 0)
			continue;
		*out_stack = sum->stack;
		out_values[0] = wide_sum_value(sum->requested_bytes);
		out_values[1] = wide_sum_value(sum->failures);
		return true;
	}
	return false;
}

/* What a process held at its highest point, on some of its devices. */
struct peak_rows {
	const struct memory_sums *sums;
	const struct device_group *group;
};

static bool next_peak(const void *rows, size_t *cursor, uint32_t *out_stack, int64_t *out_values)
{
	const struct peak_rows *of = rows;

	while (*cursor < memory_sums_count(of->sums)) {
		const struct memory_sum *sum = memory_sums_at(of->sums, (uint32_t)(*cursor)++);
		const wide_sum bytes = high_water_of(&of->sums->high, sum);

		if (bytes == 0 || !device_group_has(of->group, sum->device))
			continue;
		*out_stack = sum->stack;
		out_values[0] = wide_sum_value(bytes);
		return true;
	}
	return false;
}

/* The one row of a device. */
static bool next_device(const void *rows, size_t *cursor, uint32_t *out_stack, int64_t *out_values)
{
	const struct device_reading *device = rows;

	if ((*cursor)++ > 0)
		return false;
	*out_stack = STACK_DEVICE;
	out_values[0] = wide_sum_value(device->used_bytes);
	out_values[1] = wide_sum_value(device->total_bytes);
	return true;
}

/* ---- series ---- */

/* Whether none before it in the list is in the same series. */
static bool is_first_of_its_series(const struct gpu_account *account,
                                   const struct device_group *group, size_t index)
{
	const struct failure_sum *failures = account->failures;

	for (size_t i = 0; i < index; i++)
		if (failures[i].memory_class == failures[index].memory_class &&
		    failures[i].result == failures[index].result &&
		    device_group_has(group, failures[i].device))
			return false;
	return true;
}

static void add_failures(struct memory_tick *tick, const struct gpu_process *process,
                         const struct device_group *group)
{
	const struct gpu_account *account = &process->account;

	for (size_t i = 0; i < account->failure_count; i++) {
		const enum cuda_class memory_class = account->failures[i].memory_class;
		char name[CUDA_ERROR_TEXT];
		const struct failure_rows rows = { account, group, memory_class, name };

		if (!device_group_has(group, account->failures[i].device) ||
		    !is_first_of_its_series(account, group, i))
			continue;
		cuda_error_name(account->failures[i].result, name);
		series_batch_add(tick->batch, &(struct series){
						      .kind = profile_kind(PROFILE_KIND_FAILED),
						      .time = tick->time,
						      .scope = SERIES_OF_PROCESS,
						      .process = process,
						      .gpu = group->gpu,
						      .cuda_class = cuda_class_name(memory_class),
						      .cuda_error = name,
						      .next = next_failure,
						      .rows = &rows,
					      });
	}
}

static void add_malloc(struct memory_tick *tick, const struct gpu_process *process)
{
	const struct malloc_rows rows = { &process->account.sums, tick->stacks,
		                          tick->options.malloc_series };
	const char *service = tick->options.malloc_service_name;

	if (tick->options.malloc_series == MALLOC_SERIES_OFF)
		return;
	series_batch_add(tick->batch,
	                 &(struct series){
				 .kind = profile_kind(PROFILE_KIND_MALLOC),
				 .time = tick->time,
				 .scope = SERIES_OF_OTHERS,
				 .process = process,
				 .service_name = service && service[0] ? service : NULL,
				 .next = next_malloc,
				 .rows = &rows,
			 });
}

/* What is live of a class beyond its books: on no device that is known. */
static bool has_earlier(const struct gpu_process *process, const struct device_group *group,
                        int memory_class)
{
	return memory_class == CUDA_CLASS_DEVICE && device_group_has(group, 0) &&
	       process->account.earlier_bytes > 0;
}

static void add_classes(struct memory_tick *tick, const struct gpu_process *process,
                        const struct device_group *group)
{
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		const struct class_books books =
			device_group_books(&process->account, group, (enum cuda_class)i);
		const struct class_rows rows = { &process->account.sums, group,
			                         (enum cuda_class)i };
		struct series series = {
			.kind = profile_kind(PROFILE_KIND_MEMORY),
			.time = tick->time,
			.scope = SERIES_OF_PROCESS,
			.process = process,
			.gpu = group->gpu,
			.cuda_class = cuda_class_name((enum cuda_class)i),
			.next = next_memory,
			.rows = &rows,
		};

		if (books.alloc_calls == 0 && books.alloc_bytes == 0 &&
		    !has_earlier(process, group, i))
			continue;
		series_batch_add(tick->batch, &series);
		if (books.live_blocks > 0 || has_earlier(process, group, i) ||
		    process->end_mono_ns != 0)
			continue;
		/* it runs, though there is nothing to show: whoever has no tick has ended */
		series.kind = profile_kind(PROFILE_KIND_NOTHING);
		series.next = NULL;
		series_batch_add(tick->batch, &series);
	}
}

static void add_peak(struct memory_tick *tick, const struct gpu_process *process,
                     const struct device_group *group)
{
	const struct high_water *high = &process->account.sums.high;
	const struct peak_rows rows = { &process->account.sums, group };
	/* processes that share a series do not share a moment: their peaks are no sum */
	const int64_t later_ns = tick->options.series.has_pid_label ? 0 : tick->peaks;

	series_batch_add(tick->batch, &(struct series){
					      .kind = profile_kind(PROFILE_KIND_PEAK),
					      .time = { (high->unix_ns != 0 ? high->unix_ns
	                                                                    : tick->time.unix_ns) +
	                                                        later_ns,
	                                                0 },
					      .scope = SERIES_OF_PROCESS,
					      .process = process,
					      .gpu = group->gpu,
					      .next = next_peak,
					      .rows = &rows,
				      });
}

static void add_devices(struct memory_tick *tick)
{
	const struct device_picture *picture;

	if (!tick->options.devices || !device_books_has_new(tick->options.devices))
		return;
	picture = device_books_picture(tick->options.devices);
	for (size_t i = 0; picture && i < picture->device_count; i++)
		if (picture->devices[i].has_memory)
			series_batch_add(tick->batch,
			                 &(struct series){
						 .kind = profile_kind(PROFILE_KIND_DEVICE),
						 .time = tick->time,
						 .gpu = picture->devices[i].uuid,
						 .next = next_device,
						 .rows = &picture->devices[i],
					 });
}

/* ---- a tick ---- */

/* Whether a window ends within this tick, or nothing more will be told. */
static bool ends_window(const struct memory_tick *tick, enum memory_tick_moment moment)
{
	const int64_t window_ns = tick->options.peak_window_ns;
	const int64_t begun_ns = tick->time.unix_ns - tick->time.duration_ns;

	return moment == MEMORY_TICK_LAST || tick->time.unix_ns / window_ns != begun_ns / window_ns;
}

static bool is_peak_due(const struct memory_tick *tick, const struct gpu_process *process)
{
	return tick->is_window_over || process->end_mono_ns != 0;
}

static void add_process(struct memory_tick *tick, const struct gpu_process *process)
{
	struct device_groups groups;

	device_groups_of(process, &groups);
	for (size_t i = 0; i < groups.count; i++) {
		add_classes(tick, process, &groups.groups[i]);
		add_failures(tick, process, &groups.groups[i]);
		if (is_peak_due(tick, process) && gpu_process_has_peak(process))
			add_peak(tick, process, &groups.groups[i]);
	}
	tick->peaks += is_peak_due(tick, process) && gpu_process_has_peak(process);
	add_malloc(tick, process);
	suspended_series_add(tick->batch, process, tick->time);
}

/* What a sum still says of its stack: blocks, or a part of the highest point. */
static bool refers(const struct memory_sums *sums, const struct memory_sum *sum)
{
	return sum->live_objects > 0 || high_water_of(&sums->high, sum) > 0;
}

/* Stacks that nothing refers to any more go, when they are the larger part. */
static void throw_away(struct memory_tick *tick)
{
	const size_t count = gpu_process_table_count(tick->processes);
	uint8_t *marks;
	uint32_t *numbers;

	for (size_t i = 0; i < count; i++)
		if (gpu_process_table_at(tick->processes, i)->identity.is_late)
			return; /* what it allocated and failed at refers to stacks, too */
	marks = stack_table_marks(tick->stacks);
	for (size_t i = 0; i < count; i++) {
		struct gpu_account *account = &gpu_process_table_at(tick->processes, i)->account;

		gpu_account_rebuild(account, NULL);
		for (uint32_t j = 0; j < memory_sums_count(&account->sums); j++)
			if (refers(&account->sums, memory_sums_at(&account->sums, j)))
				marks[memory_sums_at(&account->sums, j)->stack] = 1;
	}
	oom_reports_mark(tick->ooms, marks);
	stack_table_shrink(tick->stacks, marks, &numbers);
	for (size_t i = 0; numbers && i < count; i++)
		gpu_process_renumber(gpu_process_table_at(tick->processes, i), numbers);
	if (numbers)
		oom_reports_renumber(tick->ooms, numbers);
	free(numbers);
}

/* What was handed on counts anew. */
static void begin_anew(const struct memory_tick *tick, struct gpu_process *process)
{
	struct gpu_account *account = &process->account;

	gpu_account_sent(account);
	process->is_published |= process->end_mono_ns != 0 && process->is_settled;
	if (!is_peak_due(tick, process))
		return;
	process->told_peak_bytes = account->sums.high.bytes;
	high_water_begin(&account->sums.high, account->gpu_live_bytes, tick->time.unix_ns);
}

void memory_tick_publish(struct memory_tick *tick, struct stack_profile_time time,
                         enum memory_tick_moment moment)
{
	const size_t count = gpu_process_table_count(tick->processes);

	tick->time = time;
	tick->is_window_over = ends_window(tick, moment);
	tick->peaks = 0;
	series_batch_add(tick->batch, &(struct series){
					      .kind = profile_kind(PROFILE_KIND_NOTHING),
					      .time = time,
				      });
	add_devices(tick);
	for (size_t i = 0; i < count; i++) {
		struct gpu_process *process = gpu_process_table_at(tick->processes, i);

		if (!process->identity.is_late)
			add_process(tick, process);
	}
	series_batch_flush(tick->batch);
	if (moment == MEMORY_TICK_LAST)
		memory_tick_publish_due(tick, INT64_MAX);
	for (size_t i = 0; i < count; i++) {
		struct gpu_process *process = gpu_process_table_at(tick->processes, i);

		if (!process->identity.is_late) /* else its deltas wait for its name */
			begin_anew(tick, process);
	}
	throw_away(tick);
}
