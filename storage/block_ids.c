#include "storage/block_ids.h"

#include "base/hash.h"
#include "base/id_map.h"
#include "base/uuid.h"
#include "base/wire.h"
#include "storage/block_numbers.h"
#include "storage/byte_cursor.h"
#include "storage/sample_page.h"

#define CODES 256 /* that are read at once */

static bool is_none(const uint8_t *id, size_t size)
{
	static const uint8_t none[TRACE_ID_SIZE];

	return memcmp(id, none, size) == 0;
}

/* A key that nobody can know, so that nobody can prepare collisions. */
static uint64_t draw_key(void)
{
	const struct uuid random = uuid_random();
	uint64_t key;

	memcpy(&key, random.bytes, sizeof(key));
	return key;
}

void block_ids_encode(const void *ids, size_t size, uint32_t row_count, int64_t *spare,
                      struct strbuf *out)
{
	const uint64_t key = draw_key();
	const uint8_t *id = ids;
	struct id_map numbers = { 0 };
	struct strbuf dictionary;
	struct block_numbers_plan plan;

	strbuf_init(&dictionary, out->limit);
	for (uint32_t i = 0; i < row_count; i++, id += size) {
		bool is_new = false;
		uint32_t number = 0;

		if (!is_none(id, size))
			number = id_map_add(&numbers, hash128(key, id, size), &is_new) + 1;
		if (is_new)
			strbuf_add(&dictionary, id, size);
		spare[i] = is_new || number == 0 ? is_new : 2 + numbers.count - number;
	}
	wire_put_varint(out, numbers.count);
	strbuf_add_str(out, strbuf_view(&dictionary));
	plan = block_numbers_measure(spare, row_count);
	block_numbers_encode(spare, row_count, &plan, out);
	strbuf_fini(&dictionary);
	id_map_fini(&numbers);
}

/* Ids of rows by their codes. False for a code that leads nowhere. */
static bool follow_codes(const struct block_numbers *codes, struct str dictionary, size_t size,
                         uint8_t *ids)
{
	const uint64_t count = dictionary.length / size;
	uint64_t met = 0;

	for (size_t i = 0; i < codes->count; i += CODES) {
		const size_t some = codes->count - i < CODES ? codes->count - i : CODES;
		int64_t chunk[CODES];

		block_numbers_read(codes, i, some, chunk);
		for (size_t j = 0; j < some; j++) {
			const uint64_t code = (uint64_t)chunk[j];
			uint64_t number;

			if (code == 0)
				continue;
			met += code == 1;
			number = code == 1 ? met : met - (code - 2);
			if (met > count || (code > 1 && code - 2 >= met))
				return false;
			memcpy(ids + (i + j) * size, dictionary.data + (number - 1) * size, size);
		}
	}
	return met == count;
}

int block_ids_decode(struct str column, size_t size, uint32_t row_count, struct arena *arena,
                     uint8_t **out, struct error *err)
{
	struct byte_cursor cursor = byte_cursor(column);
	const uint64_t count = byte_cursor_number(&cursor);
	const struct str dictionary =
		byte_cursor_run(&cursor, count <= column.length ? count * size : UINT64_MAX);
	struct block_numbers codes;
	uint8_t *ids;

	if (!block_numbers_decode(&cursor, row_count, &codes) || !byte_cursor_done(&cursor))
		return error_set(err, ERROR_CORRUPT, "ids of a block are damaged: columns");
	ids = arena_array(arena, row_count, size);
	if (!ids)
		return arena_error(arena, err);
	if (!follow_codes(&codes, dictionary, size, ids))
		return error_set(err, ERROR_CORRUPT, "ids of a block are damaged: a code");
	*out = ids;
	return 0;
}
