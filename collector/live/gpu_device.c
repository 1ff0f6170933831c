#include "collector/live/gpu_device.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

#define LINES_MAX  64 /* of a device's information */
#define NAME_BYTES 32 /* "0000:07:00.0" */
#define PATH_BYTES 256

struct bus_names {
	char names[PICTURE_DEVICES_MAX][NAME_BYTES];
	size_t count;
};

/* "Model: \t NVIDIA A100" */
static bool read_value(struct str line, struct str key, struct str *out)
{
	if (!str_starts_with(line, key))
		return false;
	*out = str_trim(str_skip(line, key.length));
	return out->length > 0 && out->length < DEVICE_TEXT;
}

static void copy_text(struct str text, char out[static DEVICE_TEXT])
{
	(void)snprintf(out, DEVICE_TEXT, "%.*s", STR_ARGS(text));
}

static void take_line(struct str line, struct device_reading *out)
{
	struct str value;
	uint64_t number;

	if (read_value(line, STR("Model:"), &value))
		copy_text(value, out->model);
	/* it may be unknown as yet: "GPU-????????-..." */
	if (read_value(line, STR("GPU UUID:"), &value) && str_index(value, '?') < 0)
		copy_text(value, out->uuid);
	if (read_value(line, STR("Device Minor:"), &value) &&
	    str_to_u64(value, UINT32_MAX, &number)) {
		out->minor = (uint32_t)number;
		out->has_minor = true;
	}
}

static bool read_device(const char *folder, const char *name, struct device_reading *out)
{
	char path[PATH_BYTES + NAME_BYTES + sizeof("/information")];
	char line[PATH_BYTES];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s/information", folder, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	*out = (struct device_reading){ .uuid = "" };
	for (int i = 0; i < LINES_MAX && fgets(line, sizeof(line), file); i++)
		take_line(str_of(line), out);
	(void)fclose(file);
	return out->uuid[0] != '\0';
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(left, right);
}

static void list_names(const char *folder_path, struct bus_names *out)
{
	const struct dirent *entry;
	DIR *folder = opendir(folder_path);

	if (!folder)
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a folder of our own */
	while (out->count < PICTURE_DEVICES_MAX && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < NAME_BYTES)
			memcpy(out->names[out->count++], entry->d_name, strlen(entry->d_name) + 1);
	(void)closedir(folder);
	qsort(out->names, out->count, NAME_BYTES, compare_names);
}

size_t gpu_device_list(const char *proc, struct device_reading out[static PICTURE_DEVICES_MAX])
{
	struct bus_names names = { .count = 0 };
	char folder[PATH_BYTES];
	size_t count = 0;

	if (snprintf(folder, sizeof(folder), "%s/driver/nvidia/gpus", proc) >= PATH_BYTES)
		return 0;
	list_names(folder, &names);
	for (size_t i = 0; i < names.count; i++)
		count += read_device(folder, names.names[i], &out[count]);
	return count;
}
