/*
 * What a body looks like, whatever its sender says that it is: one table, for answers that
 * help and for files that say nothing.
 *
 * Shape    told by the bytes alone; a layer of gzip is looked through. The first row that
 *          fits wins.
 * Units    looks at the whole of a binary body, at the first CONTENT_LINES_MAX lines of
 *          text.
 * Errors   none: what looks like nothing known, or does not fit the arena, is NULL.
 * Threads  none.
 * Source   ingest specification, 2.1, 3.6 to 3.9 and 11.1
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

#define CONTENT_LINES_MAX 100

enum content_kind {
	CONTENT_JFR,
	CONTENT_FORM,
	CONTENT_FORM_OBJECT,
	CONTENT_SPEEDSCOPE,
	CONTENT_OTLP_JSON,
	CONTENT_PPROF,
	CONTENT_PERF_SCRIPT,
	CONTENT_JOINED,
	CONTENT_FOLDED,
	CONTENT_TRIE,
	CONTENT_TREE,
};

struct content {
	enum content_kind kind;
	const char *name;   /* "a JFR recording" */
	const char *format; /* the parameter format= that it is for; NULL: none */
	const char *advice; /* what its sender should do */
	bool (*looks)(struct str plain, struct arena *arena);
};

/* Whether a line is "root;...;leaf COUNT". */
bool content_is_folded_line(struct str line);

const struct content *content_of(struct str body, struct arena *arena);

struct content_sent {
	struct str body;
	struct str content_type; /* a form's parts are looked at one by one */
	const char *format;      /* that the sender names */
};

/*
 * Adds to a message what the body looks like and what to do, when that is not the format
 * that was named. True when it has.
 */
bool content_explain(const struct content_sent *sent, struct arena *arena, struct error *err);

/*
 * Whether these are folded stacks in one line: what `curl -d @file` makes of them, which
 * takes all line breaks out. Counts that have run into the next line's frame are no
 * counts any more: the lines cannot be had back.
 */
bool content_is_joined(struct str text);
