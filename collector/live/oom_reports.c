#include "collector/live/oom_reports.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/live/cuda_error.h"
#include "collector/live/device_groups.h"
#include "collector/live/profile_kinds.h"

#define MINUTE_NS (UINT64_C(60) * 1000000000)

struct held_row {
	uint32_t stack;
	uint16_t device; /* of its process */
	int64_t bytes;
};

/* What one process held: a part of the rows of its report. */
struct holder {
	struct gpu_process *process; /* NULL: it is kept nowhere */
	size_t first;
	size_t count;
};

struct oom_report {
	struct gpu_process *process; /* likewise */
	uint64_t time_ns;            /* of the event */
	int64_t unix_ns;
	int64_t begun_mono_ns;
	int64_t due_mono_ns;
	uint64_t requested_bytes;
	enum cuda_class memory_class;
	uint16_t device; /* of the process, where it wanted memory */
	uint32_t stack;
	bool has_recovered;
	bool has_seen_devices;
	bool has_device;
	uint64_t device_used_bytes;
	uint64_t device_total_bytes;

	struct holder *holders; /* NULL: no room for a copy */
	size_t holder_count;
	struct held_row *rows;
	size_t row_count;
	size_t bytes; /* that the budget was asked for */
};

struct oom_reports {
	const struct device_books *devices;
	struct gpu_process_table *processes;
	struct oom_report pending[OOM_PENDING_MAX];
	size_t count;
	uint64_t minute_begun_ns; /* of OOM_MINUTE_MAX */
	size_t minute_count;
	struct oom_counts counts;
};

struct oom_reports *oom_reports_new(const struct device_books *devices,
                                    struct gpu_process_table *processes)
{
	struct oom_reports *reports = mem_zalloc(1, sizeof(*reports));

	reports->devices = devices;
	reports->processes = processes;
	return reports;
}

/* A process of which a report says something: as long as it does, the table keeps it. */
static struct gpu_process *keep(struct gpu_process *process)
{
	process->report_count++;
	return process;
}

static void let_go(struct gpu_process *process)
{
	if (process)
		process->report_count--;
}

static void fini_report(struct oom_reports *reports, struct oom_report *report)
{
	let_go(report->process);
	for (size_t i = 0; i < report->holder_count; i++)
		let_go(report->holders[i].process);
	budget_give(gpu_process_table_budget(reports->processes), report->bytes);
	free(report->holders);
	free(report->rows);
}

void oom_reports_free(struct oom_reports *reports)
{
	if (!reports)
		return;
	for (size_t i = 0; i < reports->count; i++)
		fini_report(reports, &reports->pending[i]);
	free(reports);
}

struct oom_counts oom_reports_counts(const struct oom_reports *reports)
{
	return reports->counts;
}

int64_t oom_reports_due_mono_ns(const struct oom_reports *reports)
{
	int64_t due_mono_ns = INT64_MAX;

	for (size_t i = 0; i < reports->count; i++)
		if (reports->pending[i].due_mono_ns < due_mono_ns)
			due_mono_ns = reports->pending[i].due_mono_ns;
	return due_mono_ns;
}

/* ---- what processes hold ---- */

static bool holds(const struct memory_sum *sum)
{
	return sum->live_bytes > 0 && cuda_class_is_gpu(sum->memory_class);
}

static size_t count_rows(const struct gpu_process *process)
{
	const struct memory_sums *sums = &process->account.sums;
	size_t count = 0;

	for (uint32_t i = 0; process->account.gpu_live_bytes > 0 && i < memory_sums_count(sums);
	     i++)
		count += holds(memory_sums_at(sums, i));
	return count;
}

static void copy_rows(struct oom_report *report, struct gpu_process *process)
{
	const struct memory_sums *sums = &process->account.sums;
	struct holder *holder = &report->holders[report->holder_count];

	if (process->account.gpu_live_bytes == 0)
		return;
	*holder = (struct holder){ keep(process), report->row_count, 0 };
	for (uint32_t i = 0; i < memory_sums_count(sums); i++) {
		const struct memory_sum *sum = memory_sums_at(sums, i);

		if (!holds(sum))
			continue;
		report->rows[report->row_count++] =
			(struct held_row){ sum->stack, sum->device,
			                   wide_sum_value(sum->live_bytes) };
		holder->count++;
	}
	report->holder_count++;
}

/* Of all processes: on which device each is may be known only later. */
static void copy_holders(struct oom_reports *reports, struct oom_report *report)
{
	const size_t processes = gpu_process_table_count(reports->processes);
	size_t rows = 0;
	size_t holders = 0;
	size_t bytes;

	for (size_t i = 0; i < processes; i++) {
		const size_t count = count_rows(gpu_process_table_at(reports->processes, i));

		rows += count;
		holders += count > 0;
	}
	bytes = holders * sizeof(*report->holders) + rows * sizeof(*report->rows);
	if (!budget_take(gpu_process_table_budget(reports->processes), bytes)) {
		reports->counts.bare++;
		return;
	}
	report->bytes = bytes;
	report->holders = mem_zalloc(holders + 1, sizeof(*report->holders));
	report->rows = mem_zalloc(rows + 1, sizeof(*report->rows));
	for (size_t i = 0; i < processes; i++)
		copy_rows(report, gpu_process_table_at(reports->processes, i));
	assert(report->row_count == rows && report->holder_count == holders);
}

