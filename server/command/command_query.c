/*
 * vramscope query: one question, one answer.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/gzip.h"
#include "profile/dot.h"
#include "profile/pprof.h"
#include "server/command.h"
#include "server/command/profile_question.h"
#include "server/command/profile_report.h"

#define ANSWER_MAX (size_t)(1UL * 1024 * 1024 * 1024)

static const char about[] =
	"Output: top (a table of functions), tree, folded (for other flame graph tools), json, pprof (for\n"
	"`go tool pprof`), dot (for Graphviz). Without -q TYPE the only type there is is taken.\n"
	"\n"
	"  vramscope query -q 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"shop\"}'\n"
	"  vramscope query -q 'memory:inuse_space:bytes:space:bytes{}' --from now-1d -o folded\n";

struct query_flags {
	struct question_flags common;
	const char *output;
};

/* Everything of one run that the outputs look at. */
struct query_run {
	struct query_flags flags;
	struct terminal terminal;
	struct question question;
	struct profile_report report;
	struct arena *arena;
	struct profile profile;
	struct str why_nothing; /* of a question without an answer */
};

static int answer_pprof(const struct query_run *run, struct strbuf *out, struct error *err)
{
	struct strbuf plain;

	strbuf_init(&plain, ANSWER_MAX);
	pprof_write(&run->profile, &plain);
	gzip_deflate(strbuf_view(&plain), out);
	const bool too_large = strbuf_overflowed(&plain);

	strbuf_fini(&plain);
	return too_large ? error_set(err, ERROR_TOO_LARGE, "the profile is larger than 1 GiB") : 0;
}

static int answer(const struct query_run *run, struct strbuf *out, struct error *err)
{
	const char *output = run->flags.output;
	struct function_tree *tree = NULL;
	struct function_table table;

	if (strcmp(output, "pprof") == 0)
		return answer_pprof(run, out, err);
	if (strcmp(output, "dot") == 0)
		return dot_write(&run->profile, run->report.limit, run->arena, out, err);
	if (function_tree_of_profile(&run->profile, 0, run->arena, &tree, err) < 0)
		return -1;
	if (strcmp(output, "tree") == 0)
		return profile_report_tree(&run->report, tree, run->arena, out, err);
	if (strcmp(output, "folded") == 0)
		return profile_report_folded(tree, run->arena, out, err);
	if (function_table_make(tree, run->question.order, run->arena, &table, err) < 0)
		return -1;
	if (strcmp(output, "json") == 0)
		profile_report_json(&run->report, &table, out);
	else
		profile_report_top(&run->report, &table, out);
	return 0;
}

/* Everything that must be right before anybody is asked. */
static int understand(void *context, struct error *err)
{
	static const char *const outputs[] = { "top", "tree", "folded", "json", "pprof", "dot" };
	struct query_run *run = context;
	const struct query_flags *flags = &run->flags;
	bool known = false;

	for (size_t i = 0; i < ARRAY_LENGTH(outputs); i++)
		known = known || strcmp(flags->output, outputs[i]) == 0;
	if (!known)
		return error_set(err, ERROR_INVALID,
		                 "'%s' is no output: top, tree, folded, json, pprof, dot",
		                 flags->output);
	if (question_understand(&flags->common, clock_unix_ns(), &run->question, err) < 0)
		return -1;
	if (strcmp(flags->output, "pprof") == 0 && isatty(STDOUT_FILENO))
		return error_set(err, ERROR_INVALID,
		                 "pprof is binary: send it to a file with > profile.pb.gz");
	return 0;
}

static int ask(struct query_run *run, struct error *err)
{
	CLEANUP(profile_source_closep) struct profile_source *source = NULL;
	const struct terminal progress = terminal_of(stderr);
	struct profile_question *asked = &run->question.asked;
	int result;

	if (profile_source_open(&run->flags.common.source, &source, err) < 0)
		return -1;
	terminal_progress(&progress, "asking %s ...", profile_source_name(source));
	result = question_choose_type(source, asked, NULL, run->arena, err);
	if (result == 0 && asked->type.length > 0)
		result = profile_source_merge(source, asked, run->arena, &run->profile, err);
	if (result == 0 && run->profile.sample_count == 0)
		run->why_nothing = question_explain_nothing(source, asked, run->arena);
	terminal_progress(&progress, NULL);
	return result;
}

static int query(void *context, struct error *err)
{
	struct query_run *run = context;
	const struct profile_question *asked = &run->question.asked;
	struct strbuf out;
	int result;

	if (ask(run, err) < 0)
		return -1;
	if (run->profile.sample_count == 0)
		(void)fprintf(stderr, "No profile matches.\n%.*s", STR_ARGS(run->why_nothing));
	run->terminal = terminal_of(stdout);
	run->report = (struct profile_report){
		.terminal = &run->terminal,
		.type = asked->type,
		.selector = asked->selector,
		.start_unix_ns = asked->start_unix_ns,
		.end_unix_ns = asked->end_unix_ns,
		.limit = run->question.limit,
	};
	if (run->profile.sample_type_count > 0)
		run->report.unit = profile_string(&run->profile, run->profile.sample_types[0].unit);
	strbuf_init(&out, ANSWER_MAX);
	result = answer(run, &out, err);
	if (result == 0)
		result = terminal_show(&out, err);
	strbuf_fini(&out);
	return result;
}

int command_query(int argc, char **argv)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(QUESTION_ARENA_MAX, NULL);
	struct query_run run = {
		.flags = { .common = QUESTION_FLAGS_USUAL, .output = "top" },
		.arena = arena,
	};
	struct query_flags *flags = &run.flags;
	struct question_flags *common = &flags->common;
	const struct argument all[] = {
		QUESTION_RANGE_ARGUMENTS(*common),
		{ "output", "o", ARGUMENT_TEXT, &flags->output, "FORM",
		  "form of the answer (top)" },
		{ "limit", "n", ARGUMENT_TEXT, &common->limit, "N", "rows or nodes; 0: all (30)" },
		{ "sort", NULL, ARGUMENT_TEXT, &common->sort, "COLUMN", "self or total (self)" },
		QUESTION_SOURCE_ARGUMENTS(common->source),
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "-q 'TYPE{label=\"value\"}' [OPTIONS]",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
	};

	return arguments_run(&arguments, &(struct command_work){ understand, query, &run }, argc,
	                     argv);
}
