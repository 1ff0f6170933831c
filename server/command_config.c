/*
 * vramscope config: what the options are, and whether a file is right.
 */
#include <stdio.h>
#include <string.h>

#include "server/app_metrics.h"
#include "server/command.h"
#include "server/nearest.h"
#include "server/options.h"

#define TEXT_MAX ((size_t)1 << 20)

static const char usage[] = "usage: vramscope config print-defaults\n"
			    "       vramscope config check [-config.expand-env] FILE\n"
			    "       vramscope config print-docs options|metrics\n";

static int print(const struct strbuf *text)
{
	return fwrite(text->data, 1, text->length, stdout) == text->length && fflush(stdout) == 0
	               ? 0
	               : 1;
}

static int print_defaults(void)
{
	CLEANUP(strbuf_fini) struct strbuf text;
	CLEANUP(options_freep) struct options *options = options_new();

	strbuf_init(&text, TEXT_MAX);
	options_print_yaml(options, OPTIONS_PRINT_ALL, &text);
	return print(&text);
}

static int print_docs(const char *what)
{
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, TEXT_MAX);
	if (strcmp(what, "options") == 0)
		options_print_docs(&text);
	else if (strcmp(what, "metrics") == 0)
		app_metrics_print_docs(&text);
	else
		return -1;
	return print(&text);
}

static int check(const char *path, bool expand_env)
{
	CLEANUP(options_freep) struct options *options = options_new();
	struct error err = { 0 };

	if (options_set_file(options, path, expand_env, &err) < 0) {
		(void)fprintf(stderr, "vramscope: %s\n", err.message);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < OPTION_COUNT_ALL; i++)
		if (strstr(options->texts[i], "${"))
			(void)fprintf(stderr,
			              "vramscope: %s is '%s': ${VAR} is replaced with "
			              "-config.expand-env only\n",
			              option_at((enum option_id)i)->name, options->texts[i]);
	if (options->ignored.length > 0)
		(void)fprintf(stderr, "vramscope: without meaning here, and passed over:%s\n",
		              options->ignored.data);
	(void)printf("%s is fine\n", path);
	return 0;
}

static bool is_expand_flag(const char *text)
{
	return strcmp(text, "-config.expand-env") == 0 || strcmp(text, "--config.expand-env") == 0;
}

/* Says what is wrong with the words behind `config`. */
static void explain(int argc, char **argv)
{
	static const char *const verbs[] = { "print-defaults", "check", "print-docs" };
	struct nearest nearest;

	if (argc < 2)
		return;
	nearest_init(&nearest, str_of(argv[1]));
	for (size_t i = 0; i < ARRAY_LENGTH(verbs); i++)
		nearest_add(&nearest, verbs[i]);
	if (!nearest.name || strcmp(nearest.name, argv[1]) != 0)
		command_print_unknown("word behind config", argv[1], nearest.name);
	else if (strcmp(argv[1], "check") == 0)
		(void)fputs(argc == 2 ? "vramscope: config check: which FILE?\n"
		                      : "vramscope: config check: one FILE is expected\n",
		            stderr);
	else
		(void)fprintf(stderr, "vramscope: config %s: other words are expected behind it\n",
		              argv[1]);
}

int command_config(int argc, char **argv)
{
	int status = -1;

	if (argc == 2 && (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0 ||
	                  strcmp(argv[1], "-help") == 0)) {
		(void)fputs(usage, stdout);
		return 0;
	}
	if (argc == 2 && strcmp(argv[1], "print-defaults") == 0)
		status = print_defaults();
	else if (argc == 3 && strcmp(argv[1], "print-docs") == 0)
		status = print_docs(argv[2]);
	else if (argc == 3 && strcmp(argv[1], "check") == 0)
		status = check(argv[2], false);
	else if (argc == 4 && strcmp(argv[1], "check") == 0 && is_expand_flag(argv[2]))
		status = check(argv[3], true);
	if (status >= 0)
		return status;
	explain(argc, argv);
	(void)fputs(usage, stderr);
	return EXIT_USAGE;
}
