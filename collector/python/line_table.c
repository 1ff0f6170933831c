/*
 * The forms, as far as a line needs them:
 *
 *   co_lnotab, 3.8, 3.9     pairs: bytes of code (unsigned), lines (signed). Each pair moves
 *                           both; a line holds from its address on.
 *   co_linetable, 3.10      pairs: bytes of code (unsigned), lines (signed; -128: these
 *                           bytes have no line). Each pair is a range of code.
 *   co_linetable, 3.11+     entries: a byte 1cccclll (code c, l + 1 units of code), then
 *                           what the code says: 0-9 one byte, 10-12 two bytes and the line
 *                           moves by c - 10, 13 a signed number of lines, 14 the same and
 *                           three numbers of columns, 15 nothing: no line.
 *
 * Numbers are groups of six bits, the lowest first, bit 6 says that another follows. A
 * signed one has its sign in bit 0.
 */
#include "collector/python/line_table.h"

#define VERSION_LINE_RANGES 0x030a
#define VERSION_LOCATIONS   0x030b

#define NO_LINE_DELTA (-128)

enum location_code {
	LOCATION_SHORT_LAST = 9,
	LOCATION_ONE_LINE_FIRST = 10,
	LOCATION_ONE_LINE_LAST = 12,
	LOCATION_NO_COLUMNS = 13,
	LOCATION_LONG = 14,
};

struct cursor {
	const uint8_t *at;
	const uint8_t *end;
};

static struct cursor cursor_of(struct str bytes)
{
	const uint8_t *at = (const uint8_t *)bytes.data;

	return (struct cursor){ at, at + bytes.length };
}

/* -128 to 127 */
static int signed_byte(uint8_t byte)
{
	return byte < 0x80 ? byte : byte - 0x100;
}

static int64_t known(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? line : 0;
}

static int64_t find_in_lnotab(const struct line_table *table, int32_t position)
{
	struct cursor cursor = cursor_of(table->bytes);
	int64_t line = table->first_line;
	int64_t address = 0;

	for (; cursor.end - cursor.at >= 2; cursor.at += 2) {
		address += cursor.at[0];
		if (address > position)
			return known(line);
		line += signed_byte(cursor.at[1]);
	}
	/* The last line goes on to the end of the code, unless there is more of the table. */
	return table->bytes.length < table->length ? 0 : known(line);
}

static int64_t find_in_ranges(const struct line_table *table, int32_t position)
{
	struct cursor cursor = cursor_of(table->bytes);
	int64_t line = table->first_line;
	int64_t end = 0;

	for (; cursor.end - cursor.at >= 2; cursor.at += 2) {
		const int delta = signed_byte(cursor.at[1]);

		end += cursor.at[0];
		if (delta != NO_LINE_DELTA)
			line += delta;
		if (position < end)
			return delta == NO_LINE_DELTA ? 0 : known(line);
	}
	return 0;
}

/* Past its 32nd bit a number is out of order; its rest is read and not used. */
static uint32_t read_number(struct cursor *cursor)
{
	uint64_t number = 0;
	unsigned int shift = 0;

	while (cursor->at < cursor->end) {
		const uint8_t byte = *cursor->at++;

		if (shift < 32)
			number |= (uint64_t)(byte & 0x3f) << shift;
		shift += 6;
		if ((byte & 0x40) == 0)
			break;
	}
	return (uint32_t)number;
}

static int64_t read_signed(struct cursor *cursor)
{
	const uint32_t number = read_number(cursor);
	const int64_t magnitude = number >> 1;

	return number & 1 ? -magnitude : magnitude;
}

static void skip_bytes(struct cursor *cursor, ptrdiff_t count)
{
	cursor->at += count < cursor->end - cursor->at ? count : cursor->end - cursor->at;
}

/* Reads what follows an entry's first byte; returns by how much the line moves. */
static int64_t read_location(struct cursor *cursor, unsigned int code)
{
	int64_t delta;

	if (code <= LOCATION_SHORT_LAST) {
		skip_bytes(cursor, 1);
		return 0;
	}
	if (code <= LOCATION_ONE_LINE_LAST) {
		skip_bytes(cursor, 2);
		return code - LOCATION_ONE_LINE_FIRST;
	}
	if (code > LOCATION_LONG)
		return 0;
	delta = read_signed(cursor);
	if (code == LOCATION_LONG)
		for (int column = 0; column < 3; column++)
			read_number(cursor);
	return delta;
}

static int64_t find_in_locations(const struct line_table *table, int32_t position)
{
	struct cursor cursor = cursor_of(table->bytes);
	int64_t line = table->first_line;
	int64_t end = 0;

	while (cursor.at < cursor.end) {
		const uint8_t first = *cursor.at++;
		const unsigned int code = (first >> 3) & 15;

		line += read_location(&cursor, code);
		end += (first & 7) + 1;
		/* What was cut in its middle may have lost its line. */
		if (cursor.at == cursor.end && table->bytes.length < table->length)
			return 0;
		if (position < end)
			return code > LOCATION_LONG ? 0 : known(line);
	}
	return 0;
}

int64_t line_table_find(const struct line_table *table, int32_t position)
{
	if (position < 0)
		return known(table->first_line);
	if (table->version < VERSION_LINE_RANGES)
		return find_in_lnotab(table, position);
	if (table->version < VERSION_LOCATIONS)
		return find_in_ranges(table, position);
	return find_in_locations(table, position);
}
