#include "base/url.h"

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

bool url_decode(struct str raw, enum url_plus plus, struct arena *arena, struct str *out)
{
	char *to = arena_alloc_raw(arena, raw.length + 1);
	size_t length = 0;

	if (!to)
		return false;
	for (size_t i = 0; i < raw.length; i++) {
		char c = raw.data[i];

		if (c == '%') {
			const int high = raw.length - i > 2 ? hex_value(raw.data[i + 1]) : -1;
			const int low = high >= 0 ? hex_value(raw.data[i + 2]) : -1;

			if (low < 0)
				return false;
			c = (char)(high << 4 | low);
			i += 2;
		} else if (c == '+' && plus == URL_PLUS_IS_BLANK) {
			c = ' ';
		}
		to[length++] = c;
	}
	to[length] = '\0';
	*out = (struct str){ to, length };
	return true;
}

/* 1 with a pair, 0 when the part holds none, -1 when the arena is full. */
static int parse_pair(struct str part, struct arena *arena, struct url_pair *out)
{
	const ptrdiff_t equals = str_index(part, '=');
	struct str name = part;
	struct str value = STR("");

	if (part.length == 0 || str_index(part, ';') >= 0)
		return 0;
	if (equals >= 0) {
		name = str_first(part, (size_t)equals);
		value = str_skip(part, (size_t)equals + 1);
	}
	if (url_decode(name, URL_PLUS_IS_BLANK, arena, &out->name) &&
	    url_decode(value, URL_PLUS_IS_BLANK, arena, &out->value))
		return 1;
	return arena_overflowed(arena) ? -1 : 0;
}

int url_query_parse(struct str raw, struct arena *arena, struct url_query *out, struct error *err)
{
	struct url_query query = { NULL, 0 };
	size_t capacity = 0;
	struct str part;

	while (str_split(&raw, '&', &part)) {
		struct url_pair pair;
		const int found = parse_pair(part, arena, &pair);

		if (found < 0)
			return arena_error(arena, err);
		if (found == 0)
			continue;
		if (query.count == URL_PAIRS_MAX)
			return error_set(err, ERROR_TOO_LARGE,
			                 "the query has more than %d parameters", URL_PAIRS_MAX);
		if (!ARENA_GROW(arena, query.pairs, query.count, capacity))
			return arena_error(arena, err);
		query.pairs[query.count++] = pair;
	}
	*out = query;
	return 0;
}

const struct str *url_query_find(const struct url_query *query, const char *name)
{
	for (size_t i = 0; i < query->count; i++)
		if (str_equals(query->pairs[i].name, name))
			return &query->pairs[i].value;
	return NULL;
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || c == '.' || c == '~';
}

void url_encode(struct str text, struct strbuf *out)
{
	static const char digits[] = "0123456789ABCDEF";

	for (size_t i = 0; i < text.length; i++) {
		const unsigned char c = (unsigned char)text.data[i];

		if (is_plain(text.data[i])) {
			strbuf_add_byte(out, text.data[i]);
		} else {
			const char escape[3] = { '%', digits[c >> 4], digits[c & 0xf] };

			strbuf_add(out, escape, sizeof(escape));
		}
	}
}
