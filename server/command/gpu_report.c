#include "server/command/gpu_report.h"

#include "base/cleanup.h"
#include "server/command/quantity.h"

#define STATE_WIDTH    12 /* "checkpointed"; mostly 8 are enough */
#define COLUMN_WIDTH   11 /* of a quantity: "-1023.9 MiB" */
#define PERCENT_WIDTH  7
#define NAME_WIDTH_MIN 20
#define STACK_SHOWN    65536 /* bytes of names */
#define DEVICES_SHOWN  512   /* bytes of a line about them */
#define LINE_USED      73    /* columns in front of the name */

static const char heading[] = "       PID        LIVE        PEAK     ALLOC/S  FAILED     SEEN  "
			      "STATE    PROCESS";

static void quantity_or_unknown(int64_t value, struct str unit, char text[static QUANTITY_SIZE])
{
	if (value == GPU_UNKNOWN)
		(void)snprintf(text, QUANTITY_SIZE, "?");
	else
		quantity_format(value, unit, text);
}

/* "4 s", "3 min", "5 h"; a clock that is behind ours is none. */
static void format_age(int64_t now_ms, int64_t then_ms, char text[static QUANTITY_SIZE])
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = { { 86400, "d" }, { 3600, "h" }, { 60, "min" } };
	const int64_t age_s = now_ms > then_ms ? (now_ms - then_ms) / 1000 : 0;

	for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
		if (age_s >= 2 * units[i].seconds) {
			(void)snprintf(text, QUANTITY_SIZE, "%lld %s",
			               (long long)(age_s / units[i].seconds), units[i].name);
			return;
		}
	}
	(void)snprintf(text, QUANTITY_SIZE, "%lld s", (long long)age_s);
}

static size_t name_width(const struct gpu_report *report, size_t used)
{
	const size_t width = report->terminal->width;

	if (width == SIZE_MAX)
		return SIZE_MAX;
	return width > used + NAME_WIDTH_MIN ? width - used : NAME_WIDTH_MIN;
}

static void add_cut(struct str text, size_t width, struct strbuf *out)
{
	if (width == SIZE_MAX)
		terminal_escape(text, out);
	else
		terminal_escape_cut(text, width, out);
	strbuf_add_byte(out, '\n');
}

static void add_head(const struct gpu_report *report, const struct gpu_table *table,
                     struct strbuf *out)
{
	char live[QUANTITY_SIZE];
	char age[QUANTITY_SIZE];
	struct strbuf note;
	int64_t sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].live_bytes <= 0)
			continue;
		if (__builtin_add_overflow(sum, table->rows[i].live_bytes, &sum))
			sum = INT64_MAX;
		count++;
	}
	quantity_format(sum, STR("bytes"), live);
	format_age(report->now_ms, table->tick_ms, age);
	terminal_style(report->terminal, TERMINAL_BOLD, str_of(live), out);
	strbuf_printf(out, " live in %zu process%s, ", count, count == 1 ? "" : "es");
	strbuf_init(&note, 2 * QUANTITY_SIZE);
	strbuf_printf(&note, "tick %s ago", age);
	terminal_style(report->terminal,
	               report->now_ms - table->tick_ms > 2 * table->interval_ms ? TERMINAL_RED
	                                                                        : TERMINAL_PLAIN,
	               strbuf_view(&note), out);
	strbuf_fini(&note);
	strbuf_add_byte(out, '\n');
}

/* "71.2 GiB of 80.0 GiB used on 1 GPU: 65.0 GiB live here, 6.20 GiB not (...)" */
static void add_devices(const struct gpu_report *report, const struct gpu_table *table,
                        struct strbuf *out)
{
	const struct gpu_table_sum sum = gpu_table_sum_devices(table);
	char used[QUANTITY_SIZE];
	char total[QUANTITY_SIZE];
	char live[QUANTITY_SIZE];
	char rest[QUANTITY_SIZE];
	struct strbuf text;

	if (table->device_count == 0 || sum.used_bytes == GPU_UNKNOWN)
		return;
	quantity_format(sum.used_bytes, STR("bytes"), used);
	quantity_or_unknown(sum.total_bytes, STR("bytes"), total);
	quantity_format(sum.live_bytes, STR("bytes"), live);
	quantity_format(sum.used_bytes > sum.live_bytes ? sum.used_bytes - sum.live_bytes : 0,
	                STR("bytes"), rest);
	strbuf_init(&text, DEVICES_SHOWN);
	strbuf_printf(&text,
	              "%s of %s used on %zu GPU%s: %s live here, %s not (contexts, modules, pool "
	              "slack, before the watch, others)",
	              used, total, table->device_count, table->device_count == 1 ? "" : "s", live,
	              rest);
	add_cut(strbuf_view(&text), name_width(report, 0), out);
	strbuf_fini(&text);
}

/* SERVICE (COMMAND) @ NODE */
static void add_process_name(const struct gpu_report *report, const struct gpu_table_row *row,
                             struct strbuf *out)
{
	struct strbuf name;

	strbuf_init(&name, 4096);
	strbuf_add_str(&name, row->service);
	if (row->command.length > 0)
		strbuf_printf(&name, " (%.*s)", STR_ARGS(row->command));
	strbuf_printf(&name, " @ %.*s", STR_ARGS(row->hostname));
	add_cut(strbuf_view(&name), name_width(report, LINE_USED), out);
	strbuf_fini(&name);
}

