#include "server/command/requirement_report.h"

#define NAME_WIDTH 24

static const char *mark_of(const struct requirement *requirement)
{
	if (requirement->holds)
		return "ok";
	if (requirement->is_unknown)
		return "? ";
	return requirement->level == REQUIREMENT_LEVEL_REQUIRED ? "NO" : "no";
}

static enum terminal_style style_of(const struct requirement *requirement)
{
	if (requirement->holds)
		return TERMINAL_GREEN;
	if (requirement->is_unknown)
		return TERMINAL_DIM;
	return requirement->level == REQUIREMENT_LEVEL_REQUIRED ? TERMINAL_RED : TERMINAL_DIM;
}

static void add_indented(const char *text, struct strbuf *out)
{
	strbuf_add_text(out, "       ");
	terminal_escape(str_of(text), out);
	strbuf_add_byte(out, '\n');
}

static void add_requirement(const struct terminal *terminal, const struct requirement *requirement,
                            struct strbuf *out)
{
	strbuf_add_text(out, "  ");
	terminal_style(terminal, style_of(requirement), str_of(mark_of(requirement)), out);
	strbuf_printf(out, "   %-*s ", NAME_WIDTH, requirement->name);
	terminal_escape(str_of(requirement->detail), out);
	strbuf_add_byte(out, '\n');
	if (requirement->holds || requirement->is_unknown)
		return;
	add_indented(requirement->why, out);
	add_indented(requirement->remedy, out);
}

static size_t add_level(const struct terminal *terminal, const struct requirement *requirements,
                        size_t count, enum requirement_level level, struct strbuf *out)
{
	size_t missing = 0;

	terminal_style(terminal, TERMINAL_BOLD,
	               level == REQUIREMENT_LEVEL_REQUIRED ? STR("required") : STR("optional"),
	               out);
	strbuf_add_byte(out, '\n');
	for (size_t i = 0; i < count; i++) {
		if (requirements[i].level != level)
			continue;
		add_requirement(terminal, &requirements[i], out);
		missing += !requirements[i].holds && !requirements[i].is_unknown;
	}
	return missing;
}

size_t requirement_report(const struct terminal *terminal, const struct requirement *requirements,
                          size_t count, struct strbuf *out)
{
	const size_t missing =
		add_level(terminal, requirements, count, REQUIREMENT_LEVEL_REQUIRED, out);

	(void)add_level(terminal, requirements, count, REQUIREMENT_LEVEL_OPTIONAL, out);
	if (missing == 0)
		strbuf_add_text(out, "\nGPU memory can be watched on this machine.\n");
	else
		strbuf_printf(
			out,
			"\nGPU memory cannot be watched on this machine: %zu required thing%s "
			"missing.\n",
			missing, missing == 1 ? " is" : "s are");
	return missing;
}
