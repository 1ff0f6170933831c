#include "server/command/gpu_top.h"

#include <assert.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/url.h"
#include "server/command/gpu_report.h"
#include "server/command/profile_question.h"

#define PATH_MAX_BYTES 65536
#define ANSWER_MAX     (size_t)(64UL * 1024 * 1024)
#define PROCESSES_MAX  "1000"                     /* that are asked for */
#define HISTORY_NS     (INT64_C(3600) * NS_PER_S) /* of peaks and failures */
#define STACKS_PLAIN   10                         /* where nothing says how many fit */
#define LINES_BESIDES  9 /* headings, empty lines, lines about the rest, the cursor */
#define OOM_NS         (INT64_C(86400) * NS_PER_S) /* how old the last one may be */
#define LIVE_TYPE      "memory:inuse_space:bytes:space:bytes"
#define ON_DEVICE      "cuda_class!~\"pinned|registered|graph\""

struct gpu_top {
	struct gpu_top_options options;
	struct server_client *client;
	struct profile_source *source;
	char *selected; /* "hostname:pid" that keys have chosen; NULL: none yet */
	int moves;      /* of the selection that are to be made */
};

void gpu_top_close(struct gpu_top *top)
{
	if (!top)
		return;
	server_client_free(top->client);
	profile_source_close(top->source);
	free(top->selected);
	free(top);
}

int gpu_top_open(const struct gpu_top_options *options, struct gpu_top **out, struct error *err)
{
	CLEANUP(gpu_top_closep) struct gpu_top *top = mem_zalloc(1, sizeof(*top));
	struct profile_source_options source = *options->source;

	top->options = *options;
	if (source.store)
		return error_set(err, ERROR_INVALID, "--gpu asks a server: --url, not --store");
	source.instant = "last";
	if (server_client_open(source.url, source.tenant, &top->client, err) < 0 ||
	    profile_source_open(&source, &top->source, err) < 0)
		return -1;
	*out = TAKE(top);
	return 0;
}

void gpu_top_press(void *context, char key)
{
	struct gpu_top *top = context;

	if (key == 'j')
		top->moves++;
	else if (key == 'k')
		top->moves--;
}

/* ---- the list ---- */

/* The answer of a route, whose own parameters `what` has. */
static int ask(struct gpu_top *top, const char *what, int64_t from_ms, struct arena *arena,
               struct str *out, struct error *err)
{
	struct strbuf path;
	struct strbuf answer;
	int result;

	strbuf_init(&path, PATH_MAX_BYTES);
	strbuf_init(&answer, ANSWER_MAX);
	strbuf_printf(&path, "/api/gpu/%s&from=%lld&selector=", what, (long long)from_ms);
	url_encode(top->options.selector, &path);
	result = strbuf_overflowed(&path)
	                 ? error_set(err, ERROR_TOO_LARGE, "the selector is too long")
	                 : server_client_get(top->client, path.data, &answer, err);
	strbuf_fini(&path);
	*out = result == 0 ? arena_copy(arena, strbuf_view(&answer)) : STR("");
	strbuf_fini(&answer);
	if (result < 0)
		return -1;
	return out->data ? 0 : arena_error(arena, err);
}

static int ask_processes(struct gpu_top *top, int64_t from_ms, struct arena *arena,
                         struct gpu_table *out, struct error *err)
{
	struct str answer;

	if (ask(top, "processes?limit=" PROCESSES_MAX, from_ms, arena, &answer, err) < 0)
		return -1;
	return gpu_table_parse(answer, arena, out, err);
}

static int ask_oom(struct gpu_top *top, int64_t now_ms, struct arena *arena,
                   struct gpu_oom_note *out, struct error *err)
{
	struct str answer;

	if (ask(top, "oom?limit=1", now_ms - OOM_NS / NS_PER_MS, arena, &answer, err) < 0)
		return -1;
	return gpu_oom_note_parse(answer, arena, out, err);
}

/* Rates are of a short while; a peak, or a failure, matters longer. */
static int take_history(struct gpu_top *top, int64_t now_ms, struct gpu_table *table,
                        struct arena *arena, struct error *err)
{
	struct gpu_table longer;

	if (top->options.last_ns >= HISTORY_NS)
		return 0;
	if (ask_processes(top, now_ms - HISTORY_NS / NS_PER_MS, arena, &longer, err) < 0)
		return -1;
	return gpu_table_take_history(table, &longer, arena, err);
}

static char *name_of(const struct gpu_table_row *row)
{
	struct strbuf name;

	strbuf_init(&name, PATH_MAX_BYTES);
	strbuf_printf(&name, "%.*s:%.*s", STR_ARGS(row->hostname), STR_ARGS(row->pid));
	return strbuf_detach(&name, NULL);
}

static bool is_selected(const struct gpu_top *top, const struct gpu_table_row *row)
{
	char *name;
	bool same;

	if (top->options.pid)
		return str_equals(row->pid, top->options.pid);
	if (!top->selected)
		return false;
	name = name_of(row);
	same = strcmp(name, top->selected) == 0;
	free(name);
	return same;
}

