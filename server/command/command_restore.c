/*
 * vramscope restore: a store of a backup, or single windows of it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/command.h"
#include "server/command/arguments.h"
#include "server/command/care_report.h"
#include "server/command/quantity.h"
#include "storage/care/store_restore.h"

static const char about[] =
	"SOURCE is a folder of backups, of which the newest is taken, or one backup in it. The folder of the\n"
	"store must not be in use, and be empty or not there yet; with --force what is there is replaced.\n"
	"Everything is copied and compared with what was backed up first: a damaged backup leaves the folder\n"
	"as it was. A folder whose restore was stopped is refused by the server until it was run again.\n"
	"\n"
	"--window brings back one day of one tenant, for one that was set aside: TENANT/2026-01-31. Where the\n"
	"day has a file again, --force puts the window beside it; what both have would count twice.\n"
	"\n"
	"Exit status: 0 restored; 1 not, or what was backed up is damaged and named; 2 usage.\n"
	"\n"
	"  vramscope restore --store /var/lib/vramscope /backups/vramscope\n"
	"  vramscope restore --window anonymous/2026-01-31 --store /var/lib/vramscope /backups/vramscope\n";

struct restore_run {
	struct argument_list words;
	struct argument_list windows;
	const char *store;
	bool is_forced;
	bool is_quiet;
};

static int understand(void *context, struct error *err)
{
	struct restore_run *run = context;

	if (run->words.count != 1)
		return error_set(err, ERROR_INVALID,
		                 run->words.count == 0 ? "which SOURCE?" : "one SOURCE only");
	run->store = care_report_store(run->store);
	return 0;
}

static void print_window(void *context, const char *from, const char *as)
{
	const struct restore_run *run = context;

	if (!run->is_quiet)
		(void)printf("%s of the backup is %s/%s now\n", from, run->store, as);
}

static void print_sum(const struct restore_run *run, const struct store_restore_counts *counts)
{
	char bytes[QUANTITY_SIZE];

	quantity_format((int64_t)counts->bytes, STR("bytes"), bytes);
	(void)printf("%s: %llu files, %s, restored from %s\n", run->store,
	             (unsigned long long)counts->files, bytes, counts->source);
}

static int restore(void *context, struct error *err)
{
	struct restore_run *run = context;
	struct store_restore_counts counts;
	struct care_report report;
	const struct store_restore_options options = {
		.source = run->words.values[0],
		.store = run->store,
		.over = run->is_forced ? STORE_RESTORE_OVER : STORE_RESTORE_INTO_EMPTY,
		.windows = run->windows.count > 0 ? run->windows.values : NULL,
		.window_count = run->windows.count,
		.report = &report.damage,
		.progress = &report.progress,
		.restored = print_window,
		.context = run,
	};
	int result;

	care_report_begin(&report, "restoring",
	                  run->is_quiet ? PROGRESS_LINE_QUIET : PROGRESS_LINE_SHOWN);
	result = store_restore_run(&options, &counts, err);
	care_report_end(&report);
	if (result == 0 && !run->is_quiet)
		print_sum(run, &counts);
	free(counts.source);
	if (result < 0)
		return -1;
	return fflush(stdout) || !care_report_is_whole(&counts.checked);
}

int command_restore(int argc, char **argv)
{
	struct restore_run run = { 0 };
	const struct argument all[] = {
		{ "store", "to", ARGUMENT_TEXT, &run.store, "DIR", "folder of the store (./data)" },
		{ "window", NULL, ARGUMENT_LIST, &run.windows, "TENANT/DAY",
		  "only this window; may be repeated" },
		{ "force", NULL, ARGUMENT_SWITCH, &run.is_forced, NULL,
		  "replace what is there, or put a window beside it" },
		{ "quiet", NULL, ARGUMENT_SWITCH, &run.is_quiet, NULL,
		  "only what is damaged; no progress" },
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "[OPTIONS] SOURCE",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
		.words = &run.words,
	};

	return arguments_run(&arguments, &(struct command_work){ understand, restore, &run }, argc,
	                     argv);
}
