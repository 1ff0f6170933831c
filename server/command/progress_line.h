/*
 * How far long work is, for whoever waits: one line that is written anew on a terminal, a
 * line every ten seconds elsewhere.
 *
 * Shape    on standard error: what is done of all, the rate, what is left, what is at hand.
 *          The first plain line comes when the work has taken ten seconds.
 * Units    of progress_line_begin(), as server/command/quantity.h knows them; of others the
 *          verb says what is counted.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "base/strbuf.h"
#include "server/command/terminal.h"

struct progress_line {
	struct terminal terminal;
	const char *verb;
	struct str unit;
	bool is_quiet;
	int64_t begun_mono_ns;
	int64_t told_mono_ns;
	bool is_shown;
};

enum progress_line_mode {
	PROGRESS_LINE_SHOWN,
	PROGRESS_LINE_QUIET,
};

void progress_line_begin(struct progress_line *line, const char *verb, struct str unit,
                         enum progress_line_mode mode);

/* Shows it when it is time to. `what` may be NULL. */
void progress_line_tell(struct progress_line *line, const char *what, uint64_t done, uint64_t all);

/* Nothing of it stays on a terminal. */
void progress_line_end(struct progress_line *line);

/* The text of a line, `seconds` after the work began. */
struct progress_moment {
	const char *what; /* or NULL */
	uint64_t done;
	uint64_t all;
	double seconds;
};
void progress_line_format(const struct progress_line *line, const struct progress_moment *moment,
                          struct strbuf *out);
