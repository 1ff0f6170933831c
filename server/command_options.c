#include "server/command_options.h"

#include <stdio.h>

#include "server/command.h"
#include "server/version.h"

#define HELP_MAX ((size_t)256 << 10)

static void print_help(const char *command, unsigned halves, enum option_level level)
{
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, HELP_MAX);
	strbuf_printf(&text, "usage: vramscope %s [-flag=value ...]\n\n", command);
	options_print_help(halves, level, &text);
	if (level == OPTION_COMMON)
		strbuf_add_text(&text, "\n-help-all lists all of them\n");
	(void)fwrite(text.data, 1, text.length, stdout);
}

bool command_options(const char *command, unsigned halves, int argc, char **argv,
                     struct options **out, int *out_status)
{
	enum options_wish wish;
	struct error err = { 0 };

	*out_status = 0;
	if (options_load(argc, argv, out, &wish, &err) < 0) {
		(void)fprintf(stderr, "vramscope: %s\n", err.message);
		*out_status = EXIT_USAGE;
		return false;
	}
	switch (wish) {
	case OPTIONS_HELP:
		print_help(command, halves, OPTION_COMMON);
		return false;
	case OPTIONS_HELP_ALL:
		print_help(command, halves, OPTION_MORE);
		return false;
	case OPTIONS_VERSION:
		(void)printf("vramscope %s (%s, %s)\n", version_text(), version_revision(),
		             version_compiler());
		return false;
	default:
		return true;
	}
}
