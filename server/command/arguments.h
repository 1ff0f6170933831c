/*
 * The flags of a sub-command that a person types.
 *
 * Shape    one table a command: the parser, -h and "did you mean" are made from it. -name
 *          and --name, with the value behind a '=' or as the next word; "--" ends the
 *          flags. The server's own options have a table of their own
 *          (server/options.def).
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

#define ARGUMENT_LIST_MAX 256 /* values of a repeated flag; files on one line */

enum argument_kind {
	ARGUMENT_TEXT,   /* const char *: the last one wins */
	ARGUMENT_SWITCH, /* bool */
	ARGUMENT_LIST,   /* struct argument_list: all of them */
};

struct argument_list {
	const char *values[ARGUMENT_LIST_MAX];
	size_t count;
};

struct argument {
	const char *name;       /* without dashes */
	const char *short_name; /* another name, or NULL */
	enum argument_kind kind;
	void *to;
	const char *value; /* its word in the help text; NULL for a switch */
	const char *help;
};

struct arguments {
	const char *command;
	const char *synopsis; /* what follows the command's name */
	const char *about;    /* a paragraph behind the list */
	const struct argument *all;
	size_t count;
	struct argument_list *words; /* what is no flag; NULL: there must be none */
};

enum arguments_end {
	ARGUMENTS_GO_ON,
	ARGUMENTS_SHOWN, /* the help text: exit 0 */
	ARGUMENTS_WRONG, /* said so on standard error: EXIT_USAGE */
};

/* argv[0] is the command's name. */
enum arguments_end arguments_parse(const struct arguments *arguments, int argc, char **argv);

/* What a command does once its flags are there; each of both has `context`. */
struct command_work {
	int (*understand)(void *context, struct error *err); /* of what was typed; may be NULL */
	int (*run)(void *context, struct error *err);        /* the exit status; -1: an error */
	void *context;
};

/*
 * Parses, understands and runs, and says what went wrong: the command's exit status, which
 * is EXIT_USAGE until something was run.
 */
int arguments_run(const struct arguments *arguments, const struct command_work *work, int argc,
                  char **argv);

/* Says "vramscope COMMAND: MESSAGE" and where to read on. Returns EXIT_USAGE. */
int arguments_complain(const struct arguments *arguments, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
