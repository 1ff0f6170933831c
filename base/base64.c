#include "base/base64.h"

/* The six bits that a character of either alphabet stands for, or -1. */
static int character_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+' || c == '-')
		return 62;
	if (c == '/' || c == '_')
		return 63;
	return -1;
}

static struct str without_padding(struct str text)
{
	if (text.length > 0 && text.length % 4 == 0)
		for (int i = 0; i < 2 && text.data[text.length - 1] == '='; i++)
			text.length--;
	return text;
}

int base64_decode(struct str text, struct arena *arena, struct str *out, struct error *err)
{
	const struct str digits = without_padding(text);
	size_t length = 0;
	uint32_t bits = 0;
	uint8_t *to;

	if (digits.length % 4 == 1)
		return error_set(err, ERROR_INVALID, "base64 text of %zu characters", text.length);
	to = arena_alloc_raw(arena, digits.length / 4 * 3 + 3);
	if (!to)
		return arena_error(arena, err);
	for (size_t i = 0; i < digits.length; i++) {
		const int value = character_value(digits.data[i]);

		if (value < 0)
			return error_set(err, ERROR_INVALID, "no base64 character at byte %zu", i);
		bits = bits << 6 | (uint32_t)value;
		if (i % 4 == 3) {
			to[length++] = (uint8_t)(bits >> 16);
			to[length++] = (uint8_t)(bits >> 8);
			to[length++] = (uint8_t)bits;
		}
	}
	if (digits.length % 4 == 2) {
		to[length++] = (uint8_t)(bits >> 4);
	} else if (digits.length % 4 == 3) {
		to[length++] = (uint8_t)(bits >> 10);
		to[length++] = (uint8_t)(bits >> 2);
	}
	*out = str_make(to, length);
	return 0;
}

void base64_encode(struct str bytes, struct strbuf *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const uint8_t *from = (const uint8_t *)bytes.data;

	for (size_t i = 0; i < bytes.length; i += 3) {
		const size_t left = bytes.length - i;
		const uint32_t bits = (uint32_t)from[i] << 16 |
		                      (uint32_t)(left > 1 ? from[i + 1] : 0) << 8 |
		                      (left > 2 ? from[i + 2] : 0);
		const char group[4] = {
			digits[bits >> 18],
			digits[bits >> 12 & 0x3f],
			(char)(left > 1 ? digits[bits >> 6 & 0x3f] : '='),
			(char)(left > 2 ? digits[bits & 0x3f] : '='),
		};

		strbuf_add(out, group, sizeof(group));
	}
}
