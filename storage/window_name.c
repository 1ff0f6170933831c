#include "storage/window_name.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#define ESCAPED_MAX 200 /* bytes of a folder's name before a hash stands for the rest */

static bool stands_for_itself(unsigned char c, size_t at)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '_' || (c == '.' && at > 0);
}

void tenant_folder_format(struct str tenant, char out[static TENANT_FOLDER_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;

	for (size_t i = 0; i < tenant.length; i++) {
		const unsigned char c = (unsigned char)tenant.data[i];

		if (at > ESCAPED_MAX) {
			const struct hash128 hash = hash128_str(0, tenant);

			(void)snprintf(out + at, TENANT_FOLDER_SIZE - at, "%%%016llx%016llx",
			               (unsigned long long)hash.high, (unsigned long long)hash.low);
			return;
		}
		if (stands_for_itself(c, i)) {
			out[at++] = (char)c;
		} else {
			out[at++] = '%';
			out[at++] = digits[c >> 4];
			out[at++] = digits[c & 15];
		}
	}
	if (at == 0)
		out[at++] = '%'; /* a tenant without a name */
	out[at] = '\0';
}

bool tenant_folder_is_name(struct str name)
{
	if (name.length == 0 || name.length >= TENANT_FOLDER_SIZE)
		return false;
	for (size_t i = 0; i < name.length; i++)
		if (!stands_for_itself((unsigned char)name.data[i], i) && name.data[i] != '%')
			return false;
	return true;
}

/* ---- days; the arithmetic of the proleptic Gregorian calendar, in 400-year eras ---- */

static void civil_of(int32_t day, int *out_year, unsigned *out_month, unsigned *out_day)
{
	const int64_t shifted = (int64_t)day + 719468; /* days from 0000-03-01 */
	const int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
	const unsigned of_era = (unsigned)(shifted - era * 146097);
	const unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	const unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
	const unsigned month = (5 * of_year + 2) / 153; /* from March */

	*out_day = of_year - (153 * month + 2) / 5 + 1;
	*out_month = month < 10 ? month + 3 : month - 9;
	*out_year = (int)(year + (unsigned)(era * 400) + (*out_month <= 2));
}

static int32_t day_from_civil(int year, unsigned month, unsigned day)
{
	const int from_march = month <= 2 ? year - 1 : year;
	const int era = (from_march >= 0 ? from_march : from_march - 399) / 400;
	const unsigned of_era_year = (unsigned)(from_march - era * 400);
	const unsigned of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
	const unsigned of_era = of_era_year * 365 + of_era_year / 4 - of_era_year / 100 + of_year;

	return era * 146097 + (int32_t)of_era - 719468;
}

void window_file_format(int32_t day, uint32_t number, char out[static WINDOW_FILE_SIZE])
{
	int year;
	unsigned month;
	unsigned of_month;

	civil_of(day, &year, &month, &of_month);
	if (number <= 1)
		(void)snprintf(out, WINDOW_FILE_SIZE, "%04d-%02u-%02u.db", year, month, of_month);
	else
		(void)snprintf(out, WINDOW_FILE_SIZE, "%04d-%02u-%02u.%u.db", year, month, of_month,
		               number);
}

/* Exactly `digits` digits. */
static bool take_digits(const char **at, int digits, unsigned *out)
{
	unsigned number = 0;

	for (int i = 0; i < digits; i++) {
		if ((*at)[i] < '0' || (*at)[i] > '9')
			return false;
		number = number * 10 + (unsigned)((*at)[i] - '0');
	}
	*at += digits;
	*out = number;
	return true;
}

bool window_file_parse(const char *name, int32_t *out_day, uint32_t *out_number,
                       const char **out_rest)
{
	const char *at = name;
	unsigned year;
	unsigned month;
	unsigned day;
	char again[WINDOW_FILE_SIZE];
	uint32_t number = 1;
	int32_t counted;

	if (!take_digits(&at, 4, &year) || *at++ != '-' || !take_digits(&at, 2, &month) ||
	    *at++ != '-' || !take_digits(&at, 2, &day) || *at != '.' || month < 1 || month > 12 ||
	    day < 1)
		return false;
	if (at[1] >= '1' && at[1] <= '9') {
		number = 0;
		for (at++; *at >= '0' && *at <= '9' && number < 100000; at++)
			number = number * 10 + (uint32_t)(*at - '0');
	}
	counted = day_from_civil((int)year, month, day);
	window_file_format(counted, number, again);
	if (strncmp(name, again, strlen(again)) != 0)
		return false;
	*out_day = counted;
	*out_number = number;
	*out_rest = name + strlen(again);
	return true;
}

bool window_file_is_passing(const char *rest)
{
	return strcmp(rest, WINDOW_SEALING_TAIL) == 0 || strcmp(rest, WINDOW_UNSEALING_TAIL) == 0;
}
