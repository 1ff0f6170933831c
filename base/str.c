#include "base/str.h"

#include <strings.h>

ptrdiff_t str_index(struct str a, char c)
{
	const char *found = a.length ? memchr(a.data, c, a.length) : NULL;

	return found ? found - a.data : -1;
}

ptrdiff_t str_last_index(struct str a, char c)
{
	const char *found = a.length ? memrchr(a.data, c, a.length) : NULL;

	return found ? found - a.data : -1;
}

ptrdiff_t str_find(struct str a, struct str needle)
{
	const char *found;

	if (needle.length == 0)
		return 0;
	if (a.length == 0)
		return -1;
	found = memmem(a.data, a.length, needle.data, needle.length);
	return found ? found - a.data : -1;
}

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

struct str str_trim(struct str a)
{
	while (a.length > 0 && is_blank(a.data[0])) {
		a.data++;
		a.length--;
	}
	while (a.length > 0 && is_blank(a.data[a.length - 1]))
		a.length--;
	return a;
}

bool str_equal_ignoring_case(struct str a, struct str b)
{
	return a.length == b.length &&
	       (a.length == 0 || strncasecmp(a.data, b.data, a.length) == 0);
}

bool str_split(struct str *rest, char separator, struct str *out_part)
{
	ptrdiff_t at;

	if (rest->data == NULL)
		return false;
	at = str_index(*rest, separator);
	if (at < 0) {
		*out_part = *rest;
		*rest = (struct str){ NULL, 0 };
	} else {
		*out_part = str_first(*rest, (size_t)at);
		*rest = str_skip(*rest, (size_t)at + 1);
	}
	return true;
}

bool str_to_u64(struct str a, uint64_t max, uint64_t *out_number)
{
	uint64_t number = 0;

	if (a.length == 0)
		return false;
	for (size_t i = 0; i < a.length; i++) {
		const unsigned digit = (unsigned)(unsigned char)a.data[i] - '0';

		if (digit > 9 || digit > max || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*out_number = number;
	return true;
}

bool str_to_i64(struct str a, int64_t *out_number)
{
	const bool negative = a.length > 0 && a.data[0] == '-';
	uint64_t number;

	if (a.length > 0 && (a.data[0] == '-' || a.data[0] == '+'))
		a = str_skip(a, 1);
	if (!str_to_u64(a, (uint64_t)INT64_MAX + (negative ? 1 : 0), &number))
		return false;
	*out_number = negative ? (int64_t)(0 - number) : (int64_t)number;
	return true;
}