/* The row that is selected now, after the keys that were pressed. */
static int select_row(struct gpu_top *top, const struct gpu_table *table, size_t *out,
                      struct error *err)
{
	size_t at = 0;

	while (at < table->count && !is_selected(top, &table->rows[at]))
		at++;
	if (at == table->count && (top->options.pid || at == 0))
		return error_set(err, ERROR_NOT_FOUND,
		                 "no process %s among the %zu that are listed",
		                 top->options.pid ? top->options.pid : "", table->count);
	if (at == table->count)
		at = 0;
	for (; top->moves > 0 && at + 1 < table->count; top->moves--)
		at++;
	for (; top->moves < 0 && at > 0; top->moves++)
		at--;
	top->moves = 0;
	free(top->selected);
	top->selected = name_of(&table->rows[at]);
	*out = at;
	return 0;
}

/* ---- the stacks ---- */

/* "k="v"", with what the selector's strings want escaped. */
static void add_matcher(struct strbuf *out, const char *name, struct str value)
{
	strbuf_printf(out, "%s=\"", name);
	for (size_t i = 0; i < value.length; i++) {
		const unsigned char c = (unsigned char)value.data[i];

		if (c == '"' || c == '\\')
			strbuf_printf(out, "\\%c", c);
		else if (c < 0x20)
			strbuf_printf(out, "\\x%02x", c);
		else
			strbuf_add_byte(out, (char)c);
	}
	strbuf_add_text(out, "\",");
}

static int ask_stacks(struct gpu_top *top, const struct gpu_table_row *row, struct arena *arena,
                      struct stack_list *out, struct error *err)
{
	struct profile_question question = {
		.type = STR(LIVE_TYPE),
		.start_unix_ns = row->last_ms * NS_PER_MS,
		.end_unix_ns = (row->last_ms + 1) * NS_PER_MS,
	};
	struct profile profile = { 0 };
	struct strbuf selector;

	strbuf_init(&selector, PATH_MAX_BYTES);
	strbuf_add_byte(&selector, '{');
	add_matcher(&selector, "hostname", row->hostname);
	add_matcher(&selector, "service_name", row->service);
	if (row->pid.length > 0)
		add_matcher(&selector, "pid", row->pid);
	strbuf_add_text(&selector, ON_DEVICE "}");
	question.selector = arena_copy(arena, strbuf_view(&selector));
	strbuf_fini(&selector);
	if (!question.selector.data)
		return arena_error(arena, err);
	if (profile_source_merge(top->source, &question, arena, &profile, err) < 0)
		return -1;
	return stack_list_make(&profile, 0, arena, out, err);
}

/* ---- a picture ---- */

/* Half of the lines for processes, the rest for stacks. */
static void share_lines(const struct gpu_top *top, const struct gpu_table *table,
                        struct gpu_report *report)
{
	const size_t height = report->terminal->height;
	size_t lines;

	report->row_limit = top->options.limit;
	report->stack_limit = STACKS_PLAIN;
	if (height == SIZE_MAX)
		return;
	lines = height > LINES_BESIDES + 2 ? height - LINES_BESIDES : 2;
	if (report->row_limit == 0)
		report->row_limit = table->count < lines / 2 ? table->count : lines / 2;
	report->stack_limit = report->row_limit < lines ? lines - report->row_limit : 1;
}

int gpu_top_draw(void *context, const struct terminal *terminal, struct strbuf *out,
                 struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(QUESTION_ARENA_MAX, NULL);
	struct gpu_top *top = context;
	struct gpu_report report = { .terminal = terminal, .selected = SIZE_MAX };
	struct gpu_table table = { 0 };
	struct stack_list stacks = { 0 };
	struct gpu_oom_note oom;
	const struct gpu_table_row *row = NULL;

	report.now_ms = clock_unix_ns() / NS_PER_MS;
	report.from_ms = report.now_ms - top->options.last_ns / NS_PER_MS;
	if (ask_processes(top, report.from_ms, arena, &table, err) < 0 ||
	    take_history(top, report.now_ms, &table, arena, err) < 0 ||
	    ask_oom(top, report.now_ms, arena, &oom, err) < 0)
		return -1;
	if (table.count > 0 || top->options.pid) {
		if (select_row(top, &table, &report.selected, err) < 0)
			return -1;
		assert(table.rows);
		row = &table.rows[report.selected];
		if (ask_stacks(top, row, arena, &stacks, err) < 0)
			return -1;
	}
	share_lines(top, &table, &report);
	/* a selection below the last line moves the list up */
	if (report.row_limit > 0 && row && report.selected >= report.row_limit)
		report.first_row = report.selected + 1 - report.row_limit;
	gpu_report_processes(&report, &table, out);
	gpu_report_oom(&report, &oom, out);
	if (row)
		gpu_report_stacks(&report, row, &stacks, out);
	return 0;
}
