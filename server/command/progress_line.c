#include "server/command/progress_line.h"

#include <stdio.h>

#include "base/clock.h"
#include "server/command/quantity.h"

#define ANEW_NS    (100 * NS_PER_MS)
#define PLAIN_NS   (10 * NS_PER_S)
#define LINE_MAX   1024
#define RATE_AFTER 0.5 /* seconds: what was done in less says little */

void progress_line_begin(struct progress_line *line, const char *verb, struct str unit,
                         enum progress_line_mode mode)
{
	const int64_t now = clock_mono_ns();

	*line = (struct progress_line){
		.terminal = terminal_of(stderr),
		.verb = verb,
		.unit = unit,
		.is_quiet = mode == PROGRESS_LINE_QUIET,
		.begun_mono_ns = now,
		.told_mono_ns = now,
	};
}

static void put_quantity(struct strbuf *out, uint64_t value, struct str unit)
{
	char text[QUANTITY_SIZE];

	quantity_format((int64_t)(value < INT64_MAX ? value : INT64_MAX), unit, text);
	strbuf_add_text(out, text);
}

/* "12 s left", once the rate means something. */
static void put_rate(struct strbuf *out, struct str unit, const struct progress_moment *moment)
{
	const double rate = (double)moment->done / moment->seconds;
	const uint64_t left = moment->all > moment->done ? moment->all - moment->done : 0;

	strbuf_add_text(out, ", ");
	put_quantity(out, (uint64_t)rate, unit);
	strbuf_add_text(out, "/s, ");
	put_quantity(out, (uint64_t)((double)left / rate + 0.5), STR("seconds"));
	strbuf_add_text(out, " left");
}

void progress_line_format(const struct progress_line *line, const struct progress_moment *moment,
                          struct strbuf *out)
{
	char percent[QUANTITY_SIZE];

	strbuf_printf(out, "%s ", line->verb);
	put_quantity(out, moment->done, line->unit);
	strbuf_add_text(out, " of ");
	put_quantity(out, moment->all, line->unit);
	quantity_format_percent((int64_t)moment->done, (int64_t)moment->all, percent);
	strbuf_printf(out, " (%s)", percent);
	if (moment->seconds >= RATE_AFTER && moment->done > 0)
		put_rate(out, line->unit, moment);
	if (moment->what) {
		strbuf_add_text(out, ": ");
		terminal_escape(str_of(moment->what), out);
	}
}

/* What does not fit on a terminal's line would stand on the next one, too. */
static void show(struct progress_line *line, const struct progress_moment *moment)
{
	struct strbuf text;

	strbuf_init(&text, LINE_MAX);
	progress_line_format(line, moment, &text);
	if (line->terminal.is_terminal && text.length >= line->terminal.width)
		text.data[line->terminal.width - 1] = '\0';
	if (line->terminal.is_terminal)
		terminal_progress(&line->terminal, "%s", text.data);
	else
		(void)fprintf(stderr, "%s\n", text.data);
	strbuf_fini(&text);
}

void progress_line_tell(struct progress_line *line, const char *what, uint64_t done, uint64_t all)
{
	const int64_t now = clock_mono_ns();

	if (line->is_quiet ||
	    now - line->told_mono_ns < (line->terminal.is_terminal ? ANEW_NS : PLAIN_NS))
		return;
	line->told_mono_ns = now;
	line->is_shown = true;
	show(line, &(struct progress_moment){
			   .what = what,
			   .done = done,
			   .all = all,
			   .seconds = (double)(now - line->begun_mono_ns) / (double)NS_PER_S,
		   });
}

void progress_line_end(struct progress_line *line)
{
	if (line->is_shown)
		terminal_progress(&line->terminal, NULL);
	line->is_shown = false;
}
