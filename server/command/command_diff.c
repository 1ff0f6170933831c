/*
 * vramscope diff: two ranges or two queries, function by function.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "server/command.h"
#include "server/command/profile_question.h"
#include "server/command/profile_report.h"

#define ANSWER_MAX (size_t)(256UL * 1024 * 1024)

static const char about[] =
	"Without --before... the range before --from that is as long is compared with --from to --to.\n"
	"\n"
	"  vramscope diff -q 'memory:inuse_space:bytes:space:bytes{service_name=\"shop\"}' --from now-1h\n"
	"  vramscope diff -q 'TYPE{version=\"2\"}' --before 'TYPE{version=\"1\"}'\n"
	"  vramscope diff -q 'TYPE{}' --before-from now-1d --before-to now-23h\n";

struct diff_flags {
	struct question_flags common; /* what is compared */
	const char *before;
	const char *before_from;
	const char *before_to;
	const char *output;
};

struct diff_side {
	struct profile_question question;
	struct function_table table;
	struct str unit;
};

struct diff_run {
	struct diff_flags flags;
	struct diff_side before;
	struct diff_side after;
	enum function_table_order order;
	size_t limit;
	struct arena *arena;
	struct str why_nothing; /* of a question without an answer */
};

static int understand_before(struct diff_run *run, int64_t now, struct error *err)
{
	const struct diff_flags *flags = &run->flags;
	struct profile_question *before = &run->before.question;
	const struct profile_question *after = &run->after.question;

	*before = *after;
	if (flags->before && question_parse(flags->before, before, err) < 0)
		return -1;
	if (!flags->before && !flags->before_from && !flags->before_to) {
		before->end_unix_ns = after->start_unix_ns;
		before->start_unix_ns =
			after->start_unix_ns - (after->end_unix_ns - after->start_unix_ns);
	}
	if (flags->before_from &&
	    question_time(flags->before_from, now, &before->start_unix_ns, err) < 0)
		return -1;
	if (flags->before_to && question_time(flags->before_to, now, &before->end_unix_ns, err) < 0)
		return -1;
	if (before->start_unix_ns > before->end_unix_ns)
		return error_set(err, ERROR_INVALID, "--before-from is later than --before-to");
	return 0;
}

static int understand(void *context, struct error *err)
{
	struct diff_run *run = context;
	const struct diff_flags *flags = &run->flags;
	const int64_t now = clock_unix_ns();
	struct question question;

	if (strcmp(flags->output, "table") != 0 && strcmp(flags->output, "json") != 0)
		return error_set(err, ERROR_INVALID, "'%s' is no output: table, json",
		                 flags->output);
	if (question_understand(&flags->common, now, &question, err) < 0)
		return -1;
	run->after.question = question.asked;
	run->order = question.order;
	run->limit = question.limit;
	return understand_before(run, now, err);
}

static int ask_side(struct profile_source *source, struct diff_side *side,
                    enum function_table_order order, struct arena *arena, struct error *err)
{
	struct profile profile = { 0 };
	struct function_tree *tree = NULL;

	if (side->question.type.length > 0 &&
	    profile_source_merge(source, &side->question, arena, &profile, err) < 0)
		return -1;
	if (profile.sample_type_count > 0)
		side->unit = profile_string(&profile, profile.sample_types[0].unit);
	if (function_tree_of_profile(&profile, 0, arena, &tree, err) < 0)
		return -1;
	return function_table_make(tree, order, arena, &side->table, err);
}

static int ask(struct diff_run *run, struct error *err)
{
	CLEANUP(profile_source_closep) struct profile_source *source = NULL;
	const struct terminal progress = terminal_of(stderr);
	int result;

	if (profile_source_open(&run->flags.common.source, &source, err) < 0)
		return -1;
	terminal_progress(&progress, "asking %s ...", profile_source_name(source));
	result = question_choose_type(source, &run->after.question, NULL, run->arena, err);
	if (result == 0 && run->before.question.type.length == 0)
		run->before.question.type = run->after.question.type;
	if (result == 0)
		result = ask_side(source, &run->before, run->order, run->arena, err);
	if (result == 0)
		result = ask_side(source, &run->after, run->order, run->arena, err);
	if (result == 0 && run->before.table.count == 0 && run->after.table.count == 0)
		run->why_nothing =
			question_explain_nothing(source, &run->after.question, run->arena);
	terminal_progress(&progress, NULL);
	return result;
}

static void describe(const struct diff_side *side, struct profile_report *report)
{
	report->type = side->question.type;
	report->selector = side->question.selector;
	report->start_unix_ns = side->question.start_unix_ns;
	report->end_unix_ns = side->question.end_unix_ns;
}

static int diff(void *context, struct error *err)
{
	struct diff_run *run = context;
	const struct terminal terminal = terminal_of(stdout);
	struct function_changes changes;
	struct strbuf out;
	int result;

	if (ask(run, err) < 0)
		return -1;
	if (run->why_nothing.length > 0)
		(void)fprintf(stderr, "No profile matches.\n%.*s", STR_ARGS(run->why_nothing));
	if (function_changes_make(&run->before.table, &run->after.table, run->order, run->arena,
	                          &changes, err) < 0)
		return -1;

	struct profile_report report = {
		.terminal = &terminal,
		.unit = run->after.unit.length > 0 ? run->after.unit : run->before.unit,
		.limit = run->limit,
	};

	strbuf_init(&out, ANSWER_MAX);
	if (strcmp(run->flags.output, "json") == 0) {
		describe(&run->after, &report);
		profile_report_changes_json(&report, &changes, &out);
	} else {
		describe(&run->before, &report);
		strbuf_add_text(&out, "before  ");
		profile_report_head(&report, changes.total_before, &out);
		describe(&run->after, &report);
		strbuf_add_text(&out, "after   ");
		profile_report_head(&report, changes.total_after, &out);
		profile_report_changes(&report, &changes, run->order, &out);
	}
	result = terminal_show(&out, err);
	strbuf_fini(&out);
	return result;
}

int command_diff(int argc, char **argv)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(QUESTION_ARENA_MAX, NULL);
	struct diff_run run = {
		.flags = { .common = QUESTION_FLAGS_USUAL, .output = "table" },
		.arena = arena,
	};
	struct diff_flags *flags = &run.flags;
	struct question_flags *common = &flags->common;
	const struct argument all[] = {
		QUESTION_RANGE_ARGUMENTS(*common),
		{ "before", NULL, ARGUMENT_TEXT, &flags->before, "TYPE{...}",
		  "compare with this (the same query)" },
		{ "before-from", NULL, ARGUMENT_TEXT, &flags->before_from, "TIME",
		  "begin of the range to compare with" },
		{ "before-to", NULL, ARGUMENT_TEXT, &flags->before_to, "TIME",
		  "end of the range to compare with" },
		{ "output", "o", ARGUMENT_TEXT, &flags->output, "FORM", "table or json (table)" },
		{ "limit", "n", ARGUMENT_TEXT, &common->limit, "N", "rows; 0: all (30)" },
		{ "sort", NULL, ARGUMENT_TEXT, &common->sort, "COLUMN",
		  "changes of self or total (self)" },
		QUESTION_SOURCE_ARGUMENTS(common->source),
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "-q 'TYPE{label=\"value\"}' [OPTIONS]",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
	};

	return arguments_run(&arguments, &(struct command_work){ understand, diff, &run }, argc,
	                     argv);
}
