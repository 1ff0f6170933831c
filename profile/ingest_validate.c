#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/utf8.h"
#include "base/uuid.h"
#include "profile/ingest_run.h"

#define HEX_MAX 64 /* bytes of a broken string in its message */

#define STAMP_SIZE 64

/* As Go prints a time: 2023-02-17 11:12:14.5 +0000 UTC. Milliseconds are what counts. */
static void format_stamp(int64_t unix_ms, char text[static STAMP_SIZE])
{
	int64_t ms = unix_ms % 1000;
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm;
	char fraction[8] = "";
	char day[32];

	if (ms < 0) {
		ms += 1000;
		seconds--;
	}
	if (ms > 0) {
		size_t length = (size_t)snprintf(fraction, sizeof(fraction), ".%03d", (int)ms);

		while (fraction[length - 1] == '0')
			fraction[--length] = '\0';
	}
	if (!gmtime_r(&seconds, &tm) || strftime(day, sizeof(day), "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(day, sizeof(day), "%lld", (long long)seconds);
	(void)snprintf(text, STAMP_SIZE, "%s%s +0000 UTC", day, fraction);
}

static int64_t minus(int64_t a, int64_t b)
{
	int64_t difference;

	if (__builtin_sub_overflow(a, b, &difference))
		return b < 0 ? INT64_MAX : INT64_MIN;
	return difference;
}

/* The profile's time must lie inside the window; without one it is now. */
static int check_time(struct ingest_run *run, struct error *err)
{
	const struct ingest_limits *limits = run->limits;
	const int64_t now_ms = run->now_unix_ns / NS_PER_MS;
	const int64_t start_ms = minus(now_ms, limits->reject_older_than_ns / NS_PER_MS);
	const int64_t end_ms = minus(now_ms, -(limits->reject_newer_than_ns / NS_PER_MS));
	const int64_t time_ms = run->profile->time_unix_ns / NS_PER_MS;
	char stamp[STAMP_SIZE];
	char start[STAMP_SIZE] = "any time";
	char end[STAMP_SIZE] = "any time";

	if (run->profile->time_unix_ns <= 0) {
		run->profile->time_unix_ns = run->now_unix_ns;
		return 0;
	}
	run->sent_unix_ns = run->profile->time_unix_ns;
	if ((limits->reject_older_than_ns <= 0 || time_ms > start_ms) &&
	    (limits->reject_newer_than_ns <= 0 || time_ms < end_ms))
		return 0;
	format_stamp(time_ms, stamp);
	if (limits->reject_older_than_ns > 0)
		format_stamp(start_ms, start);
	if (limits->reject_newer_than_ns > 0)
		format_stamp(end_ms, end);
	run->reason = "not_in_ingestion_window";
	return error_set(err, ERROR_INVALID,
	                 "profile with labels '%.*s' is outside of ingestion window (profile "
	                 "timestamp: %s, the ingestion window starts at %s and ends at %s)",
	                 STR_ARGS(ingest_labels_text(run, &run->labels)), stamp, start, end);
}

static int check_limit(struct ingest_run *run, size_t actual, size_t limit, const char *reason,
                       const char *what, struct error *err)
{
	if (limit == 0 || actual <= limit)
		return 0;
	run->reason = reason;
	return error_set(err, ERROR_INVALID,
	                 "profile with labels '%.*s' exceeds %s, actual: %zu, limit: %zu)",
	                 STR_ARGS(ingest_labels_text(run, &run->labels)), what, actual, limit);
}

static int check_limits(struct ingest_run *run, struct error *err)
{
	const struct pprof_input *input = run->request->input;
	const struct ingest_limits *limits = run->limits;
	const size_t samples = input->samples_sent > run->profile->sample_count
	                               ? input->samples_sent
	                               : run->profile->sample_count;

	if (check_limit(run, input->encoded_bytes, limits->max_profile_size_bytes,
	                "profile_size_limit", "the size limit (max_profile_size_byte", err) < 0)
		return -1;
	if (check_limit(run, samples, limits->max_samples, "samples_limit",
	                "the samples count limit (max_profile_stacktrace_samples", err) < 0)
		return -1;
	return check_limit(run, input->most_labels, limits->max_sample_labels,
	                   "sample_labels_limit",
	                   "the sample labels limit (max_profile_stacktrace_sample_labels", err);
}

static int check_faults(struct ingest_run *run, struct error *err)
{
	static const struct {
		unsigned fault;
		const char *message;
	} table[] = {
		{ PPROF_LOCATION_ID_ZERO, "location id is 0" },
		{ PPROF_FUNCTION_ID_ZERO, "function id is 0" },
		{ PPROF_VALUE_COUNT, "sample value length mismatch" },
		{ PPROF_STRING_ZERO, "string 0 should be empty string" },
		{ PPROF_SAMPLE_TYPE_STRING, "sample type type string index out of range" },
		{ PPROF_LABEL_STRING, "sample label string index out of range" },
		{ PPROF_FUNCTION_NAME_STRING, "function name string index out of range" },
		{ PPROF_SYSTEM_NAME_STRING, "function system name index string out of range" },
		{ PPROF_FUNCTION_FILE_STRING, "function file name string index out of range" },
		{ PPROF_MAPPING_FILE_STRING, "mapping file name string index out of range" },
		{ PPROF_BUILD_ID_STRING, "mapping build id string index out of range" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(table); i++)
		if (run->request->input->faults & table[i].fault)
			return error_set(err, ERROR_INVALID, "%s", table[i].message);
	return 0;
}

/* Keeps the leaves of no stack deeper than the limit: the root's side stays. */
static void cut_stacks(struct ingest_run *run)
{
	const size_t limit = run->limits->max_depth;

	for (size_t i = 0; limit > 0 && i < run->profile->sample_count; i++) {
		struct profile_sample *sample = &run->profile->samples[i];

		if (sample->depth > limit) {
			sample->first_frame += (uint32_t)(sample->depth - limit);
			sample->depth = (uint32_t)limit;
		}
	}
}

/* Cuts long strings to their ends. Returns the first broken string, or their count. */
static size_t scan_strings(struct ingest_run *run)
{
	struct profile *profile = run->profile;
	const size_t limit = run->limits->max_string_length;
	size_t broken = profile->string_count;

	for (size_t i = 0; i < profile->string_count; i++) {
		struct str *string = &profile->strings[i];

		if (limit > 0 && string->length > limit)
			*string = str_skip(*string, string->length - limit);
		if (broken == profile->string_count && !utf8_is_valid(*string))
			broken = i;
	}
	return broken;
}

static int check_strings(struct ingest_run *run, struct error *err)
{
	const struct profile *profile = run->profile;
	const size_t broken = scan_strings(run);
	char hex[2 * HEX_MAX + 1];
	struct str text;

	for (size_t i = 0; i < profile->sample_type_count; i++)
		if (str_index(profile_string(profile, profile->sample_types[i].type), '-') >= 0)
			return error_set(err, ERROR_INVALID, "sample type contains -");
	if (broken == profile->string_count)
		return 0;
	text = profile->strings[broken];
	text = str_first(text, HEX_MAX);
	hex_encode((const uint8_t *)text.data, text.length, hex);
	return error_set(err, ERROR_INVALID, "invalid utf8 string hex: %s%s", hex,
	                 text.length < profile->strings[broken].length ? "..." : "");
}

int ingest_validate(struct ingest_run *run, struct error *err)
{
	run->reason = "malformed_profile";
	if (run->profile->sample_type_count == 0)
		return error_set(err, ERROR_INVALID, "empty profile");
	if (check_time(run, err) < 0 || check_limits(run, err) < 0)
		return -1;
	cut_stacks(run);
	if (check_faults(run, err) < 0 || check_strings(run, err) < 0)
		return -1;
	run->reason = NULL;
	return 0;
}
