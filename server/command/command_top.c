/*
 * vramscope top: the functions that cost most now, again and again.
 *
 * Plain output where nobody watches: one table, then the end.
 */
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "server/command.h"
#include "server/command/profile_question.h"
#include "server/command/profile_report.h"

#define ANSWER_MAX (size_t)(64UL * 1024 * 1024)

static const char about[] =
	"Without -q the first of these types that is there: GPU memory, CPU, anything. Ctrl-C ends it.\n"
	"\n"
	"  vramscope top\n"
	"  vramscope top -q 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"shop\"}' --last 5m\n";

/* What a person most likely wants to see, first things first. */
static const char *const preferred_types[] = { "gpu_memory:inuse_space:", "gpu_memory:",
	                                       "process_cuda:", "process_cpu:cpu:", NULL };

/* Set by SIGINT and SIGTERM: process-wide, as signals are. */
static volatile sig_atomic_t asked_to_end;

static void on_signal(int number)
{
	(void)number;
	asked_to_end = 1;
}

struct top_flags {
	struct question_flags common; /* the range is always up to now */
	const char *last;
	const char *every;
	bool once;
};

struct top_run {
	struct question question;
	int64_t last_ns;
	int64_t every_ns;
};

static int understand(const struct top_flags *flags, struct top_run *run, struct error *err)
{
	if (question_understand(&flags->common, clock_unix_ns(), &run->question, err) < 0 ||
	    question_duration(flags->last, &run->last_ns, err) < 0 ||
	    question_duration(flags->every, &run->every_ns, err) < 0)
		return -1;
	if (run->every_ns / NS_PER_MS > INT_MAX)
		return error_set(err, ERROR_INVALID, "--every %s is longer than 24 days",
		                 flags->every);
	return 0;
}

/*
 * The rows that fit: the head may be wrapped, and the columns' names, the line about the
 * rest and the cursor take one line each.
 */
static size_t rows_that_fit(const struct profile_report *report, int64_t total)
{
	const struct terminal *terminal = report->terminal;
	const struct terminal plain = { .width = SIZE_MAX, .height = SIZE_MAX };
	struct profile_report head = *report;
	struct strbuf text;
	size_t lines;

	if (terminal->height == SIZE_MAX)
		return 0;
	head.terminal = &plain;
	strbuf_init(&text, ANSWER_MAX);
	profile_report_head(&head, total, &text);
	lines = 3 + 1 + (text.length - 2) / terminal->width;
	strbuf_fini(&text);
	return terminal->height > lines ? terminal->height - lines : 1;
}

/* One table of the last while, appended. */
static int make_table(struct profile_source *source, const struct top_run *run,
                      const struct terminal *terminal, struct strbuf *out, struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(QUESTION_ARENA_MAX, NULL);
	struct profile_question question = run->question.asked;
	struct profile_report report = { .terminal = terminal, .limit = run->question.limit };
	struct profile profile = { 0 };
	struct function_tree *tree = NULL;
	struct function_table table;

	question.end_unix_ns = clock_unix_ns();
	question.start_unix_ns = question.end_unix_ns - run->last_ns;
	if (question_choose_type(source, &question, preferred_types, arena, err) < 0)
		return -1;
	if (question.type.length > 0 &&
	    profile_source_merge(source, &question, arena, &profile, err) < 0)
		return -1;
	if (function_tree_of_profile(&profile, 0, arena, &tree, err) < 0 ||
	    function_table_make(tree, run->question.order, arena, &table, err) < 0)
		return -1;
	report.type = question.type;
	report.selector = question.selector;
	report.start_unix_ns = question.start_unix_ns;
	report.end_unix_ns = question.end_unix_ns;
	if (profile.sample_type_count > 0)
		report.unit = profile_string(&profile, profile.sample_types[0].unit);
	if (report.limit == 0)
		report.limit = rows_that_fit(&report, table.total);
	profile_report_top(&report, &table, out);
	if (table.count == 0)
		strbuf_add_text(out, "No profile yet.\n");
	return 0;
}

/* Redraws until a signal. A server that is away for a moment is no reason to end. */
static int watch(struct profile_source *source, const struct top_run *run, struct error *err)
{
	const struct sigaction action = { .sa_handler = on_signal };
	int result = 0;

	if (sigaction(SIGINT, &action, NULL) < 0 || sigaction(SIGTERM, &action, NULL) < 0)
		return error_set(err, ERROR_IO, "cannot watch signals");
	while (result == 0 && !asked_to_end) {
		const struct terminal terminal = terminal_of(stdout);
		struct strbuf out;

		strbuf_init(&out, ANSWER_MAX);
		strbuf_add_text(&out, "\x1b[H\x1b[J");
		if (make_table(source, run, &terminal, &out, err) < 0)
			strbuf_printf(&out, "%s\ntrying again ...\n", err->message);
		result = terminal_show(&out, err);
		strbuf_fini(&out);
		if (result == 0)
			(void)poll(NULL, 0, (int)(run->every_ns / NS_PER_MS));
	}
	return result;
}

static int top(const struct top_flags *flags, const struct top_run *run, struct error *err)
{
	CLEANUP(profile_source_closep) struct profile_source *source = NULL;
	const struct terminal terminal = terminal_of(stdout);
	struct strbuf out;
	int result;

	if (profile_source_open(&flags->common.source, &source, err) < 0)
		return -1;
	if (terminal.is_terminal && !flags->once)
		return watch(source, run, err);
	strbuf_init(&out, ANSWER_MAX);
	result = make_table(source, run, &terminal, &out, err);
	if (result == 0)
		result = terminal_show(&out, err);
	strbuf_fini(&out);
	return result;
}

int command_top(int argc, char **argv)
{
	struct top_flags flags = {
		.common = { .from = "now", .to = "now", .limit = "0", .sort = "self" },
		.last = "1m",
		.every = "5s",
	};
	struct question_flags *common = &flags.common;
	const struct argument all[] = {
		{ "query", "q", ARGUMENT_TEXT, &common->query, "TYPE{...}",
		  "profile type and label selector" },
		{ "last", NULL, ARGUMENT_TEXT, &flags.last, "TIME", "how far back to look (1m)" },
		{ "every", NULL, ARGUMENT_TEXT, &flags.every, "TIME", "how often to look (5s)" },
		{ "limit", "n", ARGUMENT_TEXT, &common->limit, "N",
		  "rows; 0: what fits, or all of them (0)" },
		{ "sort", NULL, ARGUMENT_TEXT, &common->sort, "COLUMN", "self or total (self)" },
		{ "once", NULL, ARGUMENT_SWITCH, &flags.once, NULL, "one table, then the end" },
		QUESTION_SOURCE_ARGUMENTS(common->source),
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "[-q 'TYPE{label=\"value\"}'] [OPTIONS]",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
	};
	struct top_run run = { 0 };
	struct error err = { 0 };
	const enum arguments_end end = arguments_parse(&arguments, argc, argv);

	if (end != ARGUMENTS_GO_ON)
		return end == ARGUMENTS_SHOWN ? 0 : EXIT_USAGE;
	if (understand(&flags, &run, &err) < 0)
		return arguments_complain(&arguments, "%s", err.message);
	if (top(&flags, &run, &err) < 0) {
		terminal_complain(argv[0], err.message);
		return 1;
	}
	return 0;
}
