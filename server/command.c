#include "server/command.h"

#include <string.h>

#include "base/cleanup.h"

static const struct command commands[] = {
#define COMMAND(name, function, help) { name, function, help },
#include "server/commands.def"
#undef COMMAND
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

const struct command *command_at(size_t index)
{
	return index < ARRAY_LENGTH(commands) ? &commands[index] : NULL;
}

void command_print_all(FILE *to)
{
	for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
		(void)fprintf(to, "  %-10s %s\n", commands[i].name, commands[i].help);
}

void command_print_unknown(const char *noun, const char *name, const char *nearest)
{
	(void)fprintf(stderr, "vramscope: unknown %s '%.100s'%s%s%s\n", noun, name,
	              nearest ? "; did you mean '" : "", nearest ? nearest : "",
	              nearest ? "'?" : "");
}
