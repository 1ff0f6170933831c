#include "collector/live/gpu_device.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#define LINES_MAX 64 /* of a device's information */

/* "GPU UUID: \t GPU-1234..." */
static bool read_uuid(const char *path, char out[static GPU_DEVICE_TEXT])
{
	FILE *file = fopen(path, "re");
	char line[256];
	bool is_found = false;

	if (!file)
		return false;
	for (int i = 0; i < LINES_MAX && !is_found && fgets(line, sizeof(line), file); i++) {
		const struct str text = str_of(line);
		struct str value;

		if (!str_starts_with(text, STR("GPU UUID:")))
			continue;
		value = str_trim(str_skip(text, strlen("GPU UUID:")));
		is_found = value.length > 0 && value.length < GPU_DEVICE_TEXT &&
		           str_index(value, '?') < 0; /* unknown as yet */
		if (is_found)
			(void)snprintf(out, GPU_DEVICE_TEXT, "%.*s", STR_ARGS(value));
	}
	(void)fclose(file);
	return is_found;
}

void gpu_device_name(const char *proc, char out[static GPU_DEVICE_TEXT])
{
	char folder_path[256];
	char path[1024] = "";
	const struct dirent *entry;
	size_t count = 0;
	DIR *folder;

	(void)snprintf(out, GPU_DEVICE_TEXT, "unknown");
	if (snprintf(folder_path, sizeof(folder_path), "%s/driver/nvidia/gpus", proc) >=
	    (int)sizeof(folder_path))
		return;
	folder = opendir(folder_path);
	if (!folder)
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): a folder of our own */
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		(void)snprintf(path, sizeof(path), "%s/%s/information", folder_path, entry->d_name);
	}
	(void)closedir(folder);
	if (count == 1)
		(void)read_uuid(path, out);
}
