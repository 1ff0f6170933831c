/*
 * JSON in (jansson behind a face of ours) and out (a writer over a strbuf).
 *
 * Shape    a parsed value lives in an arena and may hold NUL in its strings, but not in
 *          its keys. Keys given twice and text that is no UTF-8 are errors. Integers
 *          that fit int64 are integers, others are reals; the text of big unsigned
 *          numbers is not kept. Nesting is bounded at JSON_DEPTH_MAX.
 * Errors   ERROR_INVALID with line and column; arena_error() when the arena is full.
 * Threads  a parsed value may be read by many threads; parsing and writing: none.
 * Source   RFC 8259; read specification, 2.8
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

#define JSON_DEPTH_MAX 512

enum json_kind {
	JSON_NONE, /* NULL was asked */
	JSON_NULL_VALUE,
	JSON_BOOL,
	JSON_INT,
	JSON_REAL_NUMBER,
	JSON_TEXT,
	JSON_LIST,
	JSON_MAP,
};

struct json; /* a value; NULL stands for "absent" everywhere below */

/* The whole text must be one value (blanks around it are fine). */
int json_parse(struct str text, struct arena *arena, const struct json **out, struct error *err);

enum json_kind json_kind(const struct json *value);

/* The value, or false, 0 or an empty one when it is of another kind. */
bool json_bool(const struct json *value);
int64_t json_int(const struct json *value);
double json_number(const struct json *value); /* of JSON_INT and JSON_REAL_NUMBER */
struct str json_text(const struct json *value);

size_t json_length(const struct json *value); /* of JSON_LIST and JSON_MAP */
const struct json *json_at(const struct json *list, size_t index);
const struct json *json_get(const struct json *map, const char *key);

/*
 * Calls visit(context, key, value) for each member in the order of the text; stops and
 * returns what is not 0.
 */
int json_each(const struct json *map,
              int (*visit)(void *context, struct str key, const struct json *value), void *context);

/*
 * The writer puts commas by itself. Invalid UTF-8 becomes U+FFFD; '"', '\\' and control
 * characters are escaped; with escape_html also '<', '>' and '&' (as Go's encoder does in
 * error texts).
 */
struct json_writer {
	struct strbuf *out;
	bool needs_comma;
	bool escape_html;
};

void json_writer_init(struct json_writer *writer, struct strbuf *out);
void json_begin_map(struct json_writer *writer);
void json_end_map(struct json_writer *writer);
void json_begin_list(struct json_writer *writer);
void json_end_list(struct json_writer *writer);
void json_key(struct json_writer *writer, const char *key);
void json_key_str(struct json_writer *writer, struct str key);
void json_put_text(struct json_writer *writer, struct str text);
void json_put_int(struct json_writer *writer, int64_t number);
void json_put_uint(struct json_writer *writer, uint64_t number);

/* A number, or beyond 2^53 its text: a client's double would be another number. */
void json_put_exact(struct json_writer *writer, int64_t number);

/* "123": protobuf's 64-bit numbers */
void json_put_int_text(struct json_writer *writer, int64_t number);
void json_put_uint_text(struct json_writer *writer, uint64_t number);

/* As base/decimal.h has it; NaN and infinities as strings. */
void json_put_double(struct json_writer *writer, double number);
void json_put_bool(struct json_writer *writer, bool value);
void json_put_null(struct json_writer *writer);
