/*
 * The walking reader beside the parser: what the parser takes, the reader tells the same,
 * and what it skips it can read again. On anything else both end.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compare(struct json_reader *reader, struct arena *arena, const struct json *value);

static void compare_members(struct json_reader *reader, struct arena *arena,
                            const struct json *value)
{
	size_t count = 0;
	struct str key;
	struct error err = { 0 };
	int more;

	assert(json_reader_enter_map(reader, &err) == 0);
	while ((more = json_reader_next_member(reader, arena, &key, &err)) > 0) {
		const struct str name = arena_copy(arena, key); /* with a NUL behind it */

		assert(name.data);
		compare(reader, arena, json_get(value, name.data));
		count++;
	}
	assert(more == 0);
	assert(count == json_length(value));
}

static void compare_items(struct json_reader *reader, struct arena *arena, const struct json *value)
{
	size_t count = 0;
	struct error err = { 0 };
	int more;

	assert(json_reader_enter_list(reader, &err) == 0);
	while ((more = json_reader_next_item(reader, &err)) > 0)
		compare(reader, arena, json_at(value, count++));
	assert(more == 0);
	assert(count == json_length(value));
}

/* Recurses at most JSON_DEPTH_MAX deep. */
static void compare(struct json_reader *reader, struct arena *arena, const struct json *value)
{
	struct error err = { 0 };
	struct str text;
	double number;

	switch (json_kind(value)) {
	case JSON_MAP:
		compare_members(reader, arena, value);
		break;
	case JSON_LIST:
		compare_items(reader, arena, value);
		break;
	case JSON_TEXT:
		assert(json_reader_text(reader, arena, &text, &err) == 0);
		assert(str_equal(text, json_text(value)));
		break;
	case JSON_INT:
	case JSON_REAL_NUMBER:
		assert(json_reader_number(reader, &number, &err) == 0);
		assert(number == json_number(value));
		break;
	case JSON_BOOL:
		assert(json_reader_skip(reader, &text, &err) == 0);
		assert(str_equals(text, json_bool(value) ? "true" : "false"));
		break;
	default:
		assert(json_reader_skip(reader, &text, &err) == 0);
		assert(str_equals(text, "null"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)64 << 20, NULL);
	const struct str text = str_make(data, size);
	const struct json *value = NULL;
	struct json_reader reader;
	struct str raw;
	struct str again;
	struct error err = { 0 };
	bool is_read;

	json_reader_init(&reader, text);
	is_read = json_reader_skip(&reader, &raw, &err) == 0 && json_reader_end(&reader, &err) == 0;
	if (is_read) {
		json_reader_init(&reader, raw);
		assert(json_reader_skip(&reader, &again, &err) == 0);
		assert(str_equal(raw, again));
	}
	if (json_parse(text, arena, &value, &err) < 0)
		return 0;
	/* the one thing that only the parser takes: a number of more text than we read */
	if (size > JSON_READER_NUMBER_MAX)
		return 0;
	assert(is_read);
	json_reader_init(&reader, text);
	compare(&reader, arena, value);
	return 0;
}
