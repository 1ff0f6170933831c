#include <stdio.h>

#include "server/options.h"

void options_print_help(unsigned halves, enum option_level level, struct strbuf *out)
{
	for (size_t i = 0; i < OPTION_COUNT_ALL; i++) {
		const struct option *option = option_at((enum option_id)i);
		const char *type = option_type_name(option->type);

		if (option->level > level || !(option_halves(option) & halves))
			continue;
		strbuf_printf(out, "  -%s%s%s\n", option->name, type[0] ? " " : "[=true|false]",
		              type);
		strbuf_printf(out, "        %s", option->help);
		if (option->fallback[0])
			strbuf_printf(out, " (default %s)", option->fallback);
		strbuf_add_text(out, "\n");
	}
}

/* "server.http-listen-port" is section "server", key "http_listen_port". */
static struct str section_of(const char *name)
{
	const struct str text = str_of(name);
	const ptrdiff_t dot = str_index(text, '.');

	return dot < 0 ? STR("") : str_first(text, (size_t)dot);
}

static void add_key(struct strbuf *out, struct str name)
{
	for (size_t i = 0; i < name.length; i++) {
		const char c = name.data[i];

		if (c == '-')
			strbuf_add_byte(out, '_');
		else
			strbuf_add_byte(out, c);
	}
}

static bool is_plain(const char *text)
{
	if (text[0] == '\0' || text[0] == '.' || text[0] == '-')
		return false;
	for (const char *c = text; *c; c++)
		if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      (*c >= '0' && *c <= '9') || strchr("./_-", *c)))
			return false;
	return true;
}

static bool has_control(const char *text)
{
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return true;
	return false;
}

/* Line ends fold between single quotes; double quotes know escapes. */
static void add_escaped(struct strbuf *out, const char *text)
{
	strbuf_add_byte(out, '"');
	for (const char *c = text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			strbuf_printf(out, "\\x%02x", (unsigned)*c);
		else if (*c == '"' || *c == '\\')
			strbuf_printf(out, "\\%c", *c);
		else
			strbuf_add_byte(out, *c);
	strbuf_add_byte(out, '"');
}

static void add_value(struct strbuf *out, const char *text)
{
	if (is_plain(text)) {
		strbuf_add_text(out, text);
		return;
	}
	if (has_control(text)) {
		add_escaped(out, text);
		return;
	}
	strbuf_add_byte(out, '\'');
	for (const char *c = text; *c; c++) {
		if (*c == '\'')
			strbuf_add_byte(out, '\'');
		strbuf_add_byte(out, *c);
	}
	strbuf_add_byte(out, '\'');
}

static bool is_first_of_section(size_t id)
{
	const struct str section = section_of(option_at((enum option_id)id)->name);

	for (size_t i = 0; i < id; i++)
		if (str_equal(section, section_of(option_at((enum option_id)i)->name)))
			return false;
	return true;
}

static void add_line(const struct options *options, size_t id, bool is_inside, struct strbuf *out)
{
	const char *name = option_at((enum option_id)id)->name;
	const struct str section = section_of(name);

	strbuf_add_text(out, is_inside ? "  " : "");
	add_key(out, str_skip(str_of(name), section.length ? section.length + 1 : 0));
	strbuf_add_text(out, ": ");
	add_value(out, options->texts[id]);
	strbuf_add_byte(out, '\n');
}

/* What is hidden is told only where it was changed. */
static bool is_printed(const struct options *options, size_t id, enum options_print what)
{
	const struct option *option = option_at((enum option_id)id);

	return (what == OPTIONS_PRINT_ALL && option->level != OPTION_HIDDEN) ||
	       strcmp(options->texts[id], option->fallback) != 0;
}

void options_print_yaml(const struct options *options, enum options_print what, struct strbuf *out)
{
	for (size_t first = 0; first < OPTION_COUNT_ALL; first++) {
		const struct str section = section_of(option_at((enum option_id)first)->name);
		bool has_head = section.length == 0;

		if (!is_first_of_section(first))
			continue;
		for (size_t id = first; id < OPTION_COUNT_ALL; id++) {
			if (!str_equal(section, section_of(option_at((enum option_id)id)->name)) ||
			    !is_printed(options, id, what))
				continue;
			if (!has_head) {
				add_key(out, section);
				strbuf_add_text(out, ":\n");
				has_head = true;
			}
			add_line(options, id, section.length > 0, out);
		}
	}
}

/* A '|' would end a table's cell. */
static void add_cell(struct strbuf *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '|')
			strbuf_add_byte(out, '\\');
		strbuf_add_byte(out, *c);
	}
}

void options_print_docs(struct strbuf *out)
{
	strbuf_add_text(
		out,
		"# Options\n\n"
		"Written by `vramscope config print-docs options` from `server/options.def`.\n\n"
		"Flags have one or two dashes, `-name=value` or `-name value`; `true|false` stands behind\n"
		"a `=` only, `-name` alone is true. In the file of `-config.file` a name is cut at its\n"
		"first dot into section and key, with underscores: `-server.http-listen-port=4040` is\n"
		"`http_listen_port: 4040` under `server:`. Flags win over the file. Options marked\n"
		"*reload* change on SIGHUP. No option is taken from the environment, but the file may say\n"
		"`${VAR}` and `${VAR:-default}` with `-config.expand-env`.\n\n"
		"`vramscope config print-defaults` writes a file with all of them, `vramscope config check\n"
		"FILE` says whether one is right:\n\n"
		"```yaml\n"
		"server:\n"
		"  http_listen_address: 0.0.0.0\n"
		"storage:\n"
		"  path: /var/lib/vramscope\n"
		"  retention: 14d\n"
		"auth:\n"
		"  multitenancy_enabled: true\n"
		"```\n\n"
		"Durations are `15s`, `1h30m`, `7d`, `2w`, `1y`; sizes are `512MiB`, `10GB`.\n\n"
		"| option | value | default | what it does |\n"
		"|---|---|---|---|\n");
	for (size_t i = 0; i < OPTION_COUNT_ALL; i++) {
		const struct option *option = option_at((enum option_id)i);
		const char *type = option_type_name(option->type);

		if (option->level == OPTION_HIDDEN)
			continue;
		strbuf_printf(out, "| `-%s` | ", option->name);
		add_cell(out, type[0] ? type : "true|false");
		strbuf_printf(out, " | %s%s%s | ", option->fallback[0] ? "`" : "", option->fallback,
		              option->fallback[0] ? "`" : "");
		add_cell(out, option->help);
		strbuf_add_text(out, option->reload == OPTION_RELOAD ? " (*reload*) |\n" : " |\n");
	}
}
