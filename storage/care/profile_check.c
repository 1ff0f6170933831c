/*
 * Profiles and their samples: each profile's group is there and its totals are the sums of
 * its samples, each body decodes in all columns and names stacks that are there.
 */
#include <stdio.h>

#include "storage/byte_cursor.h"
#include "storage/care/window_checker.h"
#include "storage/page.h"
#include "storage/window_name.h"

enum profile_column {
	COLUMN_GROUP,
	COLUMN_TIME,
	COLUMN_SEQ,
	COLUMN_ID,
	COLUMN_ORIGIN,
	COLUMN_TOTALS,
	COLUMN_SAMPLE,
	COLUMN_BODY,
};

static const char profiles[] =
	"SELECT p.grp, p.time, p.seq, p.id, p.origin, p.totals, p.sample, s.body"
	" FROM profile p LEFT JOIN sample s ON s.id = p.sample ORDER BY p.grp, p.time, p.seq";

/* The row at hand. */
struct row {
	struct window_checker *checker;
	struct statement *from;
	const struct series_group *group; /* NULL: none is known */
	char where[96];
	char sample[32];
};

#define TELL(row, ...) window_checker_tell((row)->checker, "profile", (row)->where, __VA_ARGS__)
#define TELL_SAMPLE(row, ...) \
	window_checker_tell((row)->checker, "sample", (row)->sample, __VA_ARGS__)

/* ---- bodies ---- */

/* The sum of a series' values, as totals wrap. */
static int sum_of(const struct sample_page *page, uint32_t series, struct arena *arena,
                  uint64_t *out, struct error *err)
{
	int64_t *values;
	uint64_t sum = 0;

	if (sample_page_values(page, series, arena, &values, err) < 0)
		return -1;
	for (uint32_t i = 0; i < page->row_count; i++)
		sum += (uint64_t)values[i];
	*out = sum;
	return 0;
}

/* Totals of a profile stand in the order of its group's series. */
static void check_totals(const struct row *row, const struct sample_page *page)
{
	struct byte_cursor totals = byte_cursor(statement_bytes(row->from, COLUMN_TOTALS));
	struct error err;
	uint32_t count = 0;

	for (; count < page->series_count; count++) {
		const uint64_t total = byte_cursor_number(&totals);
		uint64_t sum;

		if (totals.failed)
			break;
		if (sum_of(page, count, row->checker->arena, &sum, &err) < 0)
			TELL_SAMPLE(row, "series %u: %s", count, err.message);
		else if (sum != total)
			TELL(row, "the total of series %u is %lld, its samples add up to %lld",
			     count, (long long)total, (long long)sum);
	}
	if (!byte_cursor_done(&totals))
		TELL(row, "totals are not those of %u series", page->series_count);
}

static void check_spans(const struct row *row, const struct sample_page *page)
{
	uint64_t *spans;
	uint8_t(*traces)[TRACE_ID_SIZE];
	struct error err;

	if (sample_page_spans(page, row->checker->arena, &spans, &err) < 0 ||
	    sample_page_traces(page, row->checker->arena, &traces, &err) < 0)
		TELL_SAMPLE(row, "%s", err.message);
}

static void check_page(const struct row *row, const struct sample_page *page)
{
	const struct window_checker *checker = row->checker;
	const uint32_t stacks = checker->symbols->counts[SYMBOL_STACK];
	const uint32_t last = page->row_count ? page->stacks[page->row_count - 1] : 0;

	if (!checker->lacks_stacks && last >= stacks)
		TELL_SAMPLE(row, "names stack %u, there are %u", last, stacks);
	if (row->group && row->group->count > 0 && page->series_count != row->group->count)
		TELL_SAMPLE(row, "has %u series, its profile's group %u", page->series_count,
		            row->group->count);
	check_totals(row, page);
	check_spans(row, page);
	row->checker->counts->rows += page->row_count;
}

static void check_body(const struct row *row)
{
	struct arena *arena = row->checker->arena;
	const struct str body = statement_bytes(row->from, COLUMN_BODY);
	struct sample_page page;
	struct str payload;
	struct error err;

	if (statement_is_null(row->from, COLUMN_BODY)) {
		TELL(row, "its samples, %s, are missing", row->sample);
		return;
	}
	window_checker_read(row->checker, body.length);
	arena_reset(arena);
	if (page_open(body, arena, &payload, &err) < 0 ||
	    sample_page_decode(payload, arena, &page, &err) < 0)
		TELL_SAMPLE(row, "%s", err.message);
	else
		check_page(row, &page);
}

/* ---- profiles ---- */

static const struct series_group *group_of(const struct window_checker *checker, int64_t id)
{
	if (id < 0 || id >= checker->series->group_count)
		return NULL;
	return COLUMN_AT(&checker->series->groups, struct series_group, (uint32_t)id);
}

static void check_columns(const struct row *row)
{
	const struct window_check_options *options = row->checker->options;
	const int64_t time = statement_int(row->from, COLUMN_TIME);
	const size_t id = statement_bytes(row->from, COLUMN_ID).length;
	const size_t origin = statement_bytes(row->from, COLUMN_ORIGIN).length;

	if (!row->group && !row->checker->lacks_groups)
		TELL(row, "its group is not there");
	if (options->folder && day_of(time) != options->day)
		TELL(row, "its time is of another day");
	if (statement_int(row->from, COLUMN_SEQ) < 0)
		TELL(row, "its number is negative");
	if (id != sizeof(struct uuid))
		TELL(row, "its id has %zu bytes", id);
	if (!statement_is_null(row->from, COLUMN_ORIGIN) && origin != sizeof(struct hash128))
		TELL(row, "its origin has %zu bytes", origin);
}

static void check_profile(struct window_checker *checker, struct statement *from)
{
	const int64_t group = statement_int(from, COLUMN_GROUP);
	const int64_t sample = statement_int(from, COLUMN_SAMPLE);
	struct row row = {
		.checker = checker,
		.from = from,
		.group = group_of(checker, group),
	};

	(void)snprintf(row.where, sizeof(row.where), "group %lld, time %lld, number %lld",
	               (long long)group, (long long)statement_int(from, COLUMN_TIME),
	               (long long)statement_int(from, COLUMN_SEQ));
	(void)snprintf(row.sample, sizeof(row.sample), "%lld", (long long)sample);
	checker->counts->profiles++;
	id_owners_note(&checker->samples, sample);
	check_columns(&row);
	check_body(&row);
}

int profile_check(struct window_checker *checker, struct error *err)
{
	CLEANUP(statement_freep) struct statement *rows = NULL;
	int more = -1;

	if (database_prepare(checker->database, profiles, &rows, err) == 0)
		while ((more = statement_step(rows, err)) > 0)
			check_profile(checker, rows);
	checker->lacks_profiles = more < 0;
	return more;
}
