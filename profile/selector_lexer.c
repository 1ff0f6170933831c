#include "profile/selector_lexer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

#define BYTE_MAX      0xff
#define RUNE_MAX      0x10ffff
#define SURROGATE_MIN 0xd800
#define SURROGATE_MAX 0xdfff

struct position {
	size_t line;
	size_t column;
};

static struct position position_of(const struct selector_lexer *lexer, size_t at)
{
	struct position position = { 1, 1 };

	for (size_t i = 0; i < at && i < lexer->text.length; i++) {
		position.column++;
		if (lexer->text.data[i] == '\n')
			position = (struct position){ position.line + 1, 1 };
	}
	return position;
}

int selector_lexer_context(const struct selector_lexer *lexer, size_t at, struct error *err)
{
	const struct position position = position_of(lexer, at);

	return error_context(err, "%zu:%zu: parse error", position.line, position.column);
}

int selector_lexer_error(const struct selector_lexer *lexer, size_t at, struct error *err,
                         const char *format, ...)
{
	char message[160];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	error_set(err, ERROR_INVALID, "%s", message);
	return selector_lexer_context(lexer, at, err);
}

/* The byte at `at`, or -1 behind the end. */
static int byte_at(const struct selector_lexer *lexer, size_t at)
{
	return at < lexer->text.length ? (unsigned char)lexer->text.data[at] : -1;
}

static bool is_name_start(int c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':';
}

static bool is_name_part(int c)
{
	return is_name_start(c) || (c >= '0' && c <= '9');
}

static void skip_blanks(struct selector_lexer *lexer)
{
	for (;; lexer->at++) {
		const int c = byte_at(lexer, lexer->at);

		if (c == '#')
			while (byte_at(lexer, lexer->at + 1) >= 0 &&
			       byte_at(lexer, lexer->at + 1) != '\n')
				lexer->at++;
		else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
			return;
	}
}

static int digit_of(int c, unsigned base)
{
	int digit = -1;

	if (c >= '0' && c <= '9')
		digit = c - '0';
	else if (c >= 'a' && c <= 'f')
		digit = c - 'a' + 10;
	else if (c >= 'A' && c <= 'F')
		digit = c - 'A' + 10;
	return digit < (int)base ? digit : -1;
}

/* A numeric escape: how many digits of which base, and the largest number. */
struct escape {
	unsigned base;
	unsigned digits;
	uint32_t max;
};

/* Reads the digits at lexer->at. */
static int read_number(struct selector_lexer *lexer, const struct escape *escape, uint32_t *out,
                       struct error *err)
{
	const size_t begun = lexer->at;
	uint64_t number = 0;

	for (unsigned i = 0; i < escape->digits; i++, lexer->at++) {
		const int digit = digit_of(byte_at(lexer, lexer->at), escape->base);

		if (digit < 0)
			return selector_lexer_error(lexer, begun, err,
			                            "illegal character in escape sequence");
		number = number * escape->base + (unsigned)digit;
	}
	if (number > escape->max || (number >= SURROGATE_MIN && number <= SURROGATE_MAX))
		return selector_lexer_error(lexer, begun, err,
		                            "escape sequence is an invalid Unicode code point");
	*out = (uint32_t)number;
	return 0;
}

/* Reads the escape whose backslash is at lexer->at; writes at most four bytes. */
static int read_escape(struct selector_lexer *lexer, int quote, char *to, size_t *length,
                       struct error *err)
{
	static const char letters[] = "abfnrtv\\";
	static const char bytes[] = "\a\b\f\n\r\t\v\\";
	const int c = byte_at(lexer, lexer->at + 1);
	const char *letter = c > 0 ? strchr(letters, c) : NULL;
	struct escape escape = { 16, 0, RUNE_MAX };
	uint32_t number = 0;

	if (letter || c == quote) {
		to[*length] = lexer->text.data[lexer->at + 1];
		if (letter)
			to[*length] = bytes[letter - letters];
		++*length;
		lexer->at += 2;
		return 0;
	}
	if (c >= '0' && c <= '7')
		escape = (struct escape){ 8, 3, BYTE_MAX };
	else if (c == 'x')
		escape = (struct escape){ 16, 2, BYTE_MAX };
	else if (c == 'u' || c == 'U')
		escape.digits = c == 'u' ? 4 : 8;
	else
		return selector_lexer_error(lexer, lexer->at, err, "unknown escape sequence");
	lexer->at += escape.base == 8 ? 1 : 2;
	if (read_number(lexer, &escape, &number, err) < 0)
		return -1;
	if (escape.max == BYTE_MAX)
		to[(*length)++] = (char)number;
	else
		*length += utf8_put(to + *length, number);
	return 0;
}

