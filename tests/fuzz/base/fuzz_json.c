/*
 * Parses the text, writes the value, and parses that: it is written the same way again.
 * The first byte bounds the arena, so that parses end everywhere.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(struct json_writer *writer, const struct json *value);

static int put_member(void *context, struct str key, const struct json *value)
{
	json_key_str(context, key);
	put(context, value);
	return 0;
}

/* Recurses at most JSON_DEPTH_MAX deep. */
static void put(struct json_writer *writer, const struct json *value)
{
	switch (json_kind(value)) {
	case JSON_NONE:
		assert(0);
		break;
	case JSON_NULL_VALUE:
		json_put_null(writer);
		break;
	case JSON_BOOL:
		json_put_bool(writer, json_bool(value));
		break;
	case JSON_INT:
		json_put_int(writer, json_int(value));
		break;
	case JSON_REAL_NUMBER:
		/* -0 would read back as the integer 0 */
		json_put_double(writer, json_number(value) + 0.0);
		break;
	case JSON_TEXT:
		json_put_text(writer, json_text(value));
		break;
	case JSON_LIST:
		json_begin_list(writer);
		for (size_t i = 0; i < json_length(value); i++)
			put(writer, json_at(value, i));
		json_end_list(writer);
		break;
	case JSON_MAP:
		json_begin_map(writer);
		(void)json_each(value, put_member, writer);
		json_end_map(writer);
		break;
	}
}

static int rewrite(struct str text, size_t arena_bytes, struct strbuf *out)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(arena_bytes, NULL);
	const struct json *value = NULL;
	struct json_writer writer;
	struct error err = { 0 };

	if (json_parse(text, arena, &value, &err) < 0) {
		assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
		return -1;
	}
	json_writer_init(&writer, out);
	put(&writer, value);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf once;
	struct strbuf twice;

	if (size < 1)
		return 0;
	strbuf_init(&once, (size_t)16 << 20);
	strbuf_init(&twice, (size_t)16 << 20);
	if (rewrite(str_make(data + 1, size - 1), (size_t)(data[0] + 1) << 10, &once) == 0) {
		assert(rewrite(strbuf_view(&once), (size_t)64 << 20, &twice) == 0);
		assert(str_equal(strbuf_view(&once), strbuf_view(&twice)));
	}
	strbuf_fini(&once);
	strbuf_fini(&twice);
	return 0;
}