/* ---- calls ---- */

/*
 * Whether so many of all processes are reported in this minute. Calls of two threads may
 * come in another order than that of their times: an earlier one is of the same minute.
 */
static bool is_minute_full(struct oom_reports *reports, uint64_t time_ns)
{
	if (reports->minute_count == 0 || time_ns >= reports->minute_begun_ns + MINUTE_NS) {
		reports->minute_begun_ns = time_ns;
		reports->minute_count = 0;
	}
	return reports->minute_count == OOM_MINUTE_MAX;
}

static bool may_begin(struct oom_reports *reports, const struct gpu_process *process,
                      const struct cuda_event *event)
{
	if (process->end_mono_ns != 0 || reports->count == OOM_PENDING_MAX)
		return false;
	return event->time_ns >= process->next_oom_ns && !is_minute_full(reports, event->time_ns);
}

static void begin(struct oom_reports *reports, struct gpu_process *process,
                  const struct cuda_event *event, uint32_t stack, int64_t unix_ns)
{
	struct oom_report *report = &reports->pending[reports->count];
	const int64_t now_mono_ns = clock_mono_ns();

	if (!may_begin(reports, process, event)) {
		reports->counts.limited++;
		return;
	}
	*report = (struct oom_report){
		.process = keep(process),
		.time_ns = event->time_ns,
		.unix_ns = unix_ns,
		.begun_mono_ns = now_mono_ns,
		.due_mono_ns = now_mono_ns + OOM_RECOVERY_NS,
		.requested_bytes = event->bytes,
		.memory_class = gpu_account_class_of(event),
		.device = gpu_account_device_of(&process->account, event),
		.stack = stack,
	};
	copy_holders(reports, report);
	process->next_oom_ns = event->time_ns + (uint64_t)OOM_PROCESS_NS;
	reports->minute_count++;
	reports->count++;
}

static void recover(struct oom_reports *reports, const struct gpu_process *process,
                    const struct cuda_event *event)
{
	for (size_t i = 0; i < reports->count; i++) {
		struct oom_report *report = &reports->pending[i];

		if (report->process == process && event->bytes >= report->requested_bytes &&
		    event->time_ns >= report->time_ns &&
		    event->time_ns - report->time_ns <= (uint64_t)OOM_RECOVERY_NS)
			report->has_recovered = true;
	}
}

void oom_reports_see(struct oom_reports *reports, struct gpu_process *process,
                     const struct cuda_event *event, uint32_t stack, int64_t unix_ns)
{
	if (cuda_function(event->function)->role != CUDA_ROLE_ALLOC)
		return;
	if (event->kind == CUDA_EVENT_FAILED && event->result == CUDA_ERROR_OUT_OF_MEMORY)
		begin(reports, process, event, stack, unix_ns);
	else if (event->kind == CUDA_EVENT_ALLOC)
		recover(reports, process, event);
}

/* `former` has the count of all that name it. */
static void hand_over(struct oom_reports *reports, struct gpu_process **named,
                      const struct gpu_process *process, struct gpu_process *former)
{
	if (*named != process)
		return;
	*named = former;
	reports->counts.gone += former == NULL;
}

void oom_reports_exec(struct oom_reports *reports, const struct gpu_process *process,
                      struct gpu_process *former)
{
	for (size_t i = 0; i < reports->count; i++) {
		struct oom_report *report = &reports->pending[i];

		hand_over(reports, &report->process, process, former);
		for (size_t j = 0; j < report->holder_count; j++)
			hand_over(reports, &report->holders[j].process, process, former);
	}
}

/* ---- devices ---- */

static void see_device(const struct oom_reports *reports, struct oom_report *report)
{
	const struct gpu_process *process = report->process;
	const struct device_reading *device =
		process ? device_books_of(reports->devices,
	                                  gpu_process_device(process, report->device))
			: NULL;

	report->has_seen_devices = true;
	if (!device)
		return;
	report->has_device = true;
	report->device_used_bytes = device->used_bytes;
	report->device_total_bytes = device->total_bytes;
}

void oom_reports_see_devices(struct oom_reports *reports)
{
	const struct device_picture *picture =
		reports->devices ? device_books_picture(reports->devices) : NULL;

	/* one that was being read at the call may be of before it */
	for (size_t i = 0; picture && i < reports->count; i++)
		if (!reports->pending[i].has_seen_devices &&
		    picture->begun_mono_ns >= reports->pending[i].begun_mono_ns)
			see_device(reports, &reports->pending[i]);
}

bool oom_reports_want_devices(const struct oom_reports *reports)
{
	for (size_t i = 0; reports->devices && i < reports->count; i++)
		if (!reports->pending[i].has_seen_devices)
			return true;
	return false;
}

/* ---- publishing ---- */