/* The offset of the closing quote of a string whose text begins at lexer->at, or -1. */
static ptrdiff_t quoted_end(const struct selector_lexer *lexer, int quote)
{
	for (size_t at = lexer->at;; at++) {
		int c = byte_at(lexer, at);

		if (c == quote)
			return (ptrdiff_t)at;
		if (c == '\\')
			c = byte_at(lexer, ++at);
		if (c < 0 || c == '\n')
			return -1;
	}
}

/* A string in " or '. No escape is shorter than what it stands for. */
static int read_quoted(struct selector_lexer *lexer, struct selector_token *out, struct error *err)
{
	const int quote = byte_at(lexer, lexer->at++);
	const ptrdiff_t end = quoted_end(lexer, quote);
	size_t length = 0;
	char *to;

	if (end < 0)
		return selector_lexer_error(lexer, out->at, err, "unterminated quoted string");
	to = arena_alloc_raw(lexer->arena, (size_t)end - lexer->at + 1);
	if (!to)
		return arena_error(lexer->arena, err);
	while (lexer->at < (size_t)end) {
		const int c = byte_at(lexer, lexer->at);

		if (c != '\\') {
			to[length++] = (char)c;
			lexer->at++;
		} else if (read_escape(lexer, quote, to, &length, err) < 0) {
			return -1;
		}
	}
	lexer->at = (size_t)end + 1;
	out->value = str_make(to, length);
	return 0;
}

static int read_raw(struct selector_lexer *lexer, struct selector_token *out, struct error *err)
{
	const struct str rest = str_skip(lexer->text, ++lexer->at);
	const ptrdiff_t length = str_index(rest, '`');

	if (length < 0)
		return selector_lexer_error(lexer, out->at, err, "unterminated raw string");
	lexer->at += (size_t)length + 1;
	out->value = arena_copy(lexer->arena, str_first(rest, (size_t)length));
	return out->value.data ? 0 : arena_error(lexer->arena, err);
}

static int read_string(struct selector_lexer *lexer, int quote, struct selector_token *out,
                       struct error *err)
{
	struct str written;

	out->kind = SELECTOR_STRING;
	if ((quote == '`' ? read_raw : read_quoted)(lexer, out, err) < 0)
		return -1;
	written = str_first(str_skip(lexer->text, out->at), lexer->at - out->at);
	if (!utf8_is_valid(written))
		return selector_lexer_error(lexer, out->at, err, "invalid UTF-8 rune");
	return 0;
}

static int read_operator(struct selector_lexer *lexer, int c, struct selector_token *out,
                         struct error *err)
{
	const int next = byte_at(lexer, lexer->at + 1);

	if (c == '=') {
		out->kind = next == '~' ? SELECTOR_MATCH : SELECTOR_EQUAL;
		lexer->at += next == '~' ? 2 : 1;
		return 0;
	}
	if (next != '=' && next != '~')
		return selector_lexer_error(lexer, out->at, err, "unexpected character after '!'");
	out->kind = next == '~' ? SELECTOR_NOT_MATCH : SELECTOR_NOT_EQUAL;
	lexer->at += 2;
	return 0;
}

static int read_token(struct selector_lexer *lexer, struct selector_token *out, struct error *err)
{
	const int c = byte_at(lexer, lexer->at);

	if (c < 0)
		return 0;
	if (is_name_start(c)) {
		out->kind = SELECTOR_NAME;
		while (is_name_part(byte_at(lexer, lexer->at)))
			lexer->at++;
		return 0;
	}
	switch (c) {
	case '"':
	case '\'':
	case '`':
		return read_string(lexer, c, out, err);
	case '=':
	case '!':
		return read_operator(lexer, c, out, err);
	case ',':
		out->kind = SELECTOR_COMMA;
		break;
	case '{':
		out->kind = SELECTOR_OPEN;
		break;
	case '}':
		out->kind = SELECTOR_CLOSE;
		break;
	default:
		if (c > ' ' && c < 0x7f)
			return selector_lexer_error(lexer, out->at, err,
			                            "unexpected character: '%c'", c);
		return selector_lexer_error(lexer, out->at, err, "unexpected character: 0x%02x", c);
	}
	lexer->at++;
	return 0;
}

int selector_lexer_next(struct selector_lexer *lexer, struct selector_token *out, struct error *err)
{
	skip_blanks(lexer);
	*out = (struct selector_token){ .kind = SELECTOR_END, .at = lexer->at };
	if (read_token(lexer, out, err) < 0)
		return -1;
	out->text = str_first(str_skip(lexer->text, out->at), lexer->at - out->at);
	return 0;
}
