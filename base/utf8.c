#include "base/utf8.h"

#define REPLACEMENT        UINT32_C(0xfffd)
#define REPLACEMENT_LENGTH 3

/* Whether none of the 32 bytes at `at` has its top bit. */
static inline bool is_ascii_block(const uint8_t *at)
{
	uint64_t words[4];

	memcpy(words, at, sizeof(words));
	return ((words[0] | words[1] | words[2] | words[3]) & UINT64_C(0x8080808080808080)) == 0;
}

static const uint8_t *skip_ascii(const uint8_t *at, const uint8_t *end)
{
	while (end - at >= 32 && is_ascii_block(at))
		at += 32;
	while (end - at >= 8) {
		uint64_t word;

		memcpy(&word, at, sizeof(word));
		word &= UINT64_C(0x8080808080808080);
		if (word)
			return at + __builtin_ctzll(word) / 8;
		at += 8;
	}
	while (at < end && *at < 0x80)
		at++;
	return at;
}

static inline bool is_continuation(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

/* The length of the well-formed character of two bytes and more at `at`, or 0. */
static size_t long_character(const uint8_t *at, const uint8_t *end)
{
	const size_t left = (size_t)(end - at);
	const uint8_t first = at[0];

	if (first < 0xc2 || left < 2 || !is_continuation(at[1]))
		return 0;
	if (first < 0xe0)
		return 2;
	if (left < 3 || !is_continuation(at[2]))
		return 0;
	if (first < 0xf0) {
		/* e0 80..9f is overlong, ed a0..bf a surrogate */
		if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f))
			return 0;
		return 3;
	}
	if (left < 4 || !is_continuation(at[3]) || first > 0xf4)
		return 0;
	/* f0 80..8f is overlong, f4 90.. past U+10FFFF */
	if ((first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] > 0x8f))
		return 0;
	return 4;
}

/* The first byte that does not begin a well-formed character, or `end`. */
static const uint8_t *first_bad(const uint8_t *at, const uint8_t *end)
{
	while ((at = skip_ascii(at, end)) < end) {
		size_t length;

		/* characters of one script stand together */
		do {
			length = long_character(at, end);
			if (length == 0)
				return at;
			at += length;
		} while (at < end && *at >= 0x80);
	}
	return end;
}

bool utf8_is_valid(struct str text)
{
	const uint8_t *at = (const uint8_t *)text.data;

	return text.length == 0 || first_bad(at, at + text.length) == at + text.length;
}

int utf8_next(struct str text, uint32_t *out_rune)
{
	const uint8_t *at = (const uint8_t *)text.data;
	size_t length;

	*out_rune = REPLACEMENT;
	if (text.length == 0)
		return 0;
	if (at[0] < 0x80) {
		*out_rune = at[0];
		return 1;
	}
	length = long_character(at, at + text.length);
	switch (length) {
	case 2:
		*out_rune = (uint32_t)(at[0] & 0x1f) << 6 | (at[1] & 0x3f);
		return 2;
	case 3:
		*out_rune = (uint32_t)(at[0] & 0x0f) << 12 | (uint32_t)(at[1] & 0x3f) << 6 |
		            (at[2] & 0x3f);
		return 3;
	case 4:
		*out_rune = (uint32_t)(at[0] & 0x07) << 18 | (uint32_t)(at[1] & 0x3f) << 12 |
		            (uint32_t)(at[2] & 0x3f) << 6 | (at[3] & 0x3f);
		return 4;
	default:
		return -1;
	}
}

/* Copies `text` to `to` with bad bytes replaced; without `to` it only counts. */
static size_t copy_repaired(struct str text, char *to)
{
	const uint8_t *at = (const uint8_t *)text.data;
	const uint8_t *end = at + text.length;
	size_t length = 0;

	while (at < end) {
		const uint8_t *bad = first_bad(at, end);
		const size_t good = (size_t)(bad - at);

		if (to && good > 0)
			memcpy(to + length, at, good);
		length += good;
		at = bad;
		if (at == end)
			break;
		if (to)
			(void)utf8_put(to + length, REPLACEMENT);
		length += REPLACEMENT_LENGTH;
		at++;
	}
	return length;
}

struct str utf8_repair(struct arena *arena, struct str text)
{
	size_t length;
	char *copy;

	if (text.length == 0)
		return STR("");
	if (utf8_is_valid(text))
		return text;
	length = copy_repaired(text, NULL);
	copy = arena_alloc_raw(arena, length + 1);
	if (!copy)
		return (struct str){ NULL, 0 };
	(void)copy_repaired(text, copy);
	copy[length] = '\0';
	return (struct str){ copy, length };
}

size_t utf8_put(char *to, uint32_t rune)
{
	if (rune > 0x10ffff || (rune >= 0xd800 && rune < 0xe000))
		rune = REPLACEMENT;
	if (rune < 0x80) {
		to[0] = (char)rune;
		return 1;
	}
	if (rune < 0x800) {
		to[0] = (char)(0xc0 | rune >> 6);
		to[1] = (char)(0x80 | (rune & 0x3f));
		return 2;
	}
	if (rune < 0x10000) {
		to[0] = (char)(0xe0 | rune >> 12);
		to[1] = (char)(0x80 | (rune >> 6 & 0x3f));
		to[2] = (char)(0x80 | (rune & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | rune >> 18);
	to[1] = (char)(0x80 | (rune >> 12 & 0x3f));
	to[2] = (char)(0x80 | (rune >> 6 & 0x3f));
	to[3] = (char)(0x80 | (rune & 0x3f));
	return 4;
}
