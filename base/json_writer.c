/* The writing half of base/json.h. */
#include <inttypes.h>
#include <math.h>

#include "base/decimal.h"
#include "base/json.h"
#include "base/utf8.h"

#define DOUBLE_MAX (INT64_C(1) << 53) /* up to there each whole number is a double */

void json_writer_init(struct json_writer *writer, struct strbuf *out)
{
	*writer = (struct json_writer){ .out = out };
}

/* Before a value or a key. */
static void begin(struct json_writer *writer)
{
	if (writer->needs_comma)
		strbuf_add_byte(writer->out, ',');
	writer->needs_comma = true;
}

static void open_with(struct json_writer *writer, char bracket)
{
	begin(writer);
	strbuf_add_byte(writer->out, bracket);
	writer->needs_comma = false;
}

static void close_with(struct json_writer *writer, char bracket)
{
	strbuf_add_byte(writer->out, bracket);
	writer->needs_comma = true;
}

void json_begin_map(struct json_writer *writer)
{
	open_with(writer, '{');
}

void json_end_map(struct json_writer *writer)
{
	close_with(writer, '}');
}

void json_begin_list(struct json_writer *writer)
{
	open_with(writer, '[');
}

void json_end_list(struct json_writer *writer)
{
	close_with(writer, ']');
}

static bool is_plain(const struct json_writer *writer, unsigned char c)
{
	if (c < ' ' || c == '"' || c == '\\' || c >= 0x80)
		return false;
	return !writer->escape_html || (c != '<' && c != '>' && c != '&');
}

static void put_escape(struct strbuf *out, uint32_t rune)
{
	static const char letters[] = "btnvfr"; /* from U+0008; \v is not JSON's */

	if (rune == '"' || rune == '\\')
		strbuf_printf(out, "\\%c", (int)rune);
	else if (rune >= '\b' && rune <= '\r' && rune != '\v')
		strbuf_printf(out, "\\%c", letters[rune - '\b']);
	else
		strbuf_printf(out, "\\u%04" PRIx32, rune);
}

static bool must_escape(const struct json_writer *writer, uint32_t rune)
{
	if (rune < 0x80)
		return !is_plain(writer, (unsigned char)rune);
	/* line separators end a line of script in old browsers */
	return writer->escape_html && (rune == 0x2028 || rune == 0x2029);
}

static void put_quoted(struct json_writer *writer, struct str text)
{
	struct strbuf *out = writer->out;

	strbuf_add_byte(out, '"');
	while (text.length > 0) {
		size_t plain = 0;
		uint32_t rune;
		int length;

		while (plain < text.length && is_plain(writer, (unsigned char)text.data[plain]))
			plain++;
		strbuf_add_str(out, str_first(text, plain));
		text = str_skip(text, plain);
		length = utf8_next(text, &rune);
		if (length == 0)
			break;
		if (length < 0)
			strbuf_add_text(out, "\xef\xbf\xbd");
		else if (must_escape(writer, rune))
			put_escape(out, rune);
		else
			strbuf_add_str(out, str_first(text, (size_t)length));
		text = str_skip(text, length < 0 ? 1 : (size_t)length);
	}
	strbuf_add_byte(out, '"');
}

void json_key(struct json_writer *writer, const char *key)
{
	json_key_str(writer, str_of(key));
}

void json_key_str(struct json_writer *writer, struct str key)
{
	begin(writer);
	put_quoted(writer, key);
	strbuf_add_byte(writer->out, ':');
	writer->needs_comma = false;
}

void json_put_text(struct json_writer *writer, struct str text)
{
	begin(writer);
	put_quoted(writer, text);
}

/* Long lists of numbers are what big answers consist of: no printf. */
static void put_decimal(struct strbuf *out, uint64_t number, bool negative)
{
	char text[24];
	char *at = text + sizeof(text);

	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	if (negative)
		*--at = '-';
	strbuf_add(out, at, (size_t)(text + sizeof(text) - at));
}

static void put_signed(struct strbuf *out, int64_t number)
{
	put_decimal(out, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, number < 0);
}

void json_put_int(struct json_writer *writer, int64_t number)
{
	begin(writer);
	put_signed(writer->out, number);
}

void json_put_uint(struct json_writer *writer, uint64_t number)
{
	begin(writer);
	put_decimal(writer->out, number, false);
}

void json_put_exact(struct json_writer *writer, int64_t number)
{
	if (number > DOUBLE_MAX || number < -DOUBLE_MAX)
		json_put_int_text(writer, number);
	else
		json_put_int(writer, number);
}

void json_put_int_text(struct json_writer *writer, int64_t number)
{
	begin(writer);
	strbuf_add_byte(writer->out, '"');
	put_signed(writer->out, number);
	strbuf_add_byte(writer->out, '"');
}

void json_put_uint_text(struct json_writer *writer, uint64_t number)
{
	begin(writer);
	strbuf_add_byte(writer->out, '"');
	put_decimal(writer->out, number, false);
	strbuf_add_byte(writer->out, '"');
}

void json_put_double(struct json_writer *writer, double number)
{
	char text[DECIMAL_MAX];

	begin(writer);
	if (isnan(number))
		strbuf_add_text(writer->out, "\"NaN\"");
	else if (isinf(number))
		strbuf_add_text(writer->out, number > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	else
		strbuf_add(writer->out, text, decimal_format(number, text));
}

void json_put_bool(struct json_writer *writer, bool value)
{
	begin(writer);
	strbuf_add_text(writer->out, value ? "true" : "false");
}

void json_put_null(struct json_writer *writer)
{
	begin(writer);
	strbuf_add_text(writer->out, "null");
}
