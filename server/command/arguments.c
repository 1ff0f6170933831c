#include "server/command/arguments.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "server/command.h"
#include "server/command/terminal.h"
#include "server/nearest.h"

int arguments_complain(const struct arguments *arguments, const char *format, ...)
{
	va_list list;

	(void)fprintf(stderr, "vramscope %s: ", arguments->command);
	va_start(list, format);
	(void)vfprintf(stderr, format, list);
	va_end(list);
	(void)fprintf(stderr, "\nvramscope %s -h says what it understands.\n", arguments->command);
	return EXIT_USAGE;
}

static void print_help(const struct arguments *arguments)
{
	(void)printf("usage: vramscope %s%s%s\n\n", arguments->command,
	             arguments->synopsis[0] ? " " : "", arguments->synopsis);
	for (size_t i = 0; i < arguments->count; i++) {
		const struct argument *argument = &arguments->all[i];
		char left[64];

		(void)snprintf(left, sizeof(left), "%s%s%s--%s%s%s",
		               argument->short_name ? "-" : "",
		               argument->short_name ? argument->short_name : "",
		               argument->short_name ? ", " : "", argument->name,
		               argument->value ? " " : "", argument->value ? argument->value : "");
		(void)printf("  %-28s %s\n", left, argument->help);
	}
	(void)printf("%s%s", arguments->count > 0 ? "\n" : "", arguments->about);
}

static const struct argument *find(const struct arguments *arguments, struct str name)
{
	for (size_t i = 0; i < arguments->count; i++) {
		const struct argument *argument = &arguments->all[i];

		if (str_equals(name, argument->name) ||
		    (argument->short_name && str_equals(name, argument->short_name)))
			return argument;
	}
	return NULL;
}

static enum arguments_end unknown(const struct arguments *arguments, struct str name)
{
	struct nearest nearest;

	nearest_init(&nearest, name);
	for (size_t i = 0; i < arguments->count; i++)
		nearest_add(&nearest, arguments->all[i].name);
	if (nearest.name)
		(void)arguments_complain(arguments, "unknown option --%.*s; did you mean --%s?",
		                         STR_ARGS(name), nearest.name);
	else
		(void)arguments_complain(arguments, "unknown option --%.*s", STR_ARGS(name));
	return ARGUMENTS_WRONG;
}

static enum arguments_end add_to_list(const struct arguments *arguments, struct argument_list *list,
                                      const char *value)
{
	if (list->count == ARGUMENT_LIST_MAX) {
		(void)arguments_complain(arguments, "more than %d values", ARGUMENT_LIST_MAX);
		return ARGUMENTS_WRONG;
	}
	list->values[list->count++] = value;
	return ARGUMENTS_GO_ON;
}

/* Gives a flag its value. */
static enum arguments_end store(const struct arguments *arguments, const struct argument *argument,
                                const char *value)
{
	switch (argument->kind) {
	case ARGUMENT_TEXT:
		*(const char **)argument->to = value;
		break;
	case ARGUMENT_SWITCH:
		if (value && strcmp(value, "true") != 0 && strcmp(value, "false") != 0) {
			(void)arguments_complain(arguments, "--%s is a switch: true or false",
			                         argument->name);
			return ARGUMENTS_WRONG;
		}
		*(bool *)argument->to = !value || strcmp(value, "true") == 0;
		break;
	case ARGUMENT_LIST:
		return add_to_list(arguments, argument->to, value);
	}
	return ARGUMENTS_GO_ON;
}

/* A flag at argv[*at], whose value may be the next word. */
static enum arguments_end parse_flag(const struct arguments *arguments, int argc, char **argv,
                                     int *at)
{
	const char *flag = argv[*at] + (argv[*at][1] == '-' ? 2 : 1);
	const char *equals = strchr(flag, '=');
	const struct str name = equals ? str_make(flag, (size_t)(equals - flag)) : str_of(flag);
	const struct argument *argument = find(arguments, name);

	if (!argument && (str_equals(name, "h") || str_equals(name, "help"))) {
		print_help(arguments);
		return ARGUMENTS_SHOWN;
	}
	if (!argument)
		return unknown(arguments, name);
	if (equals || argument->kind == ARGUMENT_SWITCH)
		return store(arguments, argument, equals ? equals + 1 : NULL);
	if (*at + 1 >= argc) {
		(void)arguments_complain(arguments, "--%s needs a value", argument->name);
		return ARGUMENTS_WRONG;
	}
	return store(arguments, argument, argv[++*at]);
}

enum arguments_end arguments_parse(const struct arguments *arguments, int argc, char **argv)
{
	enum arguments_end end = ARGUMENTS_GO_ON;
	bool flags = true;

	for (int at = 1; at < argc && end == ARGUMENTS_GO_ON; at++) {
		if (flags && strcmp(argv[at], "--") == 0) {
			flags = false;
		} else if (flags && argv[at][0] == '-' && argv[at][1] != '\0') {
			end = parse_flag(arguments, argc, argv, &at);
		} else if (arguments->words) {
			end = add_to_list(arguments, arguments->words, argv[at]);
		} else {
			(void)arguments_complain(arguments, "unexpected '%s'", argv[at]);
			end = ARGUMENTS_WRONG;
		}
	}
	return end;
}

int arguments_run(const struct arguments *arguments, const struct command_work *work, int argc,
                  char **argv)
{
	const enum arguments_end end = arguments_parse(arguments, argc, argv);
	struct error err = { 0 };
	int status;

	if (end != ARGUMENTS_GO_ON)
		return end == ARGUMENTS_SHOWN ? 0 : EXIT_USAGE;
	if (work->understand && work->understand(work->context, &err) < 0)
		return arguments_complain(arguments, "%s", err.message);
	status = work->run(work->context, &err);
	if (status >= 0)
		return status;
	terminal_complain(arguments->command, err.message);
	return 1;
}
