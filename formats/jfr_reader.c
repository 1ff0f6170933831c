#include "formats/jfr_reader.h"

#include "base/utf8.h"

#define UTF8_MAX 4 /* bytes of a character */

/* A number whose end is among the next eight bytes, which are there. */
static bool read_in_eight(struct jfr_reader *reader, uint64_t *out)
{
	uint64_t bytes;
	uint64_t ends;

	memcpy(&bytes, reader->at, sizeof(bytes));
	ends = ~bytes & JFR_TOP_BITS;
	if (ends == 0)
		return false;
	*out = jfr_join_groups(bytes & (ends ^ (ends - 1)));
	reader->at += __builtin_ctzll(ends) / 8 + 1;
	return true;
}

bool jfr_read_compressed_long(struct jfr_reader *reader, uint64_t *out)
{
	const uint8_t *at = reader->at;
	uint64_t number = 0;

	if (jfr_left(reader) >= 8 && read_in_eight(reader, out))
		return true;

	for (unsigned shift = 0; at < reader->end; shift += 7) {
		const uint8_t byte = *at++;
		const bool is_last = shift == 7 * (JFR_NUMBER_MAX - 1);

		number |= (uint64_t)(is_last ? byte : byte & 0x7f) << shift;
		if (is_last || byte < 0x80) {
			reader->at = at;
			*out = number;
			return true;
		}
	}
	return false;
}

bool jfr_read_fixed(struct jfr_reader *reader, size_t width, uint64_t *out)
{
	uint64_t number = 0;

	if (jfr_left(reader) < width)
		return false;
	for (size_t i = 0; i < width; i++)
		number = number << 8 | *reader->at++;
	*out = number;
	return true;
}

bool jfr_read_count(struct jfr_reader *reader, size_t least, uint64_t *out)
{
	return jfr_read_int(reader, out) && (least == 0 || *out <= jfr_left(reader) / least);
}

bool jfr_skip(struct jfr_reader *reader, size_t bytes)
{
	if (jfr_left(reader) < bytes)
		return false;
	reader->at += bytes;
	return true;
}

/*
 * Skips the whole numbers among the next eight bytes, at most `count`. 0 when there is
 * none, or when more than `count` end there.
 */
static size_t skip_eight(const uint8_t **at, size_t count)
{
	uint64_t ends;
	size_t found;

	memcpy(&ends, *at, sizeof(ends));
	ends = ~ends & JFR_TOP_BITS;
	found = (size_t)((ends >> 7) * UINT64_C(0x0101010101010101) >> 56);
	if (found == 0 || found > count)
		return 0;
	*at += 8 - (size_t)__builtin_clzll(ends) / 8;
	return found;
}

bool jfr_skip_compressed(struct jfr_reader *reader, size_t count)
{
	const uint8_t *at = reader->at;
	const uint8_t *end = reader->end;

	while (count > 0) {
		const size_t many = count >= 4 && end - at >= 8 ? skip_eight(&at, count) : 0;
		unsigned length = 1;

		count -= many;
		if (many > 0)
			continue;
		while (at < end && *at >= 0x80 && length < JFR_NUMBER_MAX) {
			at++;
			length++;
		}
		if (at >= end)
			return false;
		at++;
		count--;
	}
	reader->at = at;
	return true;
}

static bool take_bytes(struct jfr_reader *reader, size_t length, struct str *out)
{
	*out = str_make(reader->at, length);
	return jfr_skip(reader, length);
}

static bool take_units(struct jfr_reader *reader, struct jfr_text *out)
{
	const uint8_t *first;
	uint64_t units;

	if (!jfr_read_count(reader, 1, &units))
		return false;
	first = reader->at;
	if (reader->fixed ? !jfr_skip(reader, 2 * units) : !jfr_skip_compressed(reader, units))
		return false;
	out->units = units;
	out->bytes = str_make(first, (size_t)(reader->at - first));
	return true;
}

bool jfr_read_text(struct jfr_reader *reader, struct jfr_text *out)
{
	uint64_t length;

	if (reader->at >= reader->end)
		return false;
	*out = (struct jfr_text){ .encoding = (enum jfr_encoding) * reader->at++,
		                  .fixed = reader->fixed };
	switch (out->encoding) {
	case JFR_NULL:
	case JFR_EMPTY:
		return true;
	case JFR_POOLED:
		return jfr_read_long(reader, &out->key);
	case JFR_UTF8:
	case JFR_LATIN1:
		return jfr_read_count(reader, 1, &length) &&
		       take_bytes(reader, length, &out->bytes);
	case JFR_UTF16:
		return take_units(reader, out);
	default:
		return false;
	}
}

