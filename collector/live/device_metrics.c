#include "collector/live/device_metrics.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "collector/live/device_groups.h"

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

static void put_rest(const struct metrics_text *text, const struct gpu_process *process,
                     const char *gpu, wide_sum held, wide_sum live)
{
	strbuf_printf(text->out, "%s{", metrics_text_name(GPU_METRIC_UNATTRIBUTED));
	metrics_text_process(text, process->tgid, &process->identity);
	strbuf_add_byte(text->out, ',');
	metrics_text_label(text->out, "gpu", gpu);
	strbuf_printf(text->out, "} %" PRId64 "\n", wide_sum_value(held) - wide_sum_value(live));
}

/* The bytes of one device; 0: it does not count the process. */
static wide_sum held_of(const struct device_picture *picture, const struct held_devices *held,
                        const char *gpu)
{
	for (size_t i = 0; i < held->count; i++)
		if (strcmp(picture->devices[held->holders[i].device].uuid, gpu) == 0)
			return held->holders[i].bytes;
	return 0;
}

static const struct device_group *find_group(const struct device_groups *groups, const char *gpu)
{
	for (size_t i = 0; i < groups->count; i++)
		if (strcmp(groups->groups[i].gpu, gpu) == 0)
			return &groups->groups[i];
	return NULL;
}

/* Of each device that counts the process, or has memory of it in our books. */
static void put_rests(const struct metrics_text *text, const struct gpu_process *process,
                      const struct device_picture *picture, const struct held_devices *held,
                      const struct device_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++) {
		const struct device_group *group = &groups->groups[i];
		const wide_sum bytes = held_of(picture, held, group->gpu);
		const wide_sum live = device_group_live(&process->account, group);

		if (bytes > 0 || live > 0)
			put_rest(text, process, group->gpu, bytes, live);
	}
	for (size_t i = 0; i < held->count; i++) {
		const struct device_holder *holder = &held->holders[i];
		const char *gpu = picture->devices[holder->device].uuid;

		if (!find_group(groups, gpu))
			put_rest(text, process, gpu, holder->bytes, 0);
	}
}

/*
 * What devices count for a process beyond what our books have of it: of each, or, where some
 * of it lies on a device that is not known, of all of them.
 */
static void put_unattributed(const struct metrics_text *text, const struct device_books *devices,
                             const struct device_picture *picture)
{
	metrics_text_begin(text, GPU_METRIC_UNATTRIBUTED);
	for (size_t i = 0; i < text->process_count; i++) {
		const struct gpu_process *process = text->processes[i];
		const struct device_group *unknown;
		struct device_groups groups;
		struct held_devices held;

		if (!device_books_held(devices, process, &held))
			continue;
		device_groups_of(process, &groups);
		unknown = find_group(&groups, DEVICE_UNKNOWN);
		if (unknown && device_group_live(&process->account, unknown) > 0)
			put_rest(text, process, DEVICE_UNKNOWN, held_devices_bytes(&held),
			         gpu_account_told_bytes(&process->account));
		else
			put_rests(text, process, picture, &held, &groups);
	}
}

/* What of it was there before: 0 too, so that nothing is missing from a sum of them. */
static void put_earlier(const struct metrics_text *text)
{
	metrics_text_begin(text, GPU_METRIC_EARLIER);
	for (size_t i = 0; i < text->process_count; i++) {
		const struct gpu_process *process = text->processes[i];

		strbuf_printf(text->out, "%s{", metrics_text_name(GPU_METRIC_EARLIER));
		metrics_text_process(text, process->tgid, &process->identity);
		strbuf_printf(text->out, "} %" PRId64 "\n",
		              wide_sum_value(process->account.earlier_bytes));
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
	put_unattributed(text, devices, picture);
	put_earlier(text);
}
