#include "base/json.h"

#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>

/*
 * jansson takes all memory of a parse from the arena and frees nothing. When the arena
 * is full the parse is left by longjmp: nothing is lost, and jansson's own handling of
 * failed allocations (it goes on with the text cut) is never entered.
 */
static _Thread_local struct {
	struct arena *arena;
	jmp_buf full;
} parse;

static void *take(size_t size)
{
	void *memory = arena_alloc_raw(parse.arena, size);

	if (!memory)
		longjmp(parse.full, 1);
	return memory;
}

static void leave(void *memory)
{
	(void)memory;
}

static void set_allocator(void)
{
	json_set_alloc_funcs(take, leave);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Behind the string whose opening quote is at `at`, or behind the text. */
static size_t skip_string(struct str text, size_t at)
{
	for (at++; at < text.length && text.data[at] != '"'; at++)
		if (text.data[at] == '\\')
			at++;
	return at < text.length ? at + 1 : text.length;
}

/* Behind the number at `at`. *out_too_big: it is an integer that no int64 holds. */
static size_t skip_number(struct str text, size_t at, bool *out_too_big)
{
	const size_t start = at;
	int64_t ignored;

	at += text.data[at] == '-';
	while (at < text.length && is_digit(text.data[at]))
		at++;
	if (at < text.length && (text.data[at] == '.' || (text.data[at] | 0x20) == 'e')) {
		*out_too_big = false;
		for (at++; at < text.length; at++) {
			const char c = text.data[at];

			if (!is_digit(c) && c != '+' && c != '-' && (c | 0x20) != 'e')
				break;
		}
	} else {
		*out_too_big = at - start >= 19 &&
		               !str_to_i64((struct str){ text.data + start, at - start }, &ignored);
	}
	return at;
}

/*
 * Looks over the text before jansson does: it recurses 2048 deep and refuses integers
 * past int64. Copies the text with ".0" behind such integers to `to`, unless it is NULL;
 * counts them in *out_too_big. False when the text nests too deep.
 */
static bool look_over(struct str text, char *to, size_t *out_too_big)
{
	size_t depth = 0;
	size_t at = 0;

	*out_too_big = 0;
	while (at < text.length) {
		const size_t start = at;
		const char c = text.data[at];
		bool too_big = false;

		if (c == '"') {
			at = skip_string(text, at);
		} else if (c == '-' || is_digit(c)) {
			at = skip_number(text, at, &too_big);
		} else {
			if ((c == '[' || c == '{') && ++depth > JSON_DEPTH_MAX)
				return false;
			if ((c == ']' || c == '}') && depth > 0)
				depth--;
			at++;
		}
		if (to) {
			memcpy(to, text.data + start, at - start);
			to += at - start;
			if (too_big) {
				*to++ = '.';
				*to++ = '0';
			}
		}
		*out_too_big += too_big;
	}
	return true;
}

/* *text with every integer that is too big turned into a real, in the arena. */
static int soften_integers(struct str *text, struct arena *arena, struct error *err)
{
	size_t too_big;
	char *copy;

	if (!look_over(*text, NULL, &too_big))
		return error_set(err, ERROR_INVALID, "JSON nests deeper than %d", JSON_DEPTH_MAX);
	if (too_big == 0)
		return 0;
	copy = arena_alloc_raw(arena, text->length + 2 * too_big);
	if (!copy)
		return arena_error(arena, err);
	(void)look_over(*text, copy, &too_big);
	*text = (struct str){ copy, text->length + 2 * too_big };
	return 0;
}

int json_parse(struct str text, struct arena *arena, const struct json **out, struct error *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	json_error_t problem;
	json_t *root;

	(void)pthread_once(&once, set_allocator);
	/* jansson overlooks a NUL behind a number; strings write theirs as \u0000 */
	if (str_index(text, '\0') >= 0)
		return error_set(err, ERROR_INVALID, "JSON with a NUL byte in it");
	if (soften_integers(&text, arena, err) < 0)
		return -1;
	if (arena_overflowed(arena))
		return arena_error(arena, err);
	parse.arena = arena;
	if (setjmp(parse.full) != 0)
		return arena_error(arena, err);
	root = json_loadb(text.length ? text.data : "", text.length,
	                  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);
	if (!root)
		return error_set(err, ERROR_INVALID, "JSON, line %d, column %d: %s", problem.line,
		                 problem.column, problem.text);
	*out = (const struct json *)root;
	return 0;
}

static const json_t *inner(const struct json *value)
{
	return (const json_t *)value;
}

enum json_kind json_kind(const struct json *value)
{
	if (!value)
		return JSON_NONE;
	switch (json_typeof(inner(value))) {
	case JSON_OBJECT:
		return JSON_MAP;
	case JSON_ARRAY:
		return JSON_LIST;
	case JSON_STRING:
		return JSON_TEXT;
	case JSON_INTEGER:
		return JSON_INT;
	case JSON_REAL:
		return JSON_REAL_NUMBER;
	case JSON_TRUE:
	case JSON_FALSE:
		return JSON_BOOL;
	case JSON_NULL:
		return JSON_NULL_VALUE;
	}
	return JSON_NONE;
}

bool json_bool(const struct json *value)
{
	return json_is_true(inner(value));
}

int64_t json_int(const struct json *value)
{
	return json_integer_value(inner(value));
}

double json_number(const struct json *value)
{
	return json_number_value(inner(value));
}

struct str json_text(const struct json *value)
{
	if (json_kind(value) != JSON_TEXT)
		return STR("");
	return str_make(json_string_value(inner(value)), json_string_length(inner(value)));
}

size_t json_length(const struct json *value)
{
	return json_kind(value) == JSON_MAP ? json_object_size(inner(value))
	                                    : json_array_size(inner(value));
}

const struct json *json_at(const struct json *list, size_t index)
{
	return (const struct json *)json_array_get(inner(list), index);
}

const struct json *json_get(const struct json *map, const char *key)
{
	return (const struct json *)json_object_get(inner(map), key);
}

int json_each(const struct json *map,
              int (*visit)(void *context, struct str key, const struct json *value), void *context)
{
	/* walking changes nothing, but jansson's iterators want it writable */
	json_t *object = (json_t *)(uintptr_t)map; /* NOLINT(performance-no-int-to-ptr) */
	int stopped = 0;

	for (void *at = json_object_iter(object); at && !stopped;
	     at = json_object_iter_next(object, at))
		stopped = visit(context,
		                str_make(json_object_iter_key(at), json_object_iter_key_len(at)),
		                (const struct json *)json_object_iter_value(at));
	return stopped;
}