static void add_row(const struct gpu_report *report, const struct gpu_table *table, size_t index,
                    struct strbuf *out)
{
	const struct gpu_table_row *row = &table->rows[index];
	char live[QUANTITY_SIZE];
	char peak[QUANTITY_SIZE];
	char rate[QUANTITY_SIZE];
	char failures[QUANTITY_SIZE];
	char age[QUANTITY_SIZE];

	quantity_or_unknown(row->live_bytes, STR("bytes"), live);
	quantity_or_unknown(row->peak_bytes, STR("bytes"), peak);
	quantity_or_unknown(gpu_table_rate(table, row, report->from_ms), STR("bytes"), rate);
	quantity_or_unknown(row->failures, STR("count"), failures);
	format_age(report->now_ms, row->last_ms, age);
	strbuf_add_byte(out, index == report->selected ? '>' : ' ');
	strbuf_printf(out, "%*.*s", 9, STR_ARGS(str_first(row->pid, 20)));
	strbuf_printf(out, " %*s %*s %*s %7s %8s  ", COLUMN_WIDTH, live, COLUMN_WIDTH, peak,
	              COLUMN_WIDTH, rate, failures, age);
	strbuf_printf(out, "%-8.*s ", STR_ARGS(str_first(row->state, STATE_WIDTH)));
	add_process_name(report, row, out);
}

void gpu_report_processes(const struct gpu_report *report, const struct gpu_table *table,
                          struct strbuf *out)
{
	const size_t left = table->count - report->first_row;
	const size_t limit = report->row_limit > 0 && report->row_limit < left ? report->row_limit
	                                                                       : left;

	if (table->tick_ms == GPU_UNKNOWN) {
		strbuf_add_text(out,
		                "No GPU memory was seen. `vramscope run` or `vramscope collector` "
		                "on a machine with a GPU tells of it.\n");
		return;
	}
	add_head(report, table, out);
	add_devices(report, table, out);
	terminal_style(report->terminal, TERMINAL_DIM, str_of(heading), out);
	strbuf_add_byte(out, '\n');
	for (size_t i = 0; i < limit; i++)
		add_row(report, table, report->first_row + i, out);
	if (limit < table->count)
		strbuf_printf(out, "%*s%zu more processes\n", LINE_USED, "", table->count - limit);
}

void gpu_report_oom(const struct gpu_report *report, const struct gpu_oom_note *note,
                    struct strbuf *out)
{
	char requested[QUANTITY_SIZE];
	char live[QUANTITY_SIZE];
	char age[QUANTITY_SIZE];
	struct strbuf text;

	if (!note->any)
		return;
	quantity_or_unknown(note->requested_bytes, STR("bytes"), requested);
	quantity_or_unknown(note->live_bytes, STR("bytes"), live);
	format_age(report->now_ms, note->time_ms, age);
	terminal_style(report->terminal, note->has_recovered ? TERMINAL_PLAIN : TERMINAL_RED,
	               STR("out of memory"), out);
	strbuf_init(&text, 2 * STACK_SHOWN);
	strbuf_printf(&text, " %s ago: %s for %.*s%s%.*s, %s live%s: %.*s", age, requested,
	              STR_ARGS(note->pid), note->pid.length > 0 ? " " : "",
	              STR_ARGS(str_first(note->service, STACK_SHOWN / 2)), live,
	              note->has_recovered ? ", recovered" : "",
	              STR_ARGS(str_first(note->stack, STACK_SHOWN)));
	add_cut(strbuf_view(&text), name_width(report, strlen("out of memory")), out);
	strbuf_fini(&text);
}

void gpu_report_stacks(const struct gpu_report *report, const struct gpu_table_row *row,
                       const struct stack_list *stacks, struct strbuf *out)
{
	const size_t limit = report->stack_limit > 0 && report->stack_limit < stacks->count
	                             ? report->stack_limit
	                             : stacks->count;
	char value[QUANTITY_SIZE];
	char share[QUANTITY_SIZE];

	quantity_format(stacks->total, STR("bytes"), value);
	strbuf_add_byte(out, '\n');
	terminal_style(report->terminal, TERMINAL_BOLD, str_of(value), out);
	strbuf_add_text(out, " of ");
	terminal_escape(row->pid, out);
	strbuf_add_byte(out, ' ');
	terminal_escape(row->service, out);
	strbuf_add_text(out, str_equals(row->state, "exited") ? " at its last tick" : " by stack");
	strbuf_add_byte(out, '\n');
	for (size_t i = 0; i < limit; i++) {
		quantity_format(stacks->rows[i].value, STR("bytes"), value);
		quantity_format_percent(stacks->rows[i].value, stacks->total, share);
		strbuf_printf(out, "%*s %*s  ", COLUMN_WIDTH, value, PERCENT_WIDTH, share);
		add_cut(stacks->rows[i].text, name_width(report, COLUMN_WIDTH + PERCENT_WIDTH + 3),
		        out);
	}
	if (limit < stacks->count)
		strbuf_printf(out, "%*s%zu more stacks\n", COLUMN_WIDTH + PERCENT_WIDTH + 3, "",
		              stacks->count - limit);
}
