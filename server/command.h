/*
 * Sub-commands: server/commands.def.
 *
 * Shape    argv[0] of a command is its own name. Each understands -h and --help.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#define EXIT_USAGE 2

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help; /* one line */
};

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);

/* The commands in the order of the table; NULL behind the last. */
const struct command *command_at(size_t index);

/* All commands with their one line. */
void command_print_all(FILE *to);

/*
 * "unknown NOUN NAME", and the nearest name when one is near: the last line before
 * EXIT_USAGE.
 */
void command_print_unknown(const char *noun, const char *name, const char *nearest);

#define COMMAND(name, function, help) int function(int argc, char **argv);
#include "server/commands.def"
#undef COMMAND
