#include "profile/dot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/utf8.h"
#include "profile/call_graph.h"

#define FONT_LEAST  8 /* points, as pprof draws */
#define FONT_MOST   24
#define LINE_RED    0xb2 /* colours of our own */
#define FILL_RED    0xed
#define FILL_FADE   0x18
#define NUMBER_SIZE 48

struct writer {
	const struct profile *profile;
	const struct call_graph *graph;
	struct str unit;
	struct strbuf *out;
};

/* A unit of a family, and how many of the least it is. */
struct scale {
	const char *name;
	double factor;
};

static const struct scale time_scales[] = {
	{ "ns", 1 },      { "us", 1e3 },     { "ms", 1e6 },       { "s", 1e9 },
	{ "mins", 60e9 }, { "hrs", 3600e9 }, { "days", 86400e9 }, { NULL, 0 },
};

static const struct scale byte_scales[] = {
	{ "B", 1 },
	{ "kB", 1024.0 },
	{ "MB", 1024.0 * 1024 },
	{ "GB", 1024.0 * 1024 * 1024 },
	{ "TB", 1024.0 * 1024 * 1024 * 1024 },
	{ NULL, 0 },
};

/* The family of a profile's unit, and its own place in it. */
static const struct scale *family_of(struct str unit, double *out_factor)
{
	static const struct {
		const char *unit;
		const struct scale *family;
		double factor;
	} units[] = {
		{ "nanoseconds", time_scales, 1 },    { "ns", time_scales, 1 },
		{ "microseconds", time_scales, 1e3 }, { "us", time_scales, 1e3 },
		{ "milliseconds", time_scales, 1e6 }, { "ms", time_scales, 1e6 },
		{ "seconds", time_scales, 1e9 },      { "s", time_scales, 1e9 },
		{ "bytes", byte_scales, 1 },          { "b", byte_scales, 1 },
		{ "kilobytes", byte_scales, 1024.0 }, { "kb", byte_scales, 1024.0 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (str_equal_ignoring_case(unit, str_of(units[i].unit))) {
			*out_factor = units[i].factor;
			return units[i].family;
		}
	return NULL;
}

/* At most two decimals, no trailing ".00". */
static void format_decimal(double number, const char *unit, char text[NUMBER_SIZE])
{
	char digits[NUMBER_SIZE - 8];
	size_t length;

	length = (size_t)snprintf(digits, sizeof(digits), "%.2f", number);
	if (length > 3 && length < sizeof(digits) && strcmp(digits + length - 3, ".00") == 0)
		digits[length - 3] = '\0';
	(void)snprintf(text, NUMBER_SIZE, "%s%s", digits, unit);
}

static void format_value(const struct writer *writer, int64_t value, char text[NUMBER_SIZE])
{
	double factor = 1;
	const struct scale *scale = family_of(writer->unit, &factor);
	const double least = (double)value * factor;

	if (!scale) {
		(void)snprintf(text, NUMBER_SIZE, "%" PRId64, value);
		return;
	}
	while (scale[1].name && least >= scale[1].factor)
		scale++;
	format_decimal(least / scale->factor, value == 0 ? "" : scale->name, text);
}

/* The share of the total, from 0 to 1. */
static double share_of(const struct writer *writer, int64_t value)
{
	const int64_t total = writer->graph->total;

	if (value <= 0 || total <= 0)
		return 0;
	return value < total ? (double)value / (double)total : 1;
}

static void format_percent(const struct writer *writer, int64_t value, char text[NUMBER_SIZE])
{
	const double percent = share_of(writer, value) * 100;

	if (percent > 0 && percent < 0.01)
		(void)snprintf(text, NUMBER_SIZE, "%.1g%%", percent);
	else
		format_decimal(percent, "%", text);
}

/* Text inside a quoted attribute. */
static void put_escaped(const struct writer *writer, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		const char c = text.data[i];

		if (c == '\n')
			strbuf_add_text(writer->out, "\\n");
		else if ((unsigned char)c < ' ' || c == 0x7f)
			strbuf_add_byte(writer->out, ' ');
		else if (c == '"' || c == '\\')
			strbuf_printf(writer->out, "\\%c", c);
		else
			strbuf_add_byte(writer->out, c);
	}
}

/* A name in lines: package, type and method below one another. */
static void put_lines(const struct writer *writer, struct str name)
{
	size_t begun = 0;

	for (size_t i = 0; i < name.length; i++) {
		const struct str rest = str_skip(name, i);
		const bool is_scope = str_starts_with(rest, STR("::"));
		const bool is_dot = name.data[i] == '.' && i > 0 && i + 1 < name.length &&
		                    name.data[i - 1] != '.' && name.data[i + 1] != '.';

		if (!is_scope && !is_dot)
			continue;
		put_escaped(writer, str_first(str_skip(name, begun), i - begun));
		strbuf_add_text(writer->out, "\\n");
		i += is_scope ? 1 : 0;
		begun = i + 1;
	}
	put_escaped(writer, str_skip(name, begun));
}

/* From grey to red by the share of the total. */
static void format_color(const struct writer *writer, int64_t value, unsigned red, double fade,
                         char text[8])
{
	const unsigned rest = red - (unsigned)(fade * share_of(writer, value));

	(void)snprintf(text, 8, "#%02x%02x%02x", red & 0xff, rest & 0xff, rest & 0xff);
}

/* As pprof writes it, in UTC; nothing for a profile that has no time. */
static void put_time(const struct writer *writer, int64_t unix_ns)
{
	const time_t unix_s = unix_ns / 1000000000;
	char text[NUMBER_SIZE];
	struct tm parts;

	if (unix_ns == 0 || !gmtime_r(&unix_s, &parts) ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
		return;
	strbuf_printf(writer->out, "Time: %s\\l", text);
}

static void put_legend(const struct writer *writer)
{
	const struct profile *profile = writer->profile;
	const struct call_graph *graph = writer->graph;
	const struct str type = profile->strings[profile->sample_types[0].type];
	char shown_text[NUMBER_SIZE];
	char total_text[NUMBER_SIZE];
	char percent[NUMBER_SIZE];
	uint64_t shown = 0;

	for (size_t i = 0; i < graph->node_count; i++)
		shown += (uint64_t)graph->nodes[i].flat;
	format_value(writer, (int64_t)shown, shown_text);
	format_value(writer, graph->total, total_text);
	format_percent(writer, (int64_t)shown, percent);
	strbuf_add_text(writer->out, "subgraph cluster_L { \"Type: ");
	put_escaped(writer, type);
	strbuf_add_text(writer->out, "\" [shape=box fontsize=16 label=\"Type: ");
	put_escaped(writer, type);
	strbuf_add_text(writer->out, "\\l");
	put_time(writer, profile->time_unix_ns);
	strbuf_printf(writer->out, "Showing nodes accounting for %s, %s of %s total\\l", shown_text,
	              percent, total_text);
	if (graph->node_count < graph->function_count)
		strbuf_printf(writer->out, "Showing top %zu nodes out of %zu\\l", graph->node_count,
		              graph->function_count);
	strbuf_add_text(writer->out, "\"] }\n");
}

static void put_node(const struct writer *writer, size_t index, int64_t max_flat)
{
	const struct call_node *node = &writer->graph->nodes[index];
	const double share = max_flat > 0 ? (double)node->flat / (double)max_flat : 0;
	char flat[NUMBER_SIZE];
	char flat_percent[NUMBER_SIZE];
	char cum[NUMBER_SIZE];
	char cum_percent[NUMBER_SIZE];
	char color[8];
	char fill[8];

	format_value(writer, node->flat, flat);
	format_percent(writer, node->flat, flat_percent);
	format_value(writer, node->cum, cum);
	format_percent(writer, node->cum, cum_percent);
	format_color(writer, node->cum, LINE_RED, LINE_RED, color);
	format_color(writer, node->cum, FILL_RED, FILL_FADE, fill);
	strbuf_printf(writer->out, "N%zu [label=\"", index + 1);
	put_lines(writer, node->name);
	if (node->flat != 0)
		strbuf_printf(writer->out, "\\n%s (%s)", flat, flat_percent);
	else
		strbuf_add_text(writer->out, "\\n0");
	if (node->cum != node->flat)
		strbuf_printf(writer->out, "%sof %s (%s)", node->flat != 0 ? "\\n" : " ", cum,
		              cum_percent);
	strbuf_printf(writer->out, "\" id=\"node%zu\" fontsize=%d shape=box tooltip=\"", index + 1,
	              FONT_LEAST +
	                      (int)ceil((FONT_MOST - FONT_LEAST) * sqrt(share > 0 ? share : 0)));
	put_escaped(writer, node->name);
	strbuf_printf(writer->out, " (%s)\" color=\"%s\" fillcolor=\"%s\"]\n", cum, color, fill);
}

static void put_tooltip(const struct writer *writer, const char *attribute,
                        const struct call_edge *edge, const char *value)
{
	strbuf_printf(writer->out, " %s=\"", attribute);
	put_escaped(writer, writer->graph->nodes[edge->from].name);
	strbuf_add_text(writer->out, edge->is_residual ? " ... " : " -> ");
	put_escaped(writer, writer->graph->nodes[edge->to].name);
	strbuf_printf(writer->out, " (%s)\"", value);
}

static void put_edge(const struct writer *writer, const struct call_edge *edge)
{
	const double share = share_of(writer, edge->weight);
	char value[NUMBER_SIZE];
	char color[8];

	format_value(writer, edge->weight, value);
	format_color(writer, edge->weight, LINE_RED, LINE_RED, color);
	strbuf_printf(writer->out, "N%u -> N%u [label=\" %s\"", edge->from + 1, edge->to + 1,
	              value);
	strbuf_printf(writer->out, " weight=%d penwidth=%d color=\"%s\"", 1 + (int)(share * 100),
	              1 + (int)(share * 5), color);
	put_tooltip(writer, "tooltip", edge, value);
	put_tooltip(writer, "labeltooltip", edge, value);
	strbuf_printf(writer->out, "%s]\n", edge->is_residual ? " style=\"dotted\"" : "");
}

static void put_graph(const struct writer *writer)
{
	const struct profile *profile = writer->profile;
	const struct call_graph *graph = writer->graph;
	struct str title = { NULL, 0 };
	int64_t max_flat = 0;

	if (profile->mapping_count > 0)
		title = profile_basename(profile->strings[profile->mappings[0].file]);
	strbuf_add_text(writer->out, "digraph \"");
	put_escaped(writer, title.length > 0 ? title : STR("unnamed"));
	strbuf_add_text(writer->out, "\" {\nnode [style=filled fillcolor=\"#f8f8f8\"]\n");
	put_legend(writer);
	for (size_t i = 0; i < graph->node_count; i++)
		max_flat = graph->nodes[i].flat > max_flat ? graph->nodes[i].flat : max_flat;
	for (size_t i = 0; i < graph->node_count; i++)
		put_node(writer, i, max_flat);
	for (size_t i = 0; i < graph->edge_count; i++)
		put_edge(writer, &graph->edges[i]);
	strbuf_add_text(writer->out, "}\n");
}

int dot_write(const struct profile *profile, size_t max_nodes, struct arena *arena,
              struct strbuf *out, struct error *err)
{
	struct call_graph graph;
	struct writer writer = { profile, &graph, { NULL, 0 }, out };

	if (call_graph_make(profile, max_nodes, arena, &graph, err) < 0)
		return -1;
	if (graph.node_count == 0)
		return 0;
	/* Graphviz refuses what is no UTF-8 */
	for (size_t i = 0; i < graph.node_count; i++) {
		graph.nodes[i].name = utf8_repair(arena, graph.nodes[i].name);
		if (!graph.nodes[i].name.data)
			return arena_error(arena, err);
	}
	writer.unit = profile->strings[profile->sample_types[0].unit];
	put_graph(&writer);
	return 0;
}
