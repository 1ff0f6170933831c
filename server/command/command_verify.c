/*
 * vramscope verify: whether a store, or its backups, are whole.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "server/command.h"
#include "server/command/arguments.h"
#include "server/command/care_report.h"
#include "storage/care/backup_check.h"
#include "storage/window_file.h"

#define SUM_MAX 1024

static const char about[] =
	"PATH is the folder of a store (./data), also of one that a server writes; a backup, or a folder of\n"
	"them; or one window's file. Each page is unpacked and decoded, each reference followed, each total\n"
	"compared with the sum of its samples. What is damaged is named, a line each on standard output:\n"
	"file, table and id. Windows that a server has set aside are named as well.\n"
	"\n"
	"Exit status: 0 whole, 1 something is damaged or set aside, 2 it could not be checked.\n"
	"\n"
	"  vramscope verify /var/lib/vramscope\n"
	"  vramscope verify --quiet /backups/vramscope || mail -s 'damaged backup' ops\n";

struct verify_run {
	struct argument_list paths;
	bool is_quiet;
};

/* A single file: what its folder and its name would say of it is not compared. */
static int verify_file(const char *path, struct care_report *report,
                       struct store_check_counts *counts, struct error *err)
{
	CLEANUP(database_closep) struct database *database = NULL;
	const struct window_check_options options = { .file = path, .report = &report->damage };
	struct stat status = { 0 };

	if (window_file_open_to_read(path, &database, err) < 0) {
		if (err->code != ERROR_CORRUPT)
			return -1;
		counts->content.damaged++;
		report->damage.tell(report, &(struct damage){ .file = path, .what = err->message });
		*err = (struct error){ 0 };
		return 0;
	}
	(void)stat(path, &status);
	counts->windows++;
	counts->bytes += (uint64_t)status.st_size;
	return window_check_run(database, &options, &counts->content, err);
}

static int verify_path(const char *path, struct care_report *report,
                       struct store_check_counts *counts, struct error *err)
{
	const struct store_check_options options = {
		.path = path,
		.access = STORE_CHECK_LIVE,
		.report = &report->damage,
		.progress = &report->progress,
	};
	struct stat status;
	uint64_t backups;

	if (stat(path, &status) < 0)
		return error_set_errno(err, errno, "%s", path);
	if (S_ISREG(status.st_mode))
		return verify_file(path, report, counts, err);
	if (backup_check_knows(path))
		return backup_check_run(&options, counts, &backups, err);
	return store_check_run(&options, counts, err);
}

/* One line of the sum; 0 whole, 1 damaged, 2 not checked. */
static int verify_one(const char *path, const struct verify_run *run)
{
	struct store_check_counts counts = { 0 };
	struct care_report report;
	struct strbuf sum;
	struct error err = { 0 };
	int result;

	care_report_begin(&report, "verifying",
	                  run->is_quiet ? PROGRESS_LINE_QUIET : PROGRESS_LINE_SHOWN);
	result = verify_path(path, &report, &counts, &err);
	care_report_end(&report);
	if (result < 0) {
		terminal_complain("verify", err.message);
		return EXIT_USAGE;
	}
	strbuf_init(&sum, SUM_MAX);
	terminal_escape(str_of(path), &sum);
	strbuf_add_text(&sum, ": ");
	care_report_sum(&counts, &sum);
	if (!run->is_quiet || !care_report_is_whole(&counts))
		(void)printf("%s\n", sum.data);
	strbuf_fini(&sum);
	return care_report_is_whole(&counts) ? 0 : 1;
}

static int verify(void *context, struct error *err)
{
	struct verify_run *run = context;
	int worst = 0;

	if (run->paths.count == 0)
		run->paths.values[run->paths.count++] = care_report_store(NULL);
	for (size_t i = 0; i < run->paths.count; i++) {
		const int status = verify_one(run->paths.values[i], run);

		worst = status > worst ? status : worst;
	}
	if (fflush(stdout))
		return error_set_errno(err, errno, "writing to standard output");
	return worst;
}

int command_verify(int argc, char **argv)
{
	struct verify_run run = { 0 };
	const struct argument all[] = {
		{ "quiet", NULL, ARGUMENT_SWITCH, &run.is_quiet, NULL,
		  "only what is damaged; no progress" },
	};
	const struct arguments arguments = {
		.command = argv[0],
		.synopsis = "[PATH...] [OPTIONS]",
		.about = about,
		.all = all,
		.count = ARRAY_LENGTH(all),
		.words = &run.paths,
	};

	return arguments_run(&arguments, &(struct command_work){ .run = verify, .context = &run },
	                     argc, argv);
}
