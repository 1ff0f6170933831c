#include "server/command/care_report.h"

#include <stdio.h>

#include "server/command/quantity.h"
#include "server/options.h"

#define LINE_MAX 4096

static void tell_damage(void *context, const struct damage *damage)
{
	struct care_report *report = context;
	struct strbuf line;

	strbuf_init(&line, LINE_MAX);
	terminal_escape(str_of(damage->file), &line);
	strbuf_add_text(&line, ": ");
	if (damage->table)
		strbuf_printf(&line, "%s%s%s: ", damage->table, damage->where ? " " : "",
		              damage->where ? damage->where : "");
	terminal_escape(str_of(damage->what), &line);
	progress_line_end(&report->line);
	(void)printf("%s\n", line.data);
	strbuf_fini(&line);
}

static void tell_progress(void *context, const char *file, uint64_t done_bytes, uint64_t all_bytes)
{
	struct care_report *report = context;

	progress_line_tell(&report->line, file, done_bytes, all_bytes);
}

void care_report_begin(struct care_report *report, const char *verb, enum progress_line_mode mode)
{
	progress_line_begin(&report->line, verb, STR("bytes"), mode);
	report->damage = (struct damage_report){ tell_damage, report };
	report->progress = (struct care_progress){ tell_progress, report };
}

void care_report_end(struct care_report *report)
{
	progress_line_end(&report->line);
}

static void put_count(struct strbuf *out, uint64_t count, const char *one, const char *many)
{
	char text[QUANTITY_SIZE];

	quantity_format((int64_t)count, STR(""), text);
	strbuf_printf(out, "%s %s", text, count == 1 ? one : many);
}

bool care_report_is_whole(const struct store_check_counts *counts)
{
	return counts->content.damaged == 0 && counts->set_aside == 0;
}

void care_report_sum(const struct store_check_counts *counts, struct strbuf *out)
{
	char bytes[QUANTITY_SIZE];

	quantity_format((int64_t)counts->bytes, STR("bytes"), bytes);
	put_count(out, counts->windows, "window, ", "windows, ");
	put_count(out, counts->content.profiles, "profile, ", "profiles, ");
	put_count(out, counts->content.rows, "row, ", "rows, ");
	strbuf_printf(out, "%s: ", bytes);
	if (care_report_is_whole(counts))
		strbuf_add_text(out, "whole");
	if (counts->content.damaged > 0)
		put_count(out, counts->content.damaged, "damaged thing", "damaged things");
	if (counts->content.damaged > 0 && counts->set_aside > 0)
		strbuf_add_text(out, ", ");
	if (counts->set_aside > 0)
		put_count(out, counts->set_aside, "window set aside", "windows set aside");
}

const char *care_report_store(const char *named)
{
	return named ? named : option_at(OPTION_ID_storage_path)->fallback;
}
