/*
 * UTF-8, base64 and UUIDs over the same bytes: repaired text is valid, what is valid stays,
 * character by character the whole is read, and base64 goes both ways.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "base/uuid.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_utf8(struct str text, struct arena *arena)
{
	const bool valid = utf8_is_valid(text);
	const struct str repaired = utf8_repair(arena, text);
	bool seen_bad = false;
	struct str rest = text;
	uint32_t rune;
	int length;

	assert(utf8_is_valid(repaired));
	assert(!valid || str_equal(repaired, text));
	while ((length = utf8_next(rest, &rune)) != 0) {
		char again[4];

		if (length < 0) {
			seen_bad = true;
		} else {
			assert(utf8_put(again, rune) == (size_t)length);
			assert(memcmp(again, rest.data, (size_t)length) == 0);
		}
		rest = str_skip(rest, length < 0 ? 1 : (size_t)length);
	}
	assert(seen_bad == !valid);
}

static void check_base64(struct str bytes, struct arena *arena)
{
	struct error err = { 0 };
	struct strbuf text;
	struct str out;

	if (base64_decode(bytes, arena, &out, &err) == 0)
		assert(out.length <= bytes.length);
	strbuf_init(&text, bytes.length * 2 + 4);
	base64_encode(bytes, &text);
	assert(base64_decode(strbuf_view(&text), arena, &out, &err) == 0);
	assert(str_equal(out, bytes));
	strbuf_fini(&text);
}

static void check_uuid(struct str text)
{
	char written[UUID_TEXT_LENGTH + 1];
	struct uuid uuid;
	struct uuid again;

	if (!uuid_parse(text, &uuid))
		return;
	uuid_format(&uuid, written);
	assert(uuid_parse(str_of(written), &again));
	assert(memcmp(&uuid, &again, sizeof(uuid)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)64 << 20, NULL);

	check_utf8(str_make(data, size), arena);
	check_base64(str_make(data, size), arena);
	check_uuid(str_make(data, size));
	return 0;
}
