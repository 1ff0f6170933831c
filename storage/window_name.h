/*
 * Where a window lies: the folder of its tenant, its day, its number.
 *
 * Shape    <path>/tenants/<tenant>/<YYYY-MM-DD>.db, and <YYYY-MM-DD>.<N>.db (N from 2)
 *          for profiles that come when the first file is sealed. A tenant's name is
 *          escaped: letters, digits, '-', '_' and '.' (not first) stand for themselves,
 *          every other byte is %XX; what would be too long ends in a hash.
 * Units    a day is a UTC day of profile time, counted from 1970-01-01, negative before.
 * Threads  any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define NS_PER_DAY         (INT64_C(86400) * 1000000000)
#define WINDOW_FILE_SIZE   48  /* of a file's name, NUL included */
#define TENANT_FOLDER_SIZE 240 /* likewise */

/* Behind a window's name: files that are to take its place, see storage/file_place.h. */
#define WINDOW_SEALING_TAIL   ".sealing"
#define WINDOW_UNSEALING_TAIL ".unsealing"

/* The day that a time falls into. */
static inline int32_t day_of(int64_t unix_ns)
{
	const int64_t day = unix_ns / NS_PER_DAY;

	return (int32_t)(unix_ns % NS_PER_DAY < 0 ? day - 1 : day);
}

/* The first and the last time of a day; the outermost days end with the scale. */
static inline int64_t day_start_ns(int32_t day)
{
	int64_t start;

	if (__builtin_mul_overflow(day, NS_PER_DAY, &start))
		return day < 0 ? INT64_MIN : INT64_MAX;
	return start;
}

static inline int64_t day_end_ns(int32_t day)
{
	int64_t end;

	if (__builtin_mul_overflow(day + INT64_C(1), NS_PER_DAY, &end))
		return day < 0 ? INT64_MIN : INT64_MAX;
	return end - 1;
}

void tenant_folder_format(struct str tenant, char out[static TENANT_FOLDER_SIZE]);

/* Whether a tenant's folder may be called that; others' folders lie there, too (lost+found). */
bool tenant_folder_is_name(struct str name);

/* "2026-01-02.db", "2026-01-02.2.db"; the year has four digits. */
void window_file_format(int32_t day, uint32_t number, char out[static WINDOW_FILE_SIZE]);

/*
 * False for a name that is not exactly what window_file_format() gives, but for what
 * stands behind it.
 */
bool window_file_parse(const char *name, int32_t *out_day, uint32_t *out_number,
                       const char **out_rest);

/* Whether what stands behind a window's name is that of a file that is to take its place. */
bool window_file_is_passing(const char *rest);
