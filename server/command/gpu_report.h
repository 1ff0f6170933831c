/*
 * GPU memory for a person: a table of processes, and the stacks of one of them.
 *
 * Shape    everything is appended to a strbuf; names are made safe for a terminal; widths
 *          and colours are the terminal's.
 * Threads  none.
 */
#pragma once

#include "server/command/gpu_oom_note.h"
#include "server/command/gpu_table.h"
#include "server/command/stack_list.h"
#include "server/command/terminal.h"

struct gpu_report {
	const struct terminal *terminal;
	int64_t now_ms;
	int64_t from_ms;  /* of the rates */
	size_t selected;  /* row; SIZE_MAX: none */
	size_t first_row; /* that is shown */
	size_t row_limit; /* 0: all */
	size_t stack_limit;
};

/*
 * How much is live, in how many processes, and how old that is; what devices say of it, where
 * they do; then a line each.
 */
void gpu_report_processes(const struct gpu_report *report, const struct gpu_table *table,
                          struct strbuf *out);

/* One line about the last allocation that found no memory; nothing where there was none. */
void gpu_report_oom(const struct gpu_report *report, const struct gpu_oom_note *note,
                    struct strbuf *out);

/* What the stacks of a process hold. */
void gpu_report_stacks(const struct gpu_report *report, const struct gpu_table_row *row,
                       const struct stack_list *stacks, struct strbuf *out);
