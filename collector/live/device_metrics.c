#include "collector/live/device_metrics.h"

#include <inttypes.h>

#include "base/clock.h"

/* The process of an id that runs, of those that are shown; NULL: there is none. */
static const struct gpu_process *running_process(const struct metrics_text *text, uint32_t tgid)
{
	for (size_t i = 0; i < text->process_count; i++)
		if (text->processes[i]->tgid == tgid && text->processes[i]->end_mono_ns == 0)
			return text->processes[i];
	return NULL;
}

/* Who has not called the driver while we watched has no name here. */
static void put_holder(const struct metrics_text *text, uint32_t tgid)
{
	static const struct process_identity nobody;
	const struct gpu_process *process = running_process(text, tgid);

	metrics_text_process(text, tgid, process ? &process->identity : &nobody);
}

static void put_used_by_processes(const struct metrics_text *text,
                                  const struct device_picture *picture)
{
	metrics_text_begin(text, GPU_METRIC_NVML_USED);
	for (size_t i = 0; i < picture->holder_count; i++) {
		const struct device_holder *holder = &picture->holders[i];

		if (!holder->has_bytes)
			continue;
		strbuf_printf(text->out, "%s{", metrics_text_name(GPU_METRIC_NVML_USED));
		put_holder(text, holder->tgid);
		strbuf_add_byte(text->out, ',');
		metrics_text_label(text->out, "gpu", picture->devices[holder->device].uuid);
		strbuf_printf(text->out, "} %" PRIu64 "\n", holder->bytes);
	}
}

/* What a device counts for a process beyond what our books have of it. */
static void put_unattributed(const struct metrics_text *text, const struct device_books *devices)
{
	metrics_text_begin(text, GPU_METRIC_UNATTRIBUTED);
	for (size_t i = 0; i < text->process_count; i++) {
		const struct gpu_process *process = text->processes[i];
		int64_t held_bytes;

		if (!device_books_held(devices, process, &held_bytes))
			continue;
		strbuf_printf(text->out, "%s{", metrics_text_name(GPU_METRIC_UNATTRIBUTED));
		metrics_text_process(text, process->tgid, &process->identity);
		strbuf_printf(text->out, "} %" PRId64 "\n",
		              held_bytes - wide_sum_value(process->account.gpu_live_bytes));
	}
}

static void put_memory_of_devices(const struct metrics_text *text,
                                  const struct device_picture *picture, enum gpu_metric_id id)
{
	metrics_text_begin(text, id);
	for (size_t i = 0; i < picture->device_count; i++) {
		const struct device_reading *device = &picture->devices[i];

		if (device->has_memory)
			metrics_text_number(text, id, "gpu", device->uuid,
			                    id == GPU_METRIC_DEVICE_USED ? device->used_bytes
			                                                 : device->total_bytes);
	}
}

void device_metrics_format(const struct metrics_text *text, const struct device_books *devices)
{
	const struct device_picture *picture = device_books_picture(devices);
	const int64_t age_ns = device_books_age_ns(devices);

	metrics_text_family(text, GPU_METRIC_NVML_UP, picture != NULL);
	if (age_ns >= 0)
		metrics_text_family(text, GPU_METRIC_NVML_AGE, (uint64_t)(age_ns / NS_PER_S));
	if (!picture)
		return;
	put_memory_of_devices(text, picture, GPU_METRIC_DEVICE_USED);
	put_memory_of_devices(text, picture, GPU_METRIC_DEVICE_TOTAL);
	put_used_by_processes(text, picture);
	put_unattributed(text, devices);
}
