#include "collector/identity/device_sight.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FILES_MAX  4096 /* that are looked at, some ms; of more it is not certain which device */
#define PATH_BYTES 256
#define LINK_BYTES 64 /* longer ones are no devices */

/* ---- environment ---- */

static void set_visible(struct str value, struct device_sight *out)
{
	const bool is_list = str_index(value, ',') >= 0;

	value = str_trim(value);
	out->visibility = DEVICES_OTHER;
	if (value.length == 0 ||
	    value.length >= (is_list ? (size_t)DEVICE_SIGHT_TEXT : (size_t)DEVICE_SIGHT_NAME))
		return;
	out->visibility = is_list ? DEVICES_SEVERAL : DEVICES_ONE;
	memcpy(out->visible, value.data, value.length);
	out->visible[value.length] = '\0';
}

void device_sight_environment(struct str environment, struct device_sight *out)
{
	const struct str visible = STR("CUDA_VISIBLE_DEVICES=");
	const struct str order = STR("CUDA_DEVICE_ORDER=");
	struct str variable;

	out->visibility = DEVICES_ALL;
	while (str_split(&environment, '\0', &variable)) {
		if (str_starts_with(variable, visible) && out->visibility == DEVICES_ALL)
			set_visible(str_skip(variable, visible.length), out);
		if (str_starts_with(variable, order))
			out->has_bus_order =
				str_equals(str_skip(variable, order.length), "PCI_BUS_ID");
	}
}

/* ---- open files ---- */

/* Whether that is /dev/nvidiaN, and which. */
static bool read_minor(const char *path, uint32_t *out)
{
	const struct str prefix = STR("/dev/nvidia");
	char target[LINK_BYTES];
	const ssize_t length = readlink(path, target, sizeof(target));
	const struct str text = str_make(target, length > 0 ? (size_t)length : 0);
	uint64_t number;

	if (!str_starts_with(text, prefix) ||
	    !str_to_u64(str_skip(text, prefix.length), UINT32_MAX, &number))
		return false;
	*out = (uint32_t)number;
	return true;
}

static void see_minor(uint32_t minor, struct device_sight *out)
{
	if (out->opened == DEVICE_FILES_NONE) {
		out->opened = DEVICE_FILES_ONE;
		out->open_minor = minor;
	} else if (out->opened == DEVICE_FILES_ONE && out->open_minor != minor) {
		out->opened = DEVICE_FILES_SEVERAL;
	}
}

void device_sight_files(const char *proc, uint32_t tgid, struct device_sight *out)
{
	char folder[PATH_BYTES];
	char path[PATH_BYTES + NAME_MAX + 1];
	const struct dirent *entry;
	size_t count = 0;
	DIR *files;

	out->opened = DEVICE_FILES_NONE;
	if (snprintf(folder, sizeof(folder), "%s/%" PRIu32 "/fd", proc, tgid) >= PATH_BYTES)
		return;
	files = opendir(folder);
	if (!files)
		return;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): nobody else has this one */
	while (out->opened != DEVICE_FILES_SEVERAL && (entry = readdir(files))) {
		uint32_t minor;

		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (read_minor(path, &minor))
			see_minor(minor, out);
		if (++count > FILES_MAX)
			out->opened = DEVICE_FILES_SEVERAL;
	}
	(void)closedir(files);
}
