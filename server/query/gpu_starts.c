#include "server/query/gpu_starts.h"

#include "server/app.h"

#define DAY_NS  (INT64_C(86400) * NS_PER_S)
#define HOUR_NS (INT64_C(3600) * NS_PER_S)

#define PIDS_MAX       64 /* so many processes are read by their pids */
#define PID_DIGITS_MAX 10

/* What is known of a process while days are gone through. */
struct trail {
	bool is_open;             /* the day before may have it too */
	bool is_found;            /* earlier than first_ns of the roster */
	bool is_present;          /* in the range that was asked last */
	bool is_narrowed;         /* its first hour is known */
	struct store_range first; /* the earliest day, then hour, that has it */
};

struct starts {
	struct gpu_roster *roster;
	struct gpu_read read;
	struct trail *trails; /* by process */
	size_t count;
	size_t open; /* trails */
};

/* ---- which processes ---- */

static bool is_number(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] < '0' || text.data[i] > '9')
			return false;
	return text.length > 0 && text.length <= PID_DIGITS_MAX;
}

/* "17|23"; empty where it would be long, or a pid is something else than a number. */
static int write_pids(const struct gpu_roster *roster, const uint32_t *wanted, size_t count,
                      struct str *out, struct error *err)
{
	const size_t size = PIDS_MAX * (PID_DIGITS_MAX + 1);
	char *text = arena_alloc_raw(roster->arena, size);
	size_t length = 0;

	if (!text)
		return arena_error(roster->arena, err);
	*out = (struct str){ "", 0 };
	if (count > PIDS_MAX)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct str pid = roster->processes[wanted[i]].pid;

		if (!is_number(pid))
			return 0;
		if (i > 0)
			text[length++] = '|';
		memcpy(text + length, pid.data, pid.length);
		length += pid.length;
	}
	*out = (struct str){ text, length };
	return 0;
}

static int open_trails(struct starts *starts, const uint32_t *wanted, size_t count,
                       struct error *err)
{
	starts->trails = arena_array(starts->roster->arena, starts->count, sizeof(*starts->trails));
	if (!starts->trails)
		return arena_error(starts->roster->arena, err);
	for (size_t i = 0; i < count; i++)
		starts->trails[wanted[i]].is_open = true;
	starts->open = count;
	return write_pids(starts->roster, wanted, count, &starts->read.pids, err);
}

/* ---- days and hours ---- */

static int mark_series(void *context, const struct label_set *labels, struct error *err)
{
	struct starts *starts = context;
	const uint32_t process = gpu_roster_find(starts->roster, labels);

	(void)err;
	if (process < starts->count && gpu_measure_of(labels) < GPU_MEASURE_COUNT)
		starts->trails[process].is_present = true;
	return 0;
}

/* Which processes have a tick in the range. */
static int look(struct starts *starts, struct store_range range, struct error *err)
{
	for (size_t i = 0; i < starts->count; i++)
		starts->trails[i].is_present = false;
	starts->read.range = range;
	return gpu_question_series(starts->roster->question, &starts->read, mark_series, starts,
	                           err);
}

/* One day. `is_whole`: a process that it lacks began later. */
static int go_back(struct starts *starts, struct store_range day, struct error *err)
{
	const bool is_whole = day.end_unix_ns - day.start_unix_ns == DAY_NS - 1;

	if (look(starts, day, err) < 0)
		return -1;
	starts->open = 0;
	for (size_t i = 0; i < starts->count; i++) {
		struct trail *trail = &starts->trails[i];

		if (trail->is_open && trail->is_present) {
			trail->first = day;
			trail->is_found = true;
		}
		trail->is_open &= trail->is_present || !is_whole;
		starts->open += trail->is_open;
	}
	return 0;
}

static bool same_start(struct store_range a, struct store_range b)
{
	return a.start_unix_ns == b.start_unix_ns;
}

/* The hours of one day, for all processes that began on it. */
static int narrow_day(struct starts *starts, struct store_range day, struct error *err)
{
	for (int64_t from = day.start_unix_ns; from <= day.end_unix_ns; from += HOUR_NS) {
		const int64_t last = from + HOUR_NS - 1;
		const struct store_range hour = { from,
			                          last < day.end_unix_ns ? last : day.end_unix_ns };
		size_t left = 0;

		if (look(starts, hour, err) < 0)
			return -1;
		for (size_t i = 0; i < starts->count; i++) {
			struct trail *trail = &starts->trails[i];

			if (!trail->is_found || trail->is_narrowed ||
			    !same_start(trail->first, day))
				continue;
			if (trail->is_present) {
				trail->first = hour;
				trail->is_narrowed = true;
			} else {
				left++;
			}
		}
		if (left == 0)
			break;
	}
	return 0;
}

static int add_tick(void *context, const struct store_point *point, struct error *err)
{
	struct starts *starts = context;
	const uint32_t number = gpu_roster_find(starts->roster, point->labels);

	(void)err;
	if (number < starts->count && gpu_measure_of(point->labels) != GPU_MEASURE_COUNT)
		gpu_process_see(&starts->roster->processes[number], point->time_unix_ns);
	return 0;
}

/* The days before `before_ns`, the newest first, as far as there is anything. */
static int find_days(struct starts *starts, int64_t before_ns, struct error *err)
{
	const struct read_query_context *context = &starts->roster->question->query.context;
	struct store_stats stats;
	struct store_range day = { before_ns, before_ns - 1 };
	int64_t oldest_ns;

	if (store_stats(context->store, context->tenant, &stats, err) < 0)
		return -1;
	oldest_ns = stats.any ? stats.oldest_unix_ns : before_ns;
	if (context->limits && context->limits->max_query_lookback_ns > 0 &&
	    oldest_ns < context->now_unix_ns - context->limits->max_query_lookback_ns)
		oldest_ns = context->now_unix_ns - context->limits->max_query_lookback_ns;
	while (starts->open > 0 && day.start_unix_ns > oldest_ns) {
		day.end_unix_ns = day.start_unix_ns - 1;
		day.start_unix_ns = day.end_unix_ns - day.end_unix_ns % DAY_NS;
		if (go_back(starts, day, err) < 0)
			return -1;
	}
	return 0;
}

/* Narrows days to hours and reads those, each once. */
static int read_hours(struct starts *starts, struct error *err)
{
	struct trail *trails = starts->trails;

	for (size_t i = 0; i < starts->count; i++)
		if (trails[i].is_found && !trails[i].is_narrowed &&
		    narrow_day(starts, trails[i].first, err) < 0)
			return -1;
	for (size_t i = 0; i < starts->count; i++) {
		if (!trails[i].is_narrowed)
			continue;
		starts->read.range = trails[i].first;
		if (gpu_question_scan(starts->roster->question, &starts->read, add_tick, starts,
		                      err) < 0)
			return -1;
		for (size_t j = starts->count; j-- > i;)
			if (same_start(trails[j].first, trails[i].first))
				trails[j].is_narrowed = false;
	}
	return 0;
}

int gpu_starts_find(struct gpu_roster *roster, const uint32_t *wanted, size_t wanted_count,
                    int64_t before_ns, struct error *err)
{
	struct starts starts = {
		.roster = roster,
		.read = { .measures = GPU_TICKING, .scope = roster->scope },
		.count = gpu_roster_process_count(roster),
	};

	if (wanted_count == 0)
		return 0;
	if (open_trails(&starts, wanted, wanted_count, err) < 0 ||
	    find_days(&starts, before_ns, err) < 0)
		return -1;
	return read_hours(&starts, err);
}
