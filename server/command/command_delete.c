/*
 * vramscope delete: profiles by selector and range, out of a server or a folder.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "server/command.h"
#include "server/command/arguments.h"
#include "server/command/delete_target.h"
#include "server/command/profile_question.h"
#include "server/command/progress_line.h"
#include "server/command/quantity.h"
#include "storage/window_name.h"

static const char about[] =
	"Deletes whole profiles of the series that match, out of a running server, or of a store's folder\n"
	"that nobody holds. --dry-run only counts them, by day and profile type, also beside a server. The\n"
	"range has both ends; TYPE may be left out. A server lets programs of its own machine delete, and\n"
	"others with -admin.access=any. Names of functions stay until their day goes by retention.\n"
	"\n"
	"Exit status: 0 done, also when nothing matches; 1 failed: what went is gone; 2 usage.\n"
	"\n"
	"  vramscope delete -q '{service_name=\"shop\",version=\"1.2\"}' --from 2026-01-30 --to now --dry-run\n"
	"  vramscope delete -q 'memory:inuse_space:bytes:space:bytes{}' --from now-7d --to now-1d\n";

struct delete_run {
	const char *query;
	const char *from;
	const char *to;
	bool dry_run;
	bool is_quiet;
	struct delete_target_options target;
};

static int understand(void *context, struct error *err)
{
	struct delete_run *run = context;
	struct selector selector;
	const int64_t now = clock_unix_ns();
	int result;

	if (!run->query)
		return error_set(err, ERROR_INVALID,
		                 "which profiles? -q 'TYPE{label=\"value\"}', -q '{}' for all");
	if (!run->from || !run->to)
		return error_set(err, ERROR_INVALID, "which range? --from TIME and --to TIME");
	if (question_time(run->from, now, &run->target.range.start_unix_ns, err) < 0 ||
	    question_time(run->to, now, &run->target.range.end_unix_ns, err) < 0)
		return -1;
	if (run->target.range.start_unix_ns > run->target.range.end_unix_ns)
		return error_set(err, ERROR_INVALID, "--from is later than --to");
	run->target.query = str_of(run->query);
	run->target.use = run->dry_run ? DELETE_USE_COUNT : DELETE_USE_DELETE;
	selector_init(&selector, run->target.arena);
	result = selector_parse(&selector, run->target.query, err);
	selector_fini(&selector);
	return result;
}

/* ---- saying ---- */

static void print_row(const struct deletion_row *row)
{
	char day[WINDOW_FILE_SIZE];
	char count[QUANTITY_SIZE];
	struct strbuf line;

	window_file_format(row->day, 1, day);
	day[strlen(day) - strlen(".db")] = '\0';
	quantity_format((int64_t)row->profiles, STR(""), count);
	strbuf_init(&line, 4096);
	strbuf_printf(&line, "%s  %12s  ", day, count);
	terminal_escape(row->type, &line);
	(void)printf("%s\n", line.data);
	strbuf_fini(&line);
}

static void print_sum(uint64_t profiles, const char *what)
{
	char count[QUANTITY_SIZE];

	quantity_format((int64_t)profiles, STR(""), count);
	(void)printf("%s %s %s\n", count, profiles == 1 ? "profile" : "profiles", what);
}

/* ---- deleting ---- */

/* How far it is, for the line. */
struct way {
	struct progress_line line;
	uint64_t all;
};

static void tell(void *context, uint64_t removed)
{
	struct way *way = context;

	progress_line_tell(&way->line, NULL, removed, way->all);
}

static int follow(const struct delete_run *run, struct delete_target *target,
                  const struct deletion_plan *plan, struct error *err)
{
	struct way way = { .all = plan->profiles };
	const struct deletion_progress progress = { tell, &way };
	uint64_t removed = 0;
	int result;

	progress_line_begin(&way.line, "deleting profiles:", STR(""),
	                    run->is_quiet ? PROGRESS_LINE_QUIET : PROGRESS_LINE_SHOWN);
	result = delete_target_run(target, plan, &progress, &removed, err);
	progress_line_end(&way.line);
	if (!run->is_quiet)
		print_sum(removed, result < 0 ? "deleted before it failed" : "deleted");
	return result;
}

static int delete (void *context, struct error *err)
{
	CLEANUP(delete_target_closep) struct delete_target *target = NULL;
	const struct delete_run *run = context;
	struct deletion_plan plan;

	if (delete_target_open(&run->target, &target, err) < 0 ||
	    delete_target_plan(target, &plan, err) < 0)
		return -1;
	for (size_t i = 0; i < plan.count && !run->is_quiet; i++)
		print_row(&plan.rows[i]);
	if (run->dry_run)
		print_sum(plan.profiles, "would be deleted");
	else if (follow(run, target, &plan, err) < 0)
		return -1;
	return fflush(stdout) ? error_set_errno(err, errno, "writing to standard output") : 0;
}

int command_delete(int argc, char **argv)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(QUESTION_ARENA_MAX, NULL);
	struct delete_run run = { .target = { .arena = arena } };
	const struct argument all[] = {
		{ "query", "q", ARGUMENT_TEXT, &run.query, "TYPE{...}",
		  "profile type and label selector" },
		{ "from", NULL, ARGUMENT_TEXT, &run.from, "TIME", "begin of the range" },
		{ "to", NULL, ARGUMENT_TEXT, &run.to, "TIME", "end of the range" },
		{ "dry-run", "n", ARGUMENT_SWITCH, &run.dry_run, NULL, "only count" },
		{ "url", NULL, ARGUMENT_TEXT, &run.target.url, "URL",
		  "server to delete from (VRAMSCOPE_URL, else http://127.0.0.1:4040)" },
		{ "store", NULL, ARGUMENT_TEXT, &run.target.store, "DIR",
		  "this store's folder instead, which nobody holds" },
		{ "tenant", NULL, ARGUMENT_TEXT, &run.target.tenant, "NAME",
		  "tenant to delete from (VRAMSCOPE_TENANT)" },
		{ "quiet", NULL, ARGUMENT_SWITCH, &run.is_quiet, NULL, "only what fails" },
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "-q 'TYPE{label=\"value\"}' --from TIME --to TIME [OPTIONS]",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
	};

	return arguments_run(&arguments, &(struct command_work){ understand, delete, &run }, argc,
	                     argv);
}
