/*
 * Query strings, as Go's form parser reads them.
 *
 * Shape    pairs split at '&', name and value at the first '='; '+' is a blank, %XX a
 *          byte. A pair with a bad escape or a ';' is dropped and the rest kept. The
 *          first value of a name wins. Everything is copied, with a NUL behind it.
 * Errors   ERROR_TOO_LARGE past URL_PAIRS_MAX pairs.
 * Threads  none.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/strbuf.h"

#define URL_PAIRS_MAX 1000

struct url_pair {
	struct str name;
	struct str value;
};

struct url_query {
	struct url_pair *pairs; /* in the order they came */
	size_t count;
};

int url_query_parse(struct str raw, struct arena *arena, struct url_query *out, struct error *err);

/* The first value of `name`, or NULL. */
const struct str *url_query_find(const struct url_query *query, const char *name);

enum url_plus {
	URL_PLUS_IS_PLUS,  /* in a path */
	URL_PLUS_IS_BLANK, /* in a form */
};

/* Decodes %XX, and '+' as said. False at a bad escape, or when the arena is full. */
bool url_decode(struct str raw, enum url_plus plus, struct arena *arena, struct str *out);

/* Appends text with everything but letters, digits and -_.~ as %XX. */
void url_encode(struct str text, struct strbuf *out);
