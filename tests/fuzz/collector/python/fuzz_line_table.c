/*
 * A line table of any version, any position: the line is none or one that can be.
 *
 * Input    a byte that selects the version, one that says how much of the table was cut,
 *          four bytes of position, four of the first line, the table.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collector/python/line_table.h"

#define HEAD 10

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_table table = { 0 };
	int32_t position;
	int64_t line;

	if (size < HEAD)
		return 0;
	table.version = 0x0308 + data[0] % 7;
	table.bytes = str_make(data + HEAD, size - HEAD);
	table.length = table.bytes.length + data[1];
	memcpy(&position, data + 2, sizeof(position));
	memcpy(&table.first_line, data + 6, sizeof(table.first_line));
	line = line_table_find(&table, position);
	assert(line >= 0 && line <= INT32_MAX);
	return 0;
}
