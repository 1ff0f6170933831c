#include "profile/literal_pattern.h"

#include <string.h>

static bool is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Whether a backslash before the byte makes it stand for itself. */
static bool is_escapable(char c)
{
	return (unsigned char)c < 0x80 && !is_letter_or_digit(c);
}

static bool is_special(char c)
{
	return c != '\0' && strchr("\\.+*?()[]{}^$|", c) != NULL;
}

/* What stands between the parentheses of "(...)" or "(?:...)", else the pattern. */
static struct str without_group(struct str pattern)
{
	const struct str plain = STR("(");
	const struct str quiet = STR("(?:");
	const struct str begin = str_starts_with(pattern, quiet) ? quiet : plain;

	if (pattern.length <= begin.length || !str_starts_with(pattern, begin) ||
	    !str_ends_with(pattern, STR(")")))
		return pattern;
	return str_make(pattern.data + begin.length, pattern.length - begin.length - 1);
}

/*
 * Takes the first alternative off the rest, as bytes at `text`, which has room for it.
 * False when it has something that is no literal.
 */
static bool take_alternative(struct str *rest, char *text, struct str *out, bool *out_more)
{
	size_t length = 0;
	size_t at = 0;

	for (; at < rest->length && rest->data[at] != '|'; at++) {
		char c = rest->data[at];

		if (c == '\\') {
			if (++at == rest->length || !is_escapable(rest->data[at]))
				return false;
			c = rest->data[at];
		} else if (is_special(c)) {
			return false;
		}
		text[length++] = c;
	}
	*out = str_make(text, length);
	*out_more = at < rest->length;
	*rest = str_skip(*rest, *out_more ? at + 1 : at);
	return true;
}

bool literal_pattern_read(struct str pattern, struct arena *arena, struct str **out,
                          size_t *out_count)
{
	struct str rest = without_group(pattern);
	char *bytes = arena_alloc_raw(arena, rest.length + 1);
	struct str *texts = NULL;
	size_t capacity = 0;
	size_t count = 0;
	bool more = bytes != NULL;

	while (more) {
		if (!ARENA_GROW(arena, texts, count, capacity) ||
		    !take_alternative(&rest, bytes, &texts[count], &more))
			return false;
		bytes += texts[count++].length;
	}
	if (!bytes)
		return false;
	*out = texts;
	*out_count = count;
	return true;
}
