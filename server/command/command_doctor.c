/*
 * vramscope doctor: what the collector needs of this machine, and whether it is there.
 */
#include "base/cleanup.h"
#include "server/command.h"
#include "server/command/arguments.h"
#include "server/command/requirement_report.h"

#define REPORT_MAX (size_t)(64UL * 1024)

static const char about[] =
	"Each requirement with what was found; of what does not hold also what it is for, and what to do.\n"
	"Takes a small program into the kernel and out again where that is allowed: run it as the user that\n"
	"`vramscope run` or `vramscope collector` will run as.\n"
	"Exit status: 0, or 1 when something required is missing.\n";

static int examine(void *context, struct error *err)
{
	struct requirement requirements[REQUIREMENT_COUNT];
	const struct terminal terminal = terminal_of(stdout);
	struct strbuf out;
	size_t missing;
	int result;

	(void)context;
	requirements_check(requirements);
	strbuf_init(&out, REPORT_MAX);
	missing = requirement_report(&terminal, requirements, ARRAY_LENGTH(requirements), &out);
	result = terminal_show(&out, err);
	strbuf_fini(&out);
	return result < 0 ? -1 : missing > 0;
}

int command_doctor(int argc, char **argv)
{
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "",
		.about = about,
	};

	return arguments_run(&arguments, &(struct command_work){ .run = examine }, argc, argv);
}
