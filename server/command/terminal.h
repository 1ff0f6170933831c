/*
 * What may be written to where a person looks.
 *
 * Shape    colours only on a terminal and never with NO_COLOR; names come from strangers,
 *          so control characters and what is no UTF-8 are shown as \xNN and never written
 *          raw.
 * Threads  the main thread's.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "base/str.h"
#include "base/strbuf.h"

enum terminal_style {
	TERMINAL_PLAIN,
	TERMINAL_BOLD,
	TERMINAL_DIM,
	TERMINAL_RED,
	TERMINAL_GREEN,
};

struct terminal {
	FILE *file;
	bool is_terminal;
	bool colours;
	size_t width;  /* columns; SIZE_MAX when it is no terminal */
	size_t height; /* lines; SIZE_MAX when it is no terminal */
};

/* Looks at the file and the environment (NO_COLOR, TERM). */
struct terminal terminal_of(FILE *file);

/*
 * Appends text that is safe to show: control characters, DEL, C1 controls and bad UTF-8
 * as \xNN.
 */
void terminal_escape(struct str text, struct strbuf *out);

/* The same, cut in the middle to `width` characters with "..." in the cut. */
void terminal_escape_cut(struct str text, size_t width, struct strbuf *out);

/* Appends text in a style, or plainly where the terminal has no colours. */
void terminal_style(const struct terminal *terminal, enum terminal_style style, struct str text,
                    struct strbuf *out);

/* "vramscope COMMAND: MESSAGE" on standard error, made safe. */
void terminal_complain(const char *command, const char *message);

/* All of `out` on standard output. An overflow is ERROR_TOO_LARGE, not half an answer. */
int terminal_show(const struct strbuf *out, struct error *err);

/* One line that the next one overwrites, on a terminal only; NULL clears it. */
void terminal_progress(const struct terminal *terminal, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
