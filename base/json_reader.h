/*
 * JSON read from front to back, without a copy of it: for bodies that are large.
 *
 * Shape    the caller walks: it enters maps and lists, asks for the next member or item,
 *          and takes or skips each value, whole. What is skipped is checked too, and can
 *          be read later by a reader of its own. base/json.h is the same as a tree, for
 *          what is small and wanted in any order.
 * Units    nesting is bounded at JSON_DEPTH_MAX, the text of a number at
 *          JSON_READER_NUMBER_MAX bytes.
 * Errors   ERROR_INVALID with the offset, also for another kind of value than was asked
 *          for and for a number that no double holds; arena_error(). Bytes that are no
 *          UTF-8, and halves of surrogates, become U+FFFD; of equal keys each is told.
 * Threads  none.
 * Source   RFC 8259
 *
 *	json_reader_init(&reader, text);
 *	if (json_reader_enter_map(&reader, err) < 0)
 *		return -1;
 *	while ((more = json_reader_next_member(&reader, arena, &key, err)) > 0)
 *		if (json_reader_skip(&reader, &value, err) < 0)
 *			return -1;
 *	return more < 0 ? -1 : json_reader_end(&reader, err);
 */
#pragma once

#include "base/json.h"

#define JSON_READER_NUMBER_MAX 400

struct json_reader {
	struct str text;
	size_t at;
	size_t depth;
	bool is_fresh; /* the map or list was just entered: no comma is due */
};

void json_reader_init(struct json_reader *reader, struct str text);

/* What begins here, by its first byte; every number is a JSON_REAL_NUMBER. */
enum json_kind json_reader_kind(struct json_reader *reader);

int json_reader_enter_map(struct json_reader *reader, struct error *err);
int json_reader_enter_list(struct json_reader *reader, struct error *err);

/*
 * 1 before the next value, 0 behind the last one (the map or list is left then), -1 at an
 * error. A key is a view into the text, or in the arena when it had escapes.
 */
int json_reader_next_member(struct json_reader *reader, struct arena *arena, struct str *out_key,
                            struct error *err);
int json_reader_next_item(struct json_reader *reader, struct error *err);

int json_reader_number(struct json_reader *reader, double *out, struct error *err);
int json_reader_text(struct json_reader *reader, struct arena *arena, struct str *out,
                     struct error *err);

/* Any value; *out_raw is its text. */
int json_reader_skip(struct json_reader *reader, struct str *out_raw, struct error *err);

/* Nothing but blanks may follow. */
int json_reader_end(struct json_reader *reader, struct error *err);
