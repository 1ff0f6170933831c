#include "server/byte_size.h"

#include <stdio.h>

#include "base/cleanup.h"

static void format(uint64_t bytes, double base, const char *const *units, size_t unit_count,
                   char text[static BYTE_SIZE_TEXT])
{
	double size = (double)bytes;
	size_t unit = 0;

	while (size >= base && unit + 1 < unit_count) {
		size /= base;
		unit++;
	}
	(void)snprintf(text, BYTE_SIZE_TEXT, unit > 0 && size < 9.95 ? "%.1f %s" : "%.0f %s", size,
	               units[unit]);
}

void byte_size_decimal(uint64_t bytes, char text[static BYTE_SIZE_TEXT])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };

	format(bytes, 1000, units, ARRAY_LENGTH(units), text);
}

void byte_size_binary(uint64_t bytes, char text[static BYTE_SIZE_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	format(bytes, 1024, units, ARRAY_LENGTH(units), text);
}
