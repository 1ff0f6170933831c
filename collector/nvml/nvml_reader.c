#include "collector/nvml/nvml_reader.h"

#include <stddef.h>

#include "base/clock.h"
#include "collector/nvml/nvml_holders.h"
#include "collector/nvml/nvml_library.h"

#define PARTS_MAX 64 /* of one device; there are 7 */

struct reader {
	const struct nvml_calls *calls;
	enum nvml_pids pids;
	struct device_picture *out;
};

/* Printable, whole, and not empty: it becomes a label. */
static bool is_text(const char text[static DEVICE_TEXT])
{
	size_t length = 0;

	for (; length < DEVICE_TEXT && text[length]; length++)
		if (text[length] < ' ' || text[length] > '~')
			return false;
	return length > 0 && length < DEVICE_TEXT;
}

/* ---- one device ---- */

static void set_memory(struct device_reading *device, uint64_t used, uint64_t free, uint64_t total)
{
	device->has_memory = total > 0 && used <= total && free <= total;
	device->used_bytes = device->has_memory ? used : 0;
	device->total_bytes = device->has_memory ? total : 0;
}

/* As nvidia-smi shows it, where the driver is new enough. */
static void read_memory(const struct reader *reader, struct nvml_device *handle,
                        struct device_reading *device)
{
	struct nvml_memory_v2 newer = { .version = NVML_MEMORY_V2 };
	struct nvml_memory memory = { 0 };

	if (reader->calls->memory_v2 && reader->calls->memory_v2(handle, &newer) == NVML_OK)
		set_memory(device, newer.used, newer.free, newer.total);
	else if (reader->calls->memory && reader->calls->memory(handle, &memory) == NVML_OK)
		set_memory(device, memory.used, memory.free, memory.total);
}

/* Whatever a part does not say of itself is as of the whole. */
static void add_device(const struct reader *reader, struct nvml_device *handle,
                       const struct device_reading *whole)
{
	struct device_picture *out = reader->out;
	struct device_reading device = *whole;
	const uint32_t number = (uint32_t)out->device_count;

	if (number == PICTURE_DEVICES_MAX ||
	    reader->calls->uuid(handle, device.uuid, DEVICE_TEXT) != NVML_OK ||
	    !is_text(device.uuid))
		return;
	read_memory(reader, handle, &device);
	if (reader->pids == NVML_PIDS_OURS)
		device.has_holders = nvml_holders_read(
			reader->calls, handle, number,
			device.has_memory ? device.total_bytes : NVML_NO_VALUE, out);
	out->devices[out->device_count++] = device;
}

/* ---- parts ---- */

static bool has_parts(const struct nvml_calls *calls, struct nvml_device *handle)
{
	unsigned int current = 0;
	unsigned int pending = 0;

	return calls->part_mode && calls->part_count && calls->part_at &&
	       calls->part_mode(handle, &current, &pending) == NVML_OK && current == NVML_PARTS_ON;
}

static void add_parts(const struct reader *reader, struct nvml_device *handle,
                      const struct device_reading *whole)
{
	struct device_reading like = *whole;
	unsigned int count = 0;

	like.is_part = true;
	if (reader->calls->part_count(handle, &count) != NVML_OK)
		return;
	for (unsigned int i = 0; i < count && i < PARTS_MAX; i++) {
		struct nvml_device *part = NULL;

		/* numbers that no part has are not found */
		if (reader->calls->part_at(handle, i, &part) == NVML_OK)
			add_device(reader, part, &like);
	}
}

/* ---- all ---- */

static void read_device(const struct reader *reader, unsigned int index)
{
	const struct nvml_calls *calls = reader->calls;
	struct device_reading whole = { .uuid = "" };
	struct nvml_device *handle = NULL;
	unsigned int minor = 0;
	const size_t before = reader->out->device_count;

	if (calls->device_at(index, &handle) != NVML_OK)
		return;
	if (!calls->name || calls->name(handle, whole.model, DEVICE_TEXT) != NVML_OK ||
	    !is_text(whole.model))
		whole.model[0] = '\0';
	whole.has_minor = calls->minor && calls->minor(handle, &minor) == NVML_OK;
	whole.minor = minor;
	if (has_parts(calls, handle))
		add_parts(reader, handle, &whole);
	if (reader->out->device_count == before)
		add_device(reader, handle, &whole);
}

int nvml_reader_read(const struct nvml_calls *calls, enum nvml_pids pids,
                     struct device_picture *out, struct error *err)
{
	const struct reader reader = { calls, pids, out };
	unsigned int count = 0;
	const int64_t begun_mono_ns = clock_mono_ns();
	const int result = calls->device_count(&count);

	if (result != NVML_OK)
		return nvml_result_error("nvmlDeviceGetCount_v2", result, err);
	out->device_count = out->holder_count = 0;
	for (unsigned int i = 0; i < count && i < PICTURE_DEVICES_MAX; i++)
		read_device(&reader, i);
	out->begun_mono_ns = begun_mono_ns;
	out->mono_ns = clock_mono_ns();
	return 0;
}