static bool next_call(const void *rows, size_t *cursor, uint32_t *out_stack, int64_t *out_values)
{
	const struct oom_report *report = rows;

	if ((*cursor)++ > 0)
		return false;
	*out_stack = report->stack;
	out_values[0] = wide_sum_value(report->requested_bytes);
	if (report->has_device) {
		out_values[1] = wide_sum_value(report->device_used_bytes);
		out_values[2] = wide_sum_value(report->device_total_bytes);
	}
	return true;
}

/* What one process held on some of its devices. */
struct holder_rows {
	const struct oom_report *report;
	const struct holder *holder;
	const struct device_group *group;
};

static bool next_held(const void *rows, size_t *cursor, uint32_t *out_stack, int64_t *out_values)
{
	const struct holder_rows *of = rows;

	while (*cursor < of->holder->count) {
		const struct held_row *row = &of->report->rows[of->holder->first + (*cursor)++];

		if (!device_group_has(of->group, row->device))
			continue;
		*out_stack = row->stack;
		out_values[0] = row->bytes;
		return true;
	}
	return false;
}

/* Whether two labels may be of one device. */
static bool may_be_same(const char *one, const char *other)
{
	return strcmp(one, other) == 0 || strcmp(one, DEVICE_UNKNOWN) == 0 ||
	       strcmp(other, DEVICE_UNKNOWN) == 0;
}

/* What a process held where the call wanted memory, as far as is known. */
static void add_holder(const struct oom_report *report, const struct holder *holder,
                       const char *gpu, struct series_batch *batch)
{
	struct device_groups groups;

	device_groups_of(holder->process, &groups);
	for (size_t i = 0; i < groups.count; i++) {
		const struct device_group *group = &groups.groups[i];
		const struct holder_rows rows = { report, holder, group };

		if (may_be_same(gpu, group->gpu))
			series_batch_add(batch, &(struct series){
							.kind = profile_kind(PROFILE_KIND_PEAK),
							.time = { report->unix_ns, 0 },
							.scope = SERIES_OF_PROCESS,
							.process = holder->process,
							.gpu = group->gpu,
							.reason = "oom",
							.next = next_held,
							.rows = &rows,
						});
	}
}

static void publish(struct oom_reports *reports, const struct oom_report *report,
                    struct series_batch *batch)
{
	const struct gpu_process *process = report->process;
	const char *gpu;
	char error[CUDA_ERROR_TEXT];

	if (!process)
		return;
	gpu = gpu_process_device(process, report->device);
	cuda_error_name(CUDA_ERROR_OUT_OF_MEMORY, error);
	series_batch_add(batch,
	                 &(struct series){
				 .kind = profile_kind(report->has_device ? PROFILE_KIND_OOM_DEVICE
	                                                                 : PROFILE_KIND_OOM),
				 .time = { report->unix_ns, 0 },
				 .scope = SERIES_OF_PROCESS,
				 .process = process,
				 .gpu = gpu,
				 .cuda_class = cuda_class_name(report->memory_class),
				 .cuda_error = error,
				 .recovered = report->has_recovered ? "true" : "false",
				 .next = next_call,
				 .rows = report,
			 });
	for (size_t i = 0; i < report->holder_count; i++)
		if (report->holders[i].process)
			add_holder(report, &report->holders[i], gpu, batch);
	series_batch_flush(batch);
	reports->counts.reported++;
}

static bool is_late(const struct gpu_process *process)
{
	return process && process->identity.is_late;
}

/* Whether somebody in it has no name yet. */
static bool has_late(const struct oom_report *report)
{
	if (is_late(report->process))
		return true;
	for (size_t i = 0; i < report->holder_count; i++)
		if (is_late(report->holders[i].process))
			return true;
	return false;
}

void oom_reports_publish(struct oom_reports *reports, struct series_batch *batch,
                         int64_t now_mono_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < reports->count; i++) {
		struct oom_report *report = &reports->pending[i];

		if (report->due_mono_ns > now_mono_ns ||
		    (now_mono_ns != INT64_MAX && has_late(report))) {
			/* whoever is waited for is asked at ticks: nothing is gained before */
			if (report->due_mono_ns <= now_mono_ns)
				report->due_mono_ns = now_mono_ns + OOM_RECOVERY_NS;
			reports->pending[kept++] = *report;
			continue;
		}
		publish(reports, report, batch);
		fini_report(reports, report);
	}
	reports->count = kept;
}

/* ---- stacks ---- */

void oom_reports_mark(const struct oom_reports *reports, uint8_t *marks)
{
	for (size_t i = 0; i < reports->count; i++) {
		const struct oom_report *report = &reports->pending[i];

		marks[report->stack] = 1;
		for (size_t j = 0; j < report->row_count; j++)
			marks[report->rows[j].stack] = 1;
	}
}

void oom_reports_renumber(struct oom_reports *reports, const uint32_t *stack_numbers)
{
	for (size_t i = 0; i < reports->count; i++) {
		struct oom_report *report = &reports->pending[i];

		report->stack = stack_numbers[report->stack];
		for (size_t j = 0; j < report->row_count; j++)
			report->rows[j].stack = stack_numbers[report->rows[j].stack];
	}
}
