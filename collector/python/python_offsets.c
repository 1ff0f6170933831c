#include "collector/python/python_offsets.h"

#include <string.h>

#include "base/cleanup.h"

#define NONE   PYTHON_OFFSET_NONE
#define PLAIN  0
#define OBJECT 1

#define BLOCK_MAGIC         "xdebugpy"
#define BLOCK_MAGIC_BYTES   8
#define BLOCK_VERSION       8
#define BLOCK_FREE_THREADED 16

#define COLUMN_BLOCK_3_13 7 /* behind those of the seven versions */
#define COLUMN_BLOCK_3_14 8
#define COLUMN_COUNT      9

#define HEADER_GROWTH 16 /* of an object's header in a free-threaded build */

struct offset_row {
	const char *field;
	size_t place; /* in struct python_offsets */
	int behind_header;
	uint32_t columns[COLUMN_COUNT];
};

static const struct offset_row rows[] = {
#define PYTHON_OFFSET(field, behind, ...) \
	{ #field, offsetof(struct python_offsets, field), behind, { __VA_ARGS__ } },
#include "collector/python/python_offsets.def"
#undef PYTHON_OFFSET
};

static uint32_t *offset_at(struct python_offsets *offsets, const struct offset_row *row)
{
	return (uint32_t *)((char *)offsets + row->place);
}

int python_offsets_of_version(uint32_t version, struct python_description *description,
                              struct error *err)
{
	if (version < PYTHON_VERSION_OLDEST || version > PYTHON_VERSION_NEWEST)
		return error_set(err, ERROR_INVALID, "Python %u.%u is not among those known",
		                 version >> 8, version & 0xff);
	description->version = version;
	description->flags = 0;
	description->string_kind_bit = 2;
	description->string_ascii_bit = 6;
	description->offsets.reserved = 0;
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++)
		*offset_at(&description->offsets, &rows[i]) =
			rows[i].columns[version - PYTHON_VERSION_OLDEST];
	return 0;
}

static uint64_t number_at(const uint8_t *block, size_t place)
{
	uint64_t number;

	memcpy(&number, block + place, sizeof(number));
	return number;
}

/* What the tables have, for an object's longer header. */
static void widen_headers(struct python_description *description)
{
	description->flags |= PYTHON_FREE_THREADED;
	if (description->version >= PYTHON_VERSION(3, 14)) {
		description->string_kind_bit = 8;
		description->string_ascii_bit = 12;
	}
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		uint32_t *offset = offset_at(&description->offsets, &rows[i]);

		if (rows[i].behind_header && *offset != NONE)
			*offset += HEADER_GROWTH;
	}
}

static int take_offsets(const uint8_t *block, size_t length, size_t column,
                        struct python_offsets *offsets, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
		const uint32_t place = rows[i].columns[column];
		uint64_t offset;

		if (place == NONE)
			continue;
		if (place + sizeof(offset) > length)
			return error_set(err, ERROR_INVALID, "its table of offsets is cut");
		offset = number_at(block, place);
		if (offset > PYTHON_OFFSET_MAX)
			return error_set(err, ERROR_INVALID,
			                 "its table of offsets says %llu for %s",
			                 (unsigned long long)offset, rows[i].field);
		*offset_at(offsets, &rows[i]) = (uint32_t)offset;
	}
	return 0;
}

int python_offsets_of_block(const uint8_t *block, size_t length,
                            struct python_description *description, struct error *err)
{
	uint32_t version;

	if (length < BLOCK_FREE_THREADED + sizeof(uint64_t) ||
	    memcmp(block, BLOCK_MAGIC, BLOCK_MAGIC_BYTES) != 0)
		return 0;
	version = (uint32_t)(number_at(block, BLOCK_VERSION) >> 16);
	if (version < PYTHON_VERSION(3, 13))
		return error_set(err, ERROR_INVALID,
		                 "its table of offsets is of version %u.%u, which has none",
		                 version >> 8 & 0xff, version & 0xff);
	if (python_offsets_of_version(version, description, err) < 0)
		return -1;
	if (number_at(block, BLOCK_FREE_THREADED) != 0)
		widen_headers(description);
	if (take_offsets(block, length,
	                 version == PYTHON_VERSION(3, 13) ? COLUMN_BLOCK_3_13 : COLUMN_BLOCK_3_14,
	                 &description->offsets, err) < 0)
		return -1;
	return 1;
}
