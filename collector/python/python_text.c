#include "collector/python/python_text.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

#define ELLIPSIS    0x2026
#define REPLACEMENT 0xfffd

static size_t put_shown(char *to, uint32_t rune)
{
	return utf8_put(to, rune < 0x20 || (rune >= 0x7f && rune < 0xa0) ? REPLACEMENT : rune);
}

/* One character of `width` bytes. */
static uint32_t rune_at(const uint8_t *at, size_t width)
{
	uint32_t wide;
	uint16_t narrow;

	if (width == CODE_STRING_UCS4) {
		memcpy(&wide, at, sizeof(wide));
		return wide;
	}
	if (width == CODE_STRING_UCS2) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	return *at;
}

static size_t put_wide(const uint8_t *bytes, size_t count, size_t width, char *to)
{
	char *const begin = to;

	for (size_t i = 0; i < count; i++)
		to += put_shown(to, rune_at(bytes + i * width, width));
	return (size_t)(to - begin);
}

/* Without the bytes at the end that begin a character and do not finish it. */
static struct str whole_characters(struct str text)
{
	size_t back = 0;

	while (back < 3 && back < text.length &&
	       ((uint8_t)text.data[text.length - 1 - back] & 0xc0) == 0x80)
		back++;
	if (back == text.length)
		return text;

	const uint8_t lead = (uint8_t)text.data[text.length - 1 - back];
	const size_t wanted = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0;

	return back < wanted ? str_first(text, text.length - 1 - back) : text;
}

static size_t put_utf8(struct str text, char *to)
{
	char *const begin = to;
	uint32_t rune;
	int length;

	while ((length = utf8_next(text, &rune)) != 0) {
		to += put_shown(to, rune);
		text = str_skip(text, length > 0 ? (size_t)length : 1);
	}
	return (size_t)(to - begin);
}

/* A C string is read up to the last byte but one of its place: so long, it may be longer. */
static size_t put_c_string(const struct code_string *head, const uint8_t *bytes, size_t capacity,
                           char *to, bool *out_cut)
{
	*out_cut = head->length >= capacity - 1;
	if (!*out_cut)
		return put_utf8(str_make(bytes, head->length), to);
	return put_utf8(whole_characters(str_make(bytes, capacity - 1)), to);
}

size_t python_text_put(const struct code_string *head, const uint8_t *bytes, size_t capacity,
                       char *to)
{
	size_t length;
	bool cut;

	switch (head->kind) {
	case CODE_STRING_LATIN1:
	case CODE_STRING_UCS2:
	case CODE_STRING_UCS4:
		cut = head->length > capacity / head->kind;
		length =
			put_wide(bytes, cut ? capacity / head->kind : head->length, head->kind, to);
		break;
	case CODE_STRING_UTF8:
		length = put_c_string(head, bytes, capacity, to, &cut);
		break;
	default:
		return 0;
	}
	return cut ? length + utf8_put(to + length, ELLIPSIS) : length;
}
