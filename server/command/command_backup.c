/*
 * vramscope backup: a consistent copy of a store, while a server writes it.
 */
#include <stdio.h>

#include "server/command.h"
#include "server/command/arguments.h"
#include "server/command/care_report.h"
#include "server/command/profile_question.h"
#include "server/command/quantity.h"
#include "storage/care/store_backup.h"

static const char about[] =
	"Each run makes a backup of its own in the folder TARGET, named by the time when it was begun, with\n"
	"every profile that was answered before. Files that did not change since the last one are linked,\n"
	"not copied. A server may write meanwhile. Copies are checked as `vramscope verify` checks a store.\n"
	"A backup is there whole or not at all: what was stopped is removed by the next run.\n"
	"\n"
	"A backup is a store that is only read: `vramscope query --store TARGET/NAME` asks it.\n"
	"`vramscope restore TARGET` brings the newest one back.\n"
	"\n"
	"Exit status: 0 whole; 1 there is none, or something of the store is damaged and named; 2 usage.\n"
	"\n"
	"  vramscope backup --store /var/lib/vramscope --keep 14 /backups/vramscope\n";

struct backup_run {
	struct argument_list words;
	const char *store;
	const char *keep_text;
	size_t keep;
	bool leaves_checks;
	bool is_quiet;
};

static int understand(void *context, struct error *err)
{
	struct backup_run *run = context;

	if (run->words.count != 1)
		return error_set(err, ERROR_INVALID,
		                 run->words.count == 0 ? "which TARGET?" : "one TARGET only");
	run->store = care_report_store(run->store);
	if (!run->keep_text)
		return 0;
	if (question_count(run->keep_text, &run->keep, err) < 0)
		return error_context(err, "--keep");
	return run->keep > 0 ? 0
	                     : error_set(err, ERROR_INVALID, "--keep keeps one backup at least");
}

/* What there is now: "/backups/NAME: 3 files, 1.2 GiB, 2 of them (1.1 GiB) linked" */
static void print_sum(const struct backup_run *run, const struct store_backup_counts *counts)
{
	char bytes[QUANTITY_SIZE];
	char linked[QUANTITY_SIZE];

	quantity_format((int64_t)counts->bytes, STR("bytes"), bytes);
	quantity_format((int64_t)counts->linked_bytes, STR("bytes"), linked);
	(void)printf("%s/%s: %llu files, %s; unchanged and linked: %llu, %s\n",
	             run->words.values[0], counts->name, (unsigned long long)counts->files, bytes,
	             (unsigned long long)counts->linked, linked);
	if (counts->removed > 0)
		(void)printf("%zu older removed\n", counts->removed);
	if (counts->kept_all)
		(void)printf("no older one is removed while something is damaged\n");
}

static int backup(void *context, struct error *err)
{
	const struct backup_run *run = context;
	struct store_backup_counts counts;
	struct care_report report;
	const struct store_backup_options options = {
		.store = run->store,
		.target = run->words.values[0],
		.keep = run->keep,
		.leaves_checks = run->leaves_checks,
		.report = &report.damage,
		.progress = &report.progress,
	};
	int result;

	care_report_begin(&report, "backing up",
	                  run->is_quiet ? PROGRESS_LINE_QUIET : PROGRESS_LINE_SHOWN);
	result = store_backup_make(&options, &counts, err);
	care_report_end(&report);
	if (result < 0)
		return -1;
	if (!run->is_quiet)
		print_sum(run, &counts);
	return fflush(stdout) || counts.lost > 0 || !care_report_is_whole(&counts.checked);
}

int command_backup(int argc, char **argv)
{
	struct backup_run run = { 0 };
	const struct argument all[] = {
		{ "store", "from", ARGUMENT_TEXT, &run.store, "DIR",
		  "folder of the store (./data), also of one in use" },
		{ "keep", NULL, ARGUMENT_TEXT, &run.keep_text, "N",
		  "remove older backups but the last N (all are kept)" },
		{ "no-check", NULL, ARGUMENT_SWITCH, &run.leaves_checks, NULL,
		  "do not check what was copied" },
		{ "quiet", NULL, ARGUMENT_SWITCH, &run.is_quiet, NULL,
		  "only what is damaged; no progress" },
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "[OPTIONS] TARGET",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
		.words = &run.words,
	};

	return arguments_run(&arguments, &(struct command_work){ understand, backup, &run }, argc,
	                     argv);
}
