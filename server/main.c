/*
 * The program: finds the sub-command and runs it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "server/command.h"
#include "server/nearest.h"
#include "server/version.h"

static void print_usage(FILE *to)
{
	(void)fputs("vramscope: which code holds GPU memory, now and over time\n\n"
	            "usage: vramscope COMMAND [-flag=value ...]\n"
	            "       vramscope -flag=value ...        the same as vramscope server ...\n\n"
	            "commands:\n",
	            to);
	command_print_all(to);
	(void)fputs("  help       help COMMAND: what a command takes\n\n"
	            "vramscope server -h lists the server's options, -help-all all of them.\n",
	            to);
}

static int run_unknown(const char *name)
{
	struct nearest nearest;

	nearest_init(&nearest, str_of(name));
	for (size_t i = 0; command_at(i); i++)
		nearest_add(&nearest, command_at(i)->name);
	command_print_unknown("command", name, nearest.name);
	(void)fputs("vramscope help lists the commands\n", stderr);
	return EXIT_USAGE;
}

static int run_help(int argc, char **argv)
{
	static char flag[] = "-h";
	const struct command *command;

	if (argc < 2) {
		print_usage(stdout);
		return 0;
	}
	command = command_find(argv[1]);
	if (!command)
		return run_unknown(argv[1]);
	return command->run(2, (char *[]){ argv[1], flag, NULL });
}

static int is_flag(const char *text, const char *name)
{
	return text[0] == '-' && strcmp(text + 1 + (text[1] == '-'), name) == 0;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "help") == 0)
		return run_help(argc - 1, argv + 1);
	if (argc == 2 && (is_flag(argv[1], "h") || is_flag(argv[1], "help"))) {
		print_usage(stdout);
		return 0;
	}
	if (strcmp(argv[1], "version") == 0 || is_flag(argv[1], "version")) {
		(void)printf("vramscope %s (%s, %s)\n", version_text(), version_revision(),
		             version_compiler());
		return 0;
	}
	if (argv[1][0] == '-')
		return command_server(argc, argv);
	command = command_find(argv[1]);
	return command ? command->run(argc - 1, argv + 1) : run_unknown(argv[1]);
}
