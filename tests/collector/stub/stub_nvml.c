/*
 * NVML without a GPU: what it says stands in a file, which each call reads anew.
 *
 * Setting  STUB_NVML names the file; its lines, in any order but that of devices:
 *          device UUID MINOR TOTAL USED RESERVED MODEL     (MODEL is the rest of the line)
 *          part DEVICE UUID TOTAL USED        of the device with that number
 *          process KIND WHICH PID BYTES       KIND compute, graphics or shared; WHICH: a
 *                                             device's number, or DEVICE.PART; BYTES -: not told
 *          fail FUNCTION RESULT               that function fails
 *          hang FUNCTION                      it does not return while the line is there
 *          entry SIZE                         of a process, in bytes (24)
 *          claim COUNT                        processes that lists say they have
 *          lost DEVICE                        it does not answer any more
 * Source   NVML API reference
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXPORT      __attribute__((visibility("default")))
#define DEVICES_MAX 16
#define PARTS_MAX   8
#define TEXT_SIZE   96
#define LINE_SIZE   512
#define PAUSE_NS    5000000
#define NOT_TOLD    UINT64_MAX
#define MEMORY_V2   (40U | 2U << 24)
#define VALUE(name) NVML_##name
#define LIST_OF(fn) EXPORT int fn(struct nvml_device *device, unsigned int *count, void *infos)

enum {
	NVML_SUCCESS = 0,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_GPU_IS_LOST = 15,
};

/* A handle: a device, or one of its parts. */
struct nvml_device {
	unsigned int number;
	int part; /* -1: the whole */
	int is_there;
	int is_lost;
	char uuid[TEXT_SIZE];
	char model[TEXT_SIZE];
	unsigned int minor;
	uint64_t total;
	uint64_t used;
	uint64_t reserved;
};

/* Handles stay where they are, as a library's do. */
static struct nvml_device devices[DEVICES_MAX][PARTS_MAX + 1];
static unsigned int device_count;

typedef int (*line_visitor)(void *context, const char *line);

/* Calls visit() for each line until it says other than 0, and gives that. */
static int each_line(line_visitor visit, void *context)
{
	const char *path = getenv("STUB_NVML"); /* NOLINT(concurrency-mt-unsafe): nobody sets any */
	FILE *file = path ? fopen(path, "re") : NULL;
	char line[LINE_SIZE];
	int found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = visit(context, line);
	}
	if (file)
		(void)fclose(file);
	return found;
}

/* NOLINTBEGIN(cert-err34-c): whoever writes the file writes numbers */

/* ---- what the file says ---- */

static int take_device(void *context, const char *line)
{
	struct nvml_device device = { .part = -1, .is_there = 1 };
	unsigned int whole;

	(void)context;
	if (sscanf(line, "device %95s %u %lu %lu %lu %95[^\n]", device.uuid, &device.minor,
	           &device.total, &device.used, &device.reserved, device.model) == 6 &&
	    device_count < DEVICES_MAX) {
		device.number = device_count;
		devices[device_count++][PARTS_MAX] = device;
	} else if (sscanf(line, "part %u %95s %lu %lu", &whole, device.uuid, &device.total,
	                  &device.used) == 4 &&
	           whole < device_count) {
		int part = 0;

		while (part < PARTS_MAX - 1 && devices[whole][part].is_there)
			part++;
		device.number = whole;
		device.part = part;
		devices[whole][part] = device;
	} else if (sscanf(line, "lost %u", &whole) == 1 && whole < device_count) {
		devices[whole][PARTS_MAX].is_lost = 1;
	}
	return 0;
}

static void read_devices(void)
{
	memset(devices, 0, sizeof(devices));
	device_count = 0;
	(void)each_line(take_device, NULL);
}

struct question {
	const char *key;
	const char *function;
	long value;
};

/* "KEY FUNCTION [VALUE]" */
static int find_function(void *context, const char *line)
{
	struct question *question = context;
	char key[TEXT_SIZE] = "";
	char function[TEXT_SIZE] = "";
	long value = 1;

	(void)sscanf(line, "%95s %95s %ld", key, function, &value);
	if (strcmp(key, question->key) != 0 || strcmp(function, question->function) != 0)
		return 0;
	question->value = value;
	return 1;
}

static long asked_of(const char *key, const char *function)
{
	struct question question = { key, function, 0 };

	return each_line(find_function, &question) ? question.value : 0;
}

/* "KEY VALUE" */
static int find_value(void *context, const char *line)
{
	struct question *question = context;
	char key[TEXT_SIZE] = "";

	return sscanf(line, "%95s %ld", key, &question->value) == 2 &&
	       strcmp(key, question->key) == 0;
}

static unsigned long value_of(const char *key, unsigned long otherwise)
{
	struct question question = { key, "", 0 };

	return each_line(find_value, &question) ? (unsigned long)question.value : otherwise;
}

/* What every call does first. */
static int begin(const char *function)
{
	const struct timespec pause = { 0, PAUSE_NS };

	while (asked_of("hang", function))
		(void)nanosleep(&pause, NULL);
	return (int)asked_of("fail", function);
}

#define BEGIN()                                      \
	do {                                         \
		const int result_ = begin(__func__); \
		if (result_)                         \
			return result_;              \
	} while (0)

static int copy_text(const char *text, char *out, unsigned int size)
{
	if (strlen(text) >= size)
		return VALUE(INSUFFICIENT_SIZE);
	memcpy(out, text, strlen(text) + 1);
	return VALUE(SUCCESS);
}

