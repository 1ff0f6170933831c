/*
 * A profile for a person, or for the next program: table, tree, folded stacks, JSON.
 *
 * Shape    everything is appended to a strbuf. Names are made safe for a terminal; widths
 *          and colours are the terminal's.
 * Errors   arena_error() when the arena is full.
 * Threads  none.
 */
#pragma once

#include "base/strbuf.h"
#include "server/command/function_table.h"
#include "server/command/terminal.h"

struct profile_report {
	const struct terminal *terminal; /* where it will be shown */
	struct str type;
	struct str selector;
	struct str unit;
	int64_t start_unix_ns;
	int64_t end_unix_ns;
	size_t limit; /* rows, or nodes of the tree; 0: all */
};

/* Which question this is the answer to, and the total: one line. */
void profile_report_head(const struct profile_report *report, int64_t total, struct strbuf *out);

/* SELF, %, TOTAL, %, FUNCTION. */
void profile_report_top(const struct profile_report *report, const struct function_table *table,
                        struct strbuf *out);

/*
 * Indented, children by their totals; what lies below the limit is folded into "other".
 */
int profile_report_tree(const struct profile_report *report, const struct function_tree *tree,
                        struct arena *arena, struct strbuf *out, struct error *err);

/* "a;b;c VALUE" a line. */
int profile_report_folded(const struct function_tree *tree, struct arena *arena, struct strbuf *out,
                          struct error *err);

void profile_report_json(const struct profile_report *report, const struct function_table *table,
                         struct strbuf *out);

/* BEFORE, AFTER, CHANGE, %, FUNCTION. */
void profile_report_changes(const struct profile_report *report,
                            const struct function_changes *changes, enum function_table_order order,
                            struct strbuf *out);
void profile_report_changes_json(const struct profile_report *report,
                                 const struct function_changes *changes, struct strbuf *out);
