#include "base/json_reader.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"

#define REPLACEMENT 0xfffd

void json_reader_init(struct json_reader *reader, struct str text)
{
	*reader = (struct json_reader){ .text = text };
}

/* ---- bytes ---- */

/* The next byte, or 0 at the end: no byte of JSON is 0. */
static char peek(const struct json_reader *reader)
{
	if (reader->at >= reader->text.length)
		return '\0';
	return reader->text.data[reader->at];
}

static void skip_blanks(struct json_reader *reader)
{
	while (peek(reader) == ' ' || peek(reader) == '\n' || peek(reader) == '\t' ||
	       peek(reader) == '\r')
		reader->at++;
}

static int expected(const struct json_reader *reader, const char *what, struct error *err)
{
	if (reader->at >= reader->text.length)
		return error_set(err, ERROR_INVALID, "JSON ends where %s is expected", what);
	return error_set(err, ERROR_INVALID, "JSON, byte %zu: expected %s", reader->at, what);
}

static int take_byte(struct json_reader *reader, char byte, const char *what, struct error *err)
{
	skip_blanks(reader);
	if (peek(reader) != byte)
		return expected(reader, what, err);
	reader->at++;
	return 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

enum json_kind json_reader_kind(struct json_reader *reader)
{
	skip_blanks(reader);
	switch (peek(reader)) {
	case '{':
		return JSON_MAP;
	case '[':
		return JSON_LIST;
	case '"':
		return JSON_TEXT;
	case 't':
	case 'f':
		return JSON_BOOL;
	case 'n':
		return JSON_NULL_VALUE;
	default:
		return peek(reader) == '-' || is_digit(peek(reader)) ? JSON_REAL_NUMBER : JSON_NONE;
	}
}

/* ---- maps and lists ---- */

static int enter(struct json_reader *reader, char opening, const char *what, struct error *err)
{
	if (take_byte(reader, opening, what, err) < 0)
		return -1;
	if (++reader->depth > JSON_DEPTH_MAX)
		return error_set(err, ERROR_INVALID, "JSON nests deeper than %d", JSON_DEPTH_MAX);
	reader->is_fresh = true;
	return 0;
}

int json_reader_enter_map(struct json_reader *reader, struct error *err)
{
	return enter(reader, '{', "a map", err);
}

int json_reader_enter_list(struct json_reader *reader, struct error *err)
{
	return enter(reader, '[', "a list", err);
}

/* 1 when a value is due, 0 when the map or list has been left, -1 at an error. */
static int go_on(struct json_reader *reader, char closing, const char *what, struct error *err)
{
	const bool was_fresh = reader->is_fresh;

	reader->is_fresh = false;
	skip_blanks(reader);
	if (peek(reader) == closing) {
		reader->at++;
		reader->depth--;
		return 0;
	}
	if (was_fresh)
		return 1;
	return take_byte(reader, ',', what, err) < 0 ? -1 : 1;
}

int json_reader_next_item(struct json_reader *reader, struct error *err)
{
	return go_on(reader, ']', "',' or ']'", err);
}

int json_reader_next_member(struct json_reader *reader, struct arena *arena, struct str *out_key,
                            struct error *err)
{
	const int more = go_on(reader, '}', "',' or '}'", err);

	if (more <= 0)
		return more;
	if (json_reader_text(reader, arena, out_key, err) < 0 ||
	    take_byte(reader, ':', "':'", err) < 0)
		return -1;
	return 1;
}

int json_reader_end(struct json_reader *reader, struct error *err)
{
	skip_blanks(reader);
	return reader->at < reader->text.length ? expected(reader, "the end", err) : 0;
}

/* ---- numbers ---- */

static size_t skip_digits(struct json_reader *reader)
{
	const size_t start = reader->at;

	while (is_digit(peek(reader)))
		reader->at++;
	return reader->at - start;
}

/* -? (0 | [1-9] digits) (. digits)? ([eE] [+-]? digits)? */
static int skip_number(struct json_reader *reader, struct error *err)
{
	reader->at += peek(reader) == '-';
	if (peek(reader) == '0')
		reader->at++;
	else if (skip_digits(reader) == 0)
		return expected(reader, "a digit", err);
	if (peek(reader) == '.') {
		reader->at++;
		if (skip_digits(reader) == 0)
			return expected(reader, "a digit", err);
	}
	if (peek(reader) == 'e' || peek(reader) == 'E') {
		reader->at++;
		reader->at += peek(reader) == '+' || peek(reader) == '-';
		if (skip_digits(reader) == 0)
			return expected(reader, "a digit", err);
	}
	return 0;
}

/*
 * The number when it is exact without more ado: up to 15 digits and 22 decimal places are
 * both doubles, and so their quotient is rounded once. Others are for strtod().
 */
static bool read_short_number(struct str text, double *out)
{
	static const double powers[] = { 1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
		                         1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15 };
	const bool is_negative = text.data[0] == '-';
	int64_t digits = 0;
	size_t places = 0;
	size_t count = 0;
	bool has_point = false;

	for (size_t i = is_negative; i < text.length; i++) {
		const char c = text.data[i];

		if (c == '.') {
			has_point = true;
			continue;
		}
		if (!is_digit(c) || ++count > 15)
			return false;
		digits = digits * 10 + (c - '0');
		places += has_point;
	}
	*out = (double)digits / powers[places];
	if (is_negative)
		*out = -*out;
	return true;
}

int json_reader_number(struct json_reader *reader, double *out, struct error *err)
{
	char copy[JSON_READER_NUMBER_MAX + 1];
	struct str text;
	size_t start;
	double number;

	skip_blanks(reader);
	start = reader->at;
	if (json_reader_kind(reader) != JSON_REAL_NUMBER)
		return expected(reader, "a number", err);
	if (skip_number(reader, err) < 0)
		return -1;
	text = str_make(reader->text.data + start, reader->at - start);
	if (read_short_number(text, out))
		return 0;
	if (text.length > JSON_READER_NUMBER_MAX)
		return error_set(err, ERROR_INVALID,
		                 "JSON, byte %zu: a number of more than %d bytes", start,
		                 JSON_READER_NUMBER_MAX);
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	number = strtod(copy, NULL);
	if (isinf(number))
		return error_set(err, ERROR_INVALID, "JSON, byte %zu: number %s is out of range",
		                 start, copy);
	*out = number;
	return 0;
}

/* ---- texts ---- */

/* Four hexadecimal digits, or -1. */
static int32_t hex_rune(struct str digits)
{
	int32_t rune = 0;

	if (digits.length < 4)
		return -1;
	for (size_t i = 0; i < 4; i++) {
		const char c = digits.data[i];

		if (is_digit(c))
			rune = rune * 16 + (c - '0');
		else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
			rune = rune * 16 + ((c | 0x20) - 'a' + 10);
		else
			return -1;
	}
	return rune;
}

/*
 * Behind the closing quote; *out_raw is what stands between the quotes, *out_plain whether
 * that is its meaning too.
 */
static int skip_text(struct json_reader *reader, struct str *out_raw, bool *out_plain,
                     struct error *err)
{
	size_t start;

	if (take_byte(reader, '"', "a text", err) < 0)
		return -1;
	start = reader->at;
	*out_plain = true;
	for (; peek(reader) != '"'; reader->at++) {
		if ((unsigned char)peek(reader) < 0x20)
			return expected(reader, "a closing '\"'", err);
		if (peek(reader) != '\\')
			continue;
		*out_plain = false;
		reader->at++;
		if (!strchr("\"\\/bfnrtu", peek(reader)) || peek(reader) == '\0')
			return expected(reader, "an escape", err);
		if (peek(reader) == 'u' && hex_rune(str_skip(reader->text, reader->at + 1)) < 0)
			return expected(reader, "four hexadecimal digits", err);
	}
	*out_raw = str_make(reader->text.data + start, reader->at - start);
	reader->at++;
	return 0;
}

static bool is_high_surrogate(int32_t rune)
{
	return rune >= 0xd800 && rune < 0xdc00;
}

static bool is_low_surrogate(int32_t rune)
{
	return rune >= 0xdc00 && rune < 0xe000;
}

/* What stands behind "\u"; two escapes may be one character. Half of one is U+FFFD. */
static uint32_t take_rune(struct str *raw)
{
	int32_t rune = hex_rune(*raw);
	int32_t second;

	*raw = str_skip(*raw, 4);
	if (is_high_surrogate(rune) && str_starts_with(*raw, STR("\\u"))) {
		second = hex_rune(str_skip(*raw, 2));
		if (is_low_surrogate(second)) {
			rune = 0x10000 + ((rune - 0xd800) << 10) + (second - 0xdc00);
			*raw = str_skip(*raw, 6);
		}
	}
	return is_high_surrogate(rune) || is_low_surrogate(rune) ? REPLACEMENT : (uint32_t)rune;
}

static char escaped(char c)
{
	static const char from[] = "bfnrt";
	static const char to[] = "\b\f\n\r\t";
	const char *at = strchr(from, c);

	if (at)
		return to[at - from];
	return c;
}

/* An escape is never shorter than what it means. */
static int unescape(struct str raw, struct arena *arena, struct str *out, struct error *err)
{
	char *copy = arena_alloc_raw(arena, raw.length);
	size_t length = 0;

	if (!copy)
		return arena_error(arena, err);
	while (raw.length > 0) {
		const char c = raw.data[0];

		raw = str_skip(raw, 1);
		if (c != '\\') {
			copy[length++] = c;
		} else if (raw.data[0] != 'u') {
			copy[length++] = escaped(raw.data[0]);
			raw = str_skip(raw, 1);
		} else {
			raw = str_skip(raw, 1);
			length += utf8_put(copy + length, take_rune(&raw));
		}
	}
	*out = (struct str){ copy, length };
	return 0;
}

int json_reader_text(struct json_reader *reader, struct arena *arena, struct str *out,
                     struct error *err)
{
	struct str text;
	bool is_plain;

	if (skip_text(reader, &text, &is_plain, err) < 0)
		return -1;
	if (!is_plain && unescape(text, arena, &text, err) < 0)
		return -1;
	*out = utf8_repair(arena, text);
	return out->data ? 0 : arena_error(arena, err);
}

/* ---- any value ---- */

static int skip_value(struct json_reader *reader, struct error *err);

static int skip_members(struct json_reader *reader, struct error *err)
{
	struct str key;
	bool is_plain;
	int more;

	if (json_reader_enter_map(reader, err) < 0)
		return -1;
	while ((more = go_on(reader, '}', "',' or '}'", err)) > 0)
		if (skip_text(reader, &key, &is_plain, err) < 0 ||
		    take_byte(reader, ':', "':'", err) < 0 || skip_value(reader, err) < 0)
			return -1;
	return more;
}

static int skip_items(struct json_reader *reader, struct error *err)
{
	int more;

	if (json_reader_enter_list(reader, err) < 0)
		return -1;
	while ((more = json_reader_next_item(reader, err)) > 0)
		if (skip_value(reader, err) < 0)
			return -1;
	return more;
}

static int skip_word(struct json_reader *reader, struct str word, struct error *err)
{
	if (!str_starts_with(str_skip(reader->text, reader->at), word))
		return expected(reader, "true, false or null", err);
	reader->at += word.length;
	return 0;
}

/* Recursion is bounded by JSON_DEPTH_MAX. */
static int skip_value(struct json_reader *reader, struct error *err)
{
	struct str text;
	bool is_plain;

	switch (json_reader_kind(reader)) {
	case JSON_MAP:
		return skip_members(reader, err);
	case JSON_LIST:
		return skip_items(reader, err);
	case JSON_TEXT:
		return skip_text(reader, &text, &is_plain, err);
	case JSON_REAL_NUMBER:
		return skip_number(reader, err);
	case JSON_BOOL:
		return skip_word(reader, peek(reader) == 't' ? STR("true") : STR("false"), err);
	case JSON_NULL_VALUE:
		return skip_word(reader, STR("null"), err);
	default:
		return expected(reader, "a value", err);
	}
}

int json_reader_skip(struct json_reader *reader, struct str *out_raw, struct error *err)
{
	size_t start;

	skip_blanks(reader);
	start = reader->at;
	if (skip_value(reader, err) < 0)
		return -1;
	*out_raw = str_make(reader->text.data + start, reader->at - start);
	return 0;
}