/* ---- devices ---- */

EXPORT int nvmlInit_v2(void)
{
	BEGIN();
	return VALUE(SUCCESS);
}

EXPORT int nvmlDeviceGetCount_v2(unsigned int *count)
{
	BEGIN();
	read_devices();
	*count = device_count;
	return VALUE(SUCCESS);
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned int index, struct nvml_device **device)
{
	BEGIN();
	if (index >= device_count)
		return VALUE(INVALID_ARGUMENT);
	if (devices[index][PARTS_MAX].is_lost)
		return VALUE(GPU_IS_LOST);
	*device = &devices[index][PARTS_MAX];
	return VALUE(SUCCESS);
}

EXPORT int nvmlDeviceGetUUID(struct nvml_device *device, char *text, unsigned int size)
{
	BEGIN();
	return copy_text(device->uuid, text, size);
}

EXPORT int nvmlDeviceGetName(struct nvml_device *device, char *text, unsigned int size)
{
	BEGIN();
	return copy_text(device->model, text, size);
}

EXPORT int nvmlDeviceGetMinorNumber(struct nvml_device *device, unsigned int *minor)
{
	BEGIN();
	if (device->part >= 0)
		return VALUE(NOT_SUPPORTED);
	*minor = device->minor;
	return VALUE(SUCCESS);
}

/* ---- memory ---- */

EXPORT int nvmlDeviceGetMemoryInfo(struct nvml_device *device, uint64_t memory[static 3])
{
	BEGIN();
	memory[0] = device->total;
	memory[1] = device->total - device->used - device->reserved;
	memory[2] = device->used + device->reserved;
	return VALUE(SUCCESS);
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(struct nvml_device *device, uint64_t memory[static 5])
{
	unsigned int version;

	BEGIN();
	memcpy(&version, memory, sizeof(version));
	if (version != MEMORY_V2)
		return VALUE(INVALID_ARGUMENT);
	memory[1] = device->total;
	memory[2] = device->reserved;
	memory[3] = device->total - device->used - device->reserved;
	memory[4] = device->used;
	return VALUE(SUCCESS);
}

/* ---- parts ---- */

EXPORT int nvmlDeviceGetMigMode(struct nvml_device *device, unsigned int *current,
                                unsigned int *pending)
{
	BEGIN();
	*current = *pending = (unsigned int)devices[device->number][0].is_there;
	return VALUE(SUCCESS);
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(struct nvml_device *device, unsigned int *count)
{
	BEGIN();
	(void)device;
	*count = 2 * PARTS_MAX;
	return VALUE(SUCCESS);
}

/* Parts stand at odd numbers: between them there is nothing. */
EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct nvml_device *device, unsigned int index,
                                               struct nvml_device **part)
{
	BEGIN();
	if (index % 2 == 0 || !devices[device->number][index / 2].is_there)
		return VALUE(NOT_FOUND);
	*part = &devices[device->number][index / 2];
	return VALUE(SUCCESS);
}

/* ---- processes ---- */

struct list {
	const char *kind;
	const struct nvml_device *device;
	char *entries;
	size_t size; /* of an entry */
	unsigned int room;
	unsigned int count;
};

static void put_entry(struct list *list, uint32_t pid, uint64_t bytes)
{
	const uint64_t none = UINT64_MAX; /* both instance ids */
	char *entry = list->entries + list->count * list->size;

	memcpy(entry, &pid, sizeof(pid));
	memcpy(entry + 8, &bytes, sizeof(bytes));
	if (list->size >= 24)
		memcpy(entry + 16, &none, sizeof(none));
	if (list->size >= 32)
		memset(entry + 24, 0, 8);
}

static int take_process(void *context, const char *line)
{
	struct list *list = context;
	char kind[TEXT_SIZE];
	char which[TEXT_SIZE];
	char bytes[TEXT_SIZE];
	char own[TEXT_SIZE];
	unsigned int pid;

	if (sscanf(line, "process %95s %95s %u %95s", kind, which, &pid, bytes) != 4)
		return 0;
	(void)snprintf(own, sizeof(own), list->device->part < 0 ? "%u" : "%u.%d",
	               list->device->number, list->device->part);
	if (strcmp(kind, list->kind) != 0 || strcmp(which, own) != 0)
		return 0;
	if (list->count < list->room)
		put_entry(list, pid, strcmp(bytes, "-") == 0 ? NOT_TOLD : strtoull(bytes, NULL, 0));
	list->count++;
	return 0;
}

static int fill(const char *kind, const struct nvml_device *device, unsigned int *count,
                void *infos)
{
	struct list list = { .kind = kind,
		             .device = device,
		             .entries = infos,
		             .size = value_of("entry", 24),
		             .room = infos ? *count : 0 };

	(void)each_line(take_process, &list);
	*count = (unsigned int)value_of("claim", list.count);
	return list.count > list.room ? VALUE(INSUFFICIENT_SIZE) : VALUE(SUCCESS);
}

LIST_OF(nvmlDeviceGetComputeRunningProcesses_v3)
{
	BEGIN();
	return fill("compute", device, count, infos);
}

LIST_OF(nvmlDeviceGetGraphicsRunningProcesses_v3)
{
	BEGIN();
	return fill("graphics", device, count, infos);
}

LIST_OF(nvmlDeviceGetMPSComputeRunningProcesses_v3)
{
	BEGIN();
	return fill("shared", device, count, infos);
}

/* NOLINTEND(cert-err34-c) */
