/*
 * The tokens of a metric selector.
 *
 * Shape    a pull lexer over borrowed text. Blanks and comments lie between tokens. A
 *          string token carries its value with escapes resolved, in the arena.
 * Errors   ERROR_INVALID: "LINE:COLUMN: parse error: ...", arena_error().
 * Threads  none.
 * Source   read specification, 3.4.3
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum selector_token_kind {
	SELECTOR_END,
	SELECTOR_NAME, /* [a-zA-Z_:][a-zA-Z0-9_:]* */
	SELECTOR_STRING,
	SELECTOR_EQUAL,
	SELECTOR_NOT_EQUAL,
	SELECTOR_MATCH,     /* =~ */
	SELECTOR_NOT_MATCH, /* !~ */
	SELECTOR_COMMA,
	SELECTOR_OPEN,
	SELECTOR_CLOSE,
};

struct selector_token {
	enum selector_token_kind kind;
	size_t at;        /* offset in the text */
	struct str text;  /* as written */
	struct str value; /* of a string */
};

struct selector_lexer {
	struct str text;
	size_t at;
	struct arena *arena;
};

int selector_lexer_next(struct selector_lexer *lexer, struct selector_token *out,
                        struct error *err);

/* Fills *err with "LINE:COLUMN: parse error: " and the message. Returns -1. */
int selector_lexer_error(const struct selector_lexer *lexer, size_t at, struct error *err,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Puts "LINE:COLUMN: parse error: " before a message that stands already. Returns -1. */
int selector_lexer_context(const struct selector_lexer *lexer, size_t at, struct error *err);