static bool is_high_half(uint32_t unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low_half(uint32_t unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

static uint32_t join_halves(uint32_t high, uint32_t low)
{
	return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* UTF-16 units become characters; a half alone becomes U+FFFD, as utf8_put() has it. */
static bool decode_utf16(const struct jfr_text *text, struct arena *arena, struct str *out)
{
	struct jfr_reader reader = {
		.at = (const uint8_t *)text->bytes.data,
		.end = (const uint8_t *)text->bytes.data + text->bytes.length,
		.fixed = text->fixed,
	};
	char *to = arena_alloc_raw(arena, text->units * UTF8_MAX + 1);
	size_t length = 0;
	uint64_t unit;

	if (!to)
		return false;
	while (reader.at < reader.end && jfr_read_number(&reader, 2, &unit)) {
		const struct jfr_reader behind = reader;
		uint64_t low;

		if (is_high_half((uint32_t)unit) && reader.at < reader.end &&
		    jfr_read_number(&reader, 2, &low)) {
			if (low <= UINT16_MAX && is_low_half((uint32_t)low))
				unit = join_halves((uint32_t)unit, (uint32_t)low);
			else
				reader = behind;
		}
		length += utf8_put(to + length, unit > UINT32_MAX ? UINT32_MAX : (uint32_t)unit);
	}
	*out = str_make(to, length);
	return true;
}

static bool decode_latin1(struct str bytes, struct arena *arena, struct str *out)
{
	size_t high = 0;
	size_t length = 0;
	char *to;

	for (size_t i = 0; i < bytes.length; i++)
		high += (unsigned char)bytes.data[i] >= 0x80;
	*out = bytes;
	if (high == 0)
		return true;
	to = arena_alloc_raw(arena, bytes.length + high + UTF8_MAX);
	if (!to)
		return false;
	for (size_t i = 0; i < bytes.length; i++)
		length += utf8_put(to + length, (unsigned char)bytes.data[i]);
	*out = str_make(to, length);
	return true;
}

/* The three bytes at `at` as Java writes a UTF-16 unit of its own, or 0. */
static uint32_t half_at(struct str bytes, size_t at)
{
	const unsigned char *three = (const unsigned char *)bytes.data + at;

	if (bytes.length - at < 3 || three[0] != 0xed || (three[1] & 0xe0) != 0xa0 ||
	    (three[2] & 0xc0) != 0x80)
		return 0;
	return 0xd000 | (uint32_t)(three[1] & 0x3f) << 6 | (three[2] & 0x3f);
}

/* Takes Java's own form out of the bytes at *at; 0 when they are something else. */
static size_t take_java(struct str bytes, size_t *at, char *to)
{
	const uint32_t high = half_at(bytes, *at);
	const uint32_t low = high && bytes.length - *at >= 6 ? half_at(bytes, *at + 3) : 0;

	if (is_high_half(high) && is_low_half(low)) {
		*at += 6;
		return utf8_put(to, join_halves(high, low));
	}
	if (bytes.length - *at >= 2 && (unsigned char)bytes.data[*at] == 0xc0 &&
	    (unsigned char)bytes.data[*at + 1] == 0x80) {
		*at += 2;
		return utf8_put(to, 0);
	}
	return 0;
}

static bool decode_utf8(struct str bytes, struct arena *arena, struct str *out)
{
	size_t length = 0;
	char *to;

	*out = bytes;
	if (utf8_is_valid(bytes))
		return true;
	to = arena_alloc_raw(arena, bytes.length + UTF8_MAX);
	if (!to)
		return false;
	for (size_t at = 0; at < bytes.length;) {
		const size_t taken = take_java(bytes, &at, to + length);

		length += taken;
		if (taken == 0)
			to[length++] = bytes.data[at++];
	}
	*out = str_make(to, length);
	return true;
}

bool jfr_text_decode(const struct jfr_text *text, struct arena *arena, struct str *out)
{
	switch (text->encoding) {
	case JFR_UTF8:
		return decode_utf8(text->bytes, arena, out);
	case JFR_UTF16:
		return decode_utf16(text, arena, out);
	case JFR_LATIN1:
		return decode_latin1(text->bytes, arena, out);
	default:
		*out = STR("");
		return true;
	}
}
