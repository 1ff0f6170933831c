#include "server/command/profile_report.h"

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/json.h"
#include "server/command/quantity.h"

#define COLUMN_WIDTH   11 /* of a quantity: "-1023.9 MiB" */
#define PERCENT_WIDTH  7  /* "-100.0%" */
#define NAME_WIDTH_MIN 20
#define TIME_SIZE      32

/* 2026-11-30T03:04:05Z */
static void format_time(int64_t unix_ns, char text[static TIME_SIZE])
{
	const time_t seconds = (time_t)(unix_ns / NS_PER_S);
	struct tm parts;

	if (!gmtime_r(&seconds, &parts) ||
	    strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
		(void)snprintf(text, TIME_SIZE, "?");
}

void profile_report_head(const struct profile_report *report, int64_t total, struct strbuf *out)
{
	char value[QUANTITY_SIZE];
	char start[TIME_SIZE];
	char end[TIME_SIZE];

	quantity_format(total, report->unit, value);
	format_time(report->start_unix_ns, start);
	format_time(report->end_unix_ns, end);
	terminal_style(report->terminal, TERMINAL_BOLD, str_of(value), out);
	strbuf_add_text(out, "  ");
	terminal_escape(report->type, out);
	terminal_escape(report->selector, out);
	strbuf_printf(out, "  %s to %s\n", start, end);
}

/* How many columns a name may take behind `used` ones. */
static size_t name_width(const struct profile_report *report, size_t used)
{
	const size_t width = report->terminal->width;

	if (width == SIZE_MAX)
		return SIZE_MAX;
	return width > used + NAME_WIDTH_MIN ? width - used : NAME_WIDTH_MIN;
}

static void add_name(const struct profile_report *report, struct str name, size_t used,
                     struct strbuf *out)
{
	const size_t width = name_width(report, used);

	if (name.length == 0)
		strbuf_add_text(out, "(no name)");
	else if (width == SIZE_MAX)
		terminal_escape(name, out);
	else
		terminal_escape_cut(name, width, out);
	strbuf_add_byte(out, '\n');
}

static void add_head_line(const struct profile_report *report, const char *text, struct strbuf *out)
{
	terminal_style(report->terminal, TERMINAL_DIM, str_of(text), out);
	strbuf_add_byte(out, '\n');
}

static size_t shown_rows(const struct profile_report *report, size_t count)
{
	return report->limit > 0 && report->limit < count ? report->limit : count;
}

static void add_rest_line(size_t shown, size_t count, size_t indent, struct strbuf *out)
{
	if (shown < count)
		strbuf_printf(out, "%*s%zu more functions\n", (int)indent, "", count - shown);
}

void profile_report_top(const struct profile_report *report, const struct function_table *table,
                        struct strbuf *out)
{
	const size_t rows = shown_rows(report, table->count);
	const size_t used = 2 * COLUMN_WIDTH + 2 * PERCENT_WIDTH + 5;

	profile_report_head(report, table->total, out);
	if (table->count == 0)
		return;
	add_head_line(report, "       SELF   SELF%       TOTAL  TOTAL%  FUNCTION", out);
	for (size_t i = 0; i < rows; i++) {
		const struct function_row *row = &table->rows[i];
		char self[QUANTITY_SIZE];
		char self_share[QUANTITY_SIZE];
		char total[QUANTITY_SIZE];
		char total_share[QUANTITY_SIZE];

		quantity_format(row->self, report->unit, self);
		quantity_format(row->total, report->unit, total);
		quantity_format_percent(row->self, table->total, self_share);
		quantity_format_percent(row->total, table->total, total_share);
		strbuf_printf(out, "%*s %*s %*s %*s  ", COLUMN_WIDTH, self, PERCENT_WIDTH,
		              self_share, COLUMN_WIDTH, total, PERCENT_WIDTH, total_share);
		add_name(report, row->name, used, out);
	}
	add_rest_line(rows, table->count, used, out);
}

/* ---- trees ---- */

struct tree_child {
	uint32_t node;
	uint32_t parent;
	int64_t total;
};

static int compare_children(const void *left, const void *right)
{
	const struct tree_child *a = left;
	const struct tree_child *b = right;
	const int order = (a->parent > b->parent) - (a->parent < b->parent);
	const int second = order ? order : (b->total > a->total) - (b->total < a->total);

	return second ? second : (a->node > b->node) - (a->node < b->node);
}

/*
 * All nodes but the root, sorted by parent and then by total: each node's children are a
 * run, largest first. runs[node] is where its run begins, runs[node + 1] where it ends.
 */
static struct tree_child *sort_children(const struct function_tree *tree, struct arena *arena,
                                        uint32_t **out_runs)
{
	const size_t count = tree->node_count - 1;
	struct tree_child *children = arena_array(arena, count + 1, sizeof(*children));
	uint32_t *runs = arena_array(arena, tree->node_count + 1, sizeof(*runs));

	if (!children || !runs)
		return NULL;
	for (uint32_t i = 0; i < count; i++)
		children[i] = (struct tree_child){
			.node = i + 1,
			.parent = tree->nodes[i + 1].parent,
			.total = tree->nodes[i + 1].total,
		};
	if (count > 0)
		qsort(children, count, sizeof(*children), compare_children);
	for (size_t i = 0; i < count; i++)
		runs[children[i].parent + 1]++;
	for (size_t i = 0; i < tree->node_count; i++)
		runs[i + 1] += runs[i];
	*out_runs = runs;
	return children;
}

static void add_tree_line(const struct profile_report *report, const struct function_tree *tree,
                          uint32_t node, size_t depth, struct strbuf *out)
{
	const struct function_node *at = &tree->nodes[node];
	char total[QUANTITY_SIZE];
	char share[QUANTITY_SIZE];

	quantity_format(at->total, report->unit, total);
	quantity_format_percent(at->total, tree->nodes[0].total, share);
	strbuf_printf(out, "%*s %*s  ", COLUMN_WIDTH, total, PERCENT_WIDTH, share);
	for (size_t i = 1; i < depth; i++)
		strbuf_add_text(out, "  ");
	add_name(report, tree->names[at->name], COLUMN_WIDTH + PERCENT_WIDTH + 1 + 2 * depth, out);
}

/*
 * Every node below the root, depth first; `next` holds for each open node where it stands
 * in its run.
 */
int profile_report_tree(const struct profile_report *report, const struct function_tree *tree,
                        struct arena *arena, struct strbuf *out, struct error *err)
{
	struct function_tree *cut = NULL;
	uint32_t *runs = NULL;
	uint32_t node = 0;
	size_t depth = 0;

	if (report->limit > 0) {
		if (function_tree_truncate(tree, (int64_t)report->limit, arena, &cut, err) < 0)
			return -1;
		tree = cut;
	}

	const struct tree_child *children = sort_children(tree, arena, &runs);
	uint32_t *next = arena_array(arena, tree->node_count, sizeof(*next));

	if (!children || !next)
		return arena_error(arena, err);
	profile_report_head(report, tree->nodes[0].total, out);
	memcpy(next, runs, tree->node_count * sizeof(*next));
	for (;;) {
		if (next[node] < runs[node + 1]) {
			node = children[next[node]++].node;
			add_tree_line(report, tree, node, ++depth, out);
			continue;
		}
		if (node == 0)
			return 0;
		node = tree->nodes[node].parent;
		depth--;
	}
}

int profile_report_folded(const struct function_tree *tree, struct arena *arena, struct strbuf *out,
                          struct error *err)
{
	uint32_t *path = arena_array(arena, tree->node_count, sizeof(*path));

	if (!path)
		return arena_error(arena, err);
	for (uint32_t node = 1; node < tree->node_count; node++) {
		size_t depth = 0;

		if (tree->nodes[node].self == 0)
			continue;
		for (uint32_t at = node; at != 0; at = tree->nodes[at].parent)
			path[depth++] = at;
		while (depth-- > 0) {
			terminal_escape(tree->names[tree->nodes[path[depth]].name], out);
			strbuf_add_byte(out, depth > 0 ? ';' : ' ');
		}
		strbuf_printf(out, "%lld\n", (long long)tree->nodes[node].self);
	}
	return 0;
}

/* ---- JSON ---- */

static void begin_json(const struct profile_report *report, struct json_writer *writer,
                       struct strbuf *out)
{
	json_writer_init(writer, out);
	json_begin_map(writer);
	json_key(writer, "type");
	json_put_text(writer, report->type);
	json_key(writer, "selector");
	json_put_text(writer, report->selector);
	json_key(writer, "unit");
	json_put_text(writer, report->unit);
	json_key(writer, "start_ms");
	json_put_int(writer, report->start_unix_ns / NS_PER_MS);
	json_key(writer, "end_ms");
	json_put_int(writer, report->end_unix_ns / NS_PER_MS);
}

static void put_int(struct json_writer *writer, const char *key, int64_t value)
{
	json_key(writer, key);
	json_put_int(writer, value);
}

void profile_report_json(const struct profile_report *report, const struct function_table *table,
                         struct strbuf *out)
{
	const size_t rows = shown_rows(report, table->count);
	struct json_writer writer;

	begin_json(report, &writer, out);
	put_int(&writer, "total", table->total);
	json_key(&writer, "functions");
	json_begin_list(&writer);
	for (size_t i = 0; i < rows; i++) {
		json_begin_map(&writer);
		json_key(&writer, "name");
		json_put_text(&writer, table->rows[i].name);
		put_int(&writer, "self", table->rows[i].self);
		put_int(&writer, "total", table->rows[i].total);
		json_end_map(&writer);
	}
	json_end_list(&writer);
	json_end_map(&writer);
	strbuf_add_byte(out, '\n');
}

/* ---- comparisons ---- */

static void add_change_row(const struct profile_report *report, int64_t before, int64_t after,
                           struct str name, struct strbuf *out)
{
	const int64_t change = (int64_t)((uint64_t)after - (uint64_t)before);
	const enum terminal_style style = change > 0   ? TERMINAL_RED
	                                  : change < 0 ? TERMINAL_GREEN
	                                               : TERMINAL_PLAIN;
	char left[QUANTITY_SIZE];
	char right[QUANTITY_SIZE];
	char moved[QUANTITY_SIZE];
	char share[QUANTITY_SIZE];
	char cell[2 * QUANTITY_SIZE];

	quantity_format(before, report->unit, left);
	quantity_format(after, report->unit, right);
	quantity_format_change(change, report->unit, moved);
	quantity_format_percent(change, before, share);
	(void)snprintf(cell, sizeof(cell), "%*s %*s", COLUMN_WIDTH + 1, moved, PERCENT_WIDTH,
	               share);
	strbuf_printf(out, "%*s %*s ", COLUMN_WIDTH, left, COLUMN_WIDTH, right);
	terminal_style(report->terminal, style, str_of(cell), out);
	strbuf_add_text(out, "  ");
	add_name(report, name, 3 * COLUMN_WIDTH + PERCENT_WIDTH + 6, out);
}

/* How many rows changed: the first ones, as the largest change comes first. */
static size_t changed_rows(const struct function_changes *changes, enum function_table_order order)
{
	size_t count = 0;

	for (; count < changes->count; count++) {
		const struct function_row *before = &changes->rows[count].before;
		const struct function_row *after = &changes->rows[count].after;

		if (order == FUNCTION_TABLE_BY_SELF ? before->self == after->self
		                                    : before->total == after->total)
			break;
	}
	return count;
}

void profile_report_changes(const struct profile_report *report,
                            const struct function_changes *changes, enum function_table_order order,
                            struct strbuf *out)
{
	const size_t changed = changed_rows(changes, order);
	const size_t rows = report->limit == 0 || report->limit > changed ? changed : report->limit;
	const int indent = 3 * COLUMN_WIDTH + PERCENT_WIDTH + 6;

	add_head_line(report,
	              order == FUNCTION_TABLE_BY_SELF
	                      ? "SELF BEFORE       AFTER       CHANGE CHANGE%  FUNCTION"
	                      : "TOT. BEFORE       AFTER       CHANGE CHANGE%  FUNCTION",
	              out);
	add_change_row(report, changes->total_before, changes->total_after, STR("(everything)"),
	               out);
	for (size_t i = 0; i < rows; i++) {
		const struct function_change *row = &changes->rows[i];

		if (order == FUNCTION_TABLE_BY_SELF)
			add_change_row(report, row->before.self, row->after.self, row->name, out);
		else
			add_change_row(report, row->before.total, row->after.total, row->name, out);
	}
	add_rest_line(rows, changed, (size_t)indent, out);
	if (changes->count > changed)
		strbuf_printf(out, "%*s%zu functions without a change\n", indent, "",
		              changes->count - changed);
}

void profile_report_changes_json(const struct profile_report *report,
                                 const struct function_changes *changes, struct strbuf *out)
{
	const size_t rows = shown_rows(report, changes->count);
	struct json_writer writer;

	begin_json(report, &writer, out);
	put_int(&writer, "total_before", changes->total_before);
	put_int(&writer, "total_after", changes->total_after);
	json_key(&writer, "functions");
	json_begin_list(&writer);
	for (size_t i = 0; i < rows; i++) {
		const struct function_change *row = &changes->rows[i];

		json_begin_map(&writer);
		json_key(&writer, "name");
		json_put_text(&writer, row->name);
		put_int(&writer, "self_before", row->before.self);
		put_int(&writer, "self_after", row->after.self);
		put_int(&writer, "total_before", row->before.total);
		put_int(&writer, "total_after", row->after.total);
		json_end_map(&writer);
	}
	json_end_list(&writer);
	json_end_map(&writer);
	strbuf_add_byte(out, '\n');
}
