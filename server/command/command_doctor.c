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

int command_doctor(int argc, char **argv)
{
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "",
		.about = about,
	};
	struct requirement requirements[REQUIREMENT_COUNT];
	const struct terminal terminal = terminal_of(stdout);
	const enum arguments_end end = arguments_parse(&arguments, argc, argv);
	struct error err = { 0 };
	struct strbuf out;
	size_t missing;
	int result;

	if (end != ARGUMENTS_GO_ON)
		return end == ARGUMENTS_SHOWN ? 0 : EXIT_USAGE;
	requirements_check(requirements);
	strbuf_init(&out, REPORT_MAX);
	missing = requirement_report(&terminal, requirements, ARRAY_LENGTH(requirements), &out);
	result = terminal_show(&out, &err);
	strbuf_fini(&out);
	if (result < 0) {
		terminal_complain(argv[0], err.message);
		return 1;
	}
	return missing > 0;
}
