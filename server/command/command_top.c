/*
 * vramscope top: the functions that cost most now, or the processes that hold GPU memory
 * (--gpu), again and again.
 *
 * Plain output where nobody watches: one table, then the end.
 */
#include <limits.h>
#include <stdio.h>

#include "base/clock.h"
#include "server/command.h"
#include "server/command/gpu_top.h"
#include "server/command/profile_question.h"
#include "server/command/profile_report.h"
#include "server/command/terminal_watch.h"

#define ANSWER_MAX (size_t)(64UL * 1024 * 1024)

static const char about[] =
	"Without -q the first of these types that is there: GPU memory, CPU, anything. Ctrl-C ends it.\n"
	"--gpu shows processes, largest first, and the stacks that hold the memory of one of them: of the first, of --pid,\n"
	"or of the one that the arrow keys choose; q ends it. ALLOC/S is of --last, PEAK and FAILED of an hour (or --last);\n"
	"-q is then a selector alone.\n"
	"\n"
	"  vramscope top\n"
	"  vramscope top -q 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name=\"shop\"}' --last 5m\n"
	"  vramscope top --gpu\n"
	"  vramscope top --gpu --once --pid 4711 -q '{hostname=\"gpu1\"}'\n";

/* What a person most likely wants to see, first things first. */
static const struct preferred_type preferred_types[] = {
	/* what programs hold on their heaps has this type too */
	{ "memory:inuse_space:bytes:space:bytes", "cuda_class!=\"\"" },
	{ "process_cuda:", NULL },
	{ "process_cpu:cpu:", NULL },
	{ NULL, NULL },
};

struct top_flags {
	struct question_flags common; /* the range is always up to now */
	const char *last;
	const char *every;
	const char *pid; /* with `gpu` */
	bool gpu;
	bool once;
};

struct top_run {
	struct top_flags flags;
	struct profile_source *source;
	struct question question;
	int64_t last_ns;
	int64_t every_ns;
};

static int understand(void *context, struct error *err)
{
	struct top_run *run = context;
	const struct top_flags *flags = &run->flags;

	if (question_understand(&flags->common, clock_unix_ns(), &run->question, err) < 0 ||
	    question_duration(flags->last, &run->last_ns, err) < 0 ||
	    question_duration(flags->every, &run->every_ns, err) < 0)
		return -1;
	if (run->every_ns / NS_PER_MS > INT_MAX)
		return error_set(err, ERROR_INVALID, "--every %s is longer than 24 days",
		                 flags->every);
	if (flags->gpu && run->question.asked.type.length > 0)
		return error_set(err, ERROR_INVALID,
		                 "-q of --gpu is a selector: {label=\"value\"}");
	if (flags->pid && !flags->gpu)
		return error_set(err, ERROR_INVALID, "--pid belongs to --gpu");
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

/* One table of the last while, appended. `context` is a struct top_run. */
static int make_table(void *context, const struct terminal *terminal, struct strbuf *out,
                      struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(QUESTION_ARENA_MAX, NULL);
	const struct top_run *run = context;
	struct profile_question question = run->question.asked;
	struct profile_report report = { .terminal = terminal, .limit = run->question.limit };
	struct profile profile = { 0 };
	struct function_tree *tree = NULL;
	struct function_table table;

	question.end_unix_ns = clock_unix_ns();
	question.start_unix_ns = question.end_unix_ns - run->last_ns;
	if (question_choose_type(run->source, &question, preferred_types, arena, err) < 0)
		return -1;
	if (question.type.length > 0 &&
	    profile_source_merge(run->source, &question, arena, &profile, err) < 0)
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
		strbuf_add_str(out, question_explain_nothing(run->source, &question, arena));
	return 0;
}

/*
 * Redraws where somebody watches, else one picture. A server that is away for a moment is
 * no reason to end the former.
 */
static int show(const struct top_flags *flags, const struct terminal_watch *watch,
                struct error *err)
{
	const struct terminal terminal = terminal_of(stdout);
	struct strbuf out;
	int result;

	if (terminal.is_terminal && !flags->once)
		return terminal_watch_run(watch, err);
	strbuf_init(&out, ANSWER_MAX);
	result = watch->draw(watch->context, &terminal, &out, err);
	if (result == 0)
		result = terminal_show(&out, err);
	strbuf_fini(&out);
	return result;
}

static int top_functions(struct top_run *run, struct error *err)
{
	CLEANUP(profile_source_closep) struct profile_source *source = NULL;

	if (profile_source_open(&run->flags.common.source, &source, err) < 0)
		return -1;
	run->source = source;
	return show(&run->flags,
	            &(struct terminal_watch){
			    .every_ns = run->every_ns, .draw = make_table, .context = run },
	            err);
}

static int top_gpu(const struct top_run *run, struct error *err)
{
	const struct top_flags *flags = &run->flags;
	CLEANUP(gpu_top_closep) struct gpu_top *gpu = NULL;
	const struct gpu_top_options options = {
		.source = &flags->common.source,
		.selector = run->question.asked.selector,
		.pid = flags->pid,
		.last_ns = run->last_ns,
		.limit = run->question.limit,
	};

	if (gpu_top_open(&options, &gpu, err) < 0)
		return -1;
	return show(flags,
	            &(struct terminal_watch){ .every_ns = run->every_ns,
	                                      .draw = gpu_top_draw,
	                                      .press = flags->pid ? NULL : gpu_top_press,
	                                      .context = gpu },
	            err);
}

static int top(void *context, struct error *err)
{
	struct top_run *run = context;

	return run->flags.gpu ? top_gpu(run, err) : top_functions(run, err);
}

int command_top(int argc, char **argv)
{
	struct top_run run = {
		.flags = {
			.common = { .from = "now", .to = "now", .limit = "0", .sort = "self" },
			.last = "1m",
			.every = "5s",
		},
	};
	struct top_flags *flags = &run.flags;
	struct question_flags *common = &flags->common;
	const struct argument all[] = {
		{ "query", "q", ARGUMENT_TEXT, &common->query, "TYPE{...}",
		  "profile type and label selector" },
		{ "last", NULL, ARGUMENT_TEXT, &flags->last, "TIME", "how far back to look (1m)" },
		{ "every", NULL, ARGUMENT_TEXT, &flags->every, "TIME", "how often to look (5s)" },
		{ "limit", "n", ARGUMENT_TEXT, &common->limit, "N",
		  "rows; 0: what fits, or all of them (0)" },
		{ "sort", NULL, ARGUMENT_TEXT, &common->sort, "COLUMN", "self or total (self)" },
		{ "gpu", NULL, ARGUMENT_SWITCH, &flags->gpu, NULL,
		  "processes that hold GPU memory, and the stacks of one" },
		{ "pid", NULL, ARGUMENT_TEXT, &flags->pid, "N", "of --gpu: whose stacks" },
		{ "once", NULL, ARGUMENT_SWITCH, &flags->once, NULL, "one table, then the end" },
		QUESTION_SOURCE_ARGUMENTS(common->source),
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "[-q 'TYPE{label=\"value\"}'] [OPTIONS]",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
	};

	return arguments_run(&arguments, &(struct command_work){ understand, top, &run }, argc,
	                     argv);
}
