#include "profile/time_syntax.h"

#include "base/cleanup.h"
#include "base/clock.h"

#define DAY_S INT64_C(86400)

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The next character that counts: blanks, '_' and ',' do not. False at the end. */
static bool next_char(struct str *rest, char *out)
{
	while (rest->length > 0) {
		*out = rest->data[0];
		*rest = str_skip(*rest, 1);
		if (*out != ' ' && *out != '_' && *out != ',')
			return true;
	}
	return false;
}

static int64_t scale(int64_t number, int64_t factor)
{
	int64_t product;

	if (__builtin_mul_overflow(number, factor, &product))
		return (number < 0) == (factor < 0) ? INT64_MAX : INT64_MIN;
	return product;
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

/* number * 10 + digit, at most INT64_MAX. */
static int64_t push_digit(int64_t number, char digit)
{
	return add(scale(number, 10), digit - '0');
}

/*
 * Days from 1970-01-01 in the Gregorian calendar; years count from March, so that the
 * leap day is the last of its year.
 */
static int64_t days_since_1970(int64_t year, int64_t month, int64_t day)
{
	const int64_t from_march = year - (month <= 2);
	const int64_t month_from_march = (month + 9) % 12;

	return from_march * 365 + from_march / 4 - from_march / 100 + from_march / 400 +
	       (153 * month_from_march + 2) / 5 + day - 1 - 719468;
}

static bool is_date(int64_t year, int64_t month, int64_t day)
{
	static const uint8_t lengths[12] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return month >= 1 && month <= 12 && day >= 1 &&
	       day <= lengths[month - 1] + (month == 2 && leap);
}

/* A number of `digits` digits: a date, or a time whose unit its length tells. */
static int64_t absolute(int64_t number, size_t digits)
{
	const int64_t year = number / 10000;
	const int64_t month = number / 100 % 100;
	const int64_t day = number % 100;

	switch (digits) {
	case 8:
		if (year > 1900 && is_date(year, month, day))
			return scale(days_since_1970(year, month, day), DAY_S * NS_PER_S);
		return scale(number, NS_PER_S);
	case 13:
		return scale(number, NS_PER_MS);
	case 16:
		return scale(number, NS_PER_US);
	case 19:
		return number;
	default:
		return scale(number, NS_PER_S);
	}
}

/* Seconds of the unit that `text` (what follows the number, cut to three) begins with. */
static int64_t unit_seconds(struct str text)
{
	if (str_starts_with(text, STR("s")))
		return 1;
	if (str_starts_with(text, STR("mon")) || str_starts_with(text, STR("M")))
		return 30 * DAY_S;
	if (str_starts_with(text, STR("m")))
		return 60;
	if (str_starts_with(text, STR("h")))
		return 3600;
	if (str_starts_with(text, STR("d")))
		return DAY_S;
	if (str_starts_with(text, STR("w")))
		return 7 * DAY_S;
	if (str_starts_with(text, STR("y")))
		return 365 * DAY_S;
	return 0;
}

/* "1h": one number and one unit, in nanoseconds. */
static int64_t offset(struct str rest)
{
	char unit[3];
	size_t length = 0;
	int64_t number = 0;
	char c;

	while (length < sizeof(unit) && next_char(&rest, &c)) {
		if (length == 0 && is_digit(c))
			number = push_digit(number, c);
		else
			unit[length++] = c;
	}
	return scale(scale(number, unit_seconds(str_make(unit, length))), NS_PER_S);
}

/* Reads `count` digits at *rest and moves behind them. */
static bool take_number(struct str *rest, size_t count, int64_t *out)
{
	*out = 0;
	if (rest->length < count)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!is_digit(rest->data[i]))
			return false;
		*out = *out * 10 + (rest->data[i] - '0');
	}
	*rest = str_skip(*rest, count);
	return true;
}

static bool take_char(struct str *rest, char c)
{
	if (rest->length == 0 || rest->data[0] != c)
		return false;
	*rest = str_skip(*rest, 1);
	return true;
}

/* ".5": nanoseconds; digits past the ninth do not count. */
static bool take_fraction(struct str *rest, int64_t *out_ns)
{
	int64_t unit = NS_PER_S / 10;
	size_t digits = 0;

	*out_ns = 0;
	if (!take_char(rest, '.'))
		return true;
	for (; rest->length > 0 && is_digit(rest->data[0]); digits++) {
		*out_ns += (rest->data[0] - '0') * unit;
		unit /= 10;
		*rest = str_skip(*rest, 1);
	}
	return digits > 0;
}

/* "Z" or "+01:30", in seconds east of Greenwich. */
static bool take_zone(struct str *rest, int64_t *out_seconds)
{
	const bool west = rest->length > 0 && rest->data[0] == '-';
	int64_t hours;
	int64_t minutes;

	*out_seconds = 0;
	if (take_char(rest, 'Z') || take_char(rest, 'z'))
		return true;
	if (!take_char(rest, west ? '-' : '+') || !take_number(rest, 2, &hours) ||
	    !take_char(rest, ':') || !take_number(rest, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*out_seconds = (hours * 3600 + minutes * 60) * (west ? -1 : 1);
	return true;
}

static bool parse_rfc3339(struct str text, int64_t *out_unix_ns)
{
	int64_t year;
	int64_t month;
	int64_t day;
	int64_t hour;
	int64_t minute;
	int64_t second;
	int64_t fraction_ns;
	int64_t zone_s;

	if (!take_number(&text, 4, &year) || !take_char(&text, '-') ||
	    !take_number(&text, 2, &month) || !take_char(&text, '-') ||
	    !take_number(&text, 2, &day) || !take_char(&text, 'T') ||
	    !take_number(&text, 2, &hour) || !take_char(&text, ':') ||
	    !take_number(&text, 2, &minute) || !take_char(&text, ':') ||
	    !take_number(&text, 2, &second) || !take_fraction(&text, &fraction_ns) ||
	    !take_zone(&text, &zone_s) || text.length > 0)
		return false;
	if (year == 0 || !is_date(year, month, day) || hour > 23 || minute > 59 || second > 59)
		return false;
	second += days_since_1970(year, month, day) * DAY_S + hour * 3600 + minute * 60 - zone_s;
	*out_unix_ns = add(scale(second, NS_PER_S), fraction_ns);
	return true;
}

int64_t time_syntax_parse(struct str text, int64_t now_unix_ns, unsigned flags)
{
	const struct str trimmed = str_trim(text);
	struct str rest = trimmed;
	int64_t number = 0;
	size_t digits = 0;
	bool all_digits = true;
	ptrdiff_t sign;
	char c;

	while (next_char(&rest, &c)) {
		if (is_digit(c))
			number = push_digit(number, c);
		else
			all_digits = false;
		digits++;
	}
	if (digits == 0)
		return now_unix_ns;
	if (all_digits)
		return absolute(number, digits);
	if ((flags & TIME_SYNTAX_RFC3339) && parse_rfc3339(trimmed, &number))
		return number;
	sign = str_index(trimmed, '+');
	if (sign >= 0)
		return add(now_unix_ns, offset(str_skip(trimmed, (size_t)sign + 1)));
	sign = str_index(trimmed, '-');
	if (sign >= 0)
		return add(now_unix_ns, -offset(str_skip(trimmed, (size_t)sign + 1)));
	return now_unix_ns;
}

/* ---- strictly ---- */

/* "1h": digits, then one of the units. */
static bool read_offset(struct str text, int64_t *out_ns)
{
	static const char *const units[] = { "s", "m", "h", "d", "w", "M", "mon", "y" };
	size_t digits = 0;

	while (digits < text.length && is_digit(text.data[digits]))
		digits++;
	for (size_t i = 0; digits > 0 && i < ARRAY_LENGTH(units); i++) {
		if (!str_equals(str_skip(text, digits), units[i]))
			continue;
		*out_ns = offset(text);
		return true;
	}
	return false;
}

static bool read_distance(struct str text, int64_t now_unix_ns, int64_t *out_unix_ns)
{
	int64_t distance;

	if (str_starts_with(text, STR("now")))
		text = str_skip(text, strlen("now"));
	if (text.length == 0) {
		*out_unix_ns = now_unix_ns;
		return true;
	}
	if ((text.data[0] != '-' && text.data[0] != '+') ||
	    !read_offset(str_skip(text, 1), &distance))
		return false;
	*out_unix_ns = add(now_unix_ns, text.data[0] == '-' ? -distance : distance);
	return true;
}

static bool read_date(struct str text, int64_t *out_unix_ns)
{
	int64_t year;
	int64_t month;
	int64_t day;

	if (!take_number(&text, 4, &year) || !take_char(&text, '-') ||
	    !take_number(&text, 2, &month) || !take_char(&text, '-') ||
	    !take_number(&text, 2, &day) || text.length > 0 || year == 0 ||
	    !is_date(year, month, day))
		return false;
	*out_unix_ns = scale(days_since_1970(year, month, day), DAY_S * NS_PER_S);
	return true;
}

bool time_syntax_read(struct str text, int64_t now_unix_ns, int64_t *out_unix_ns)
{
	int64_t number = 0;
	size_t digits = 0;

	text = str_trim(text);
	for (; digits < text.length && is_digit(text.data[digits]); digits++)
		number = push_digit(number, text.data[digits]);
	if (digits > 0 && digits == text.length) {
		*out_unix_ns = absolute(number, digits);
		return true;
	}
	if (digits > 0)
		return read_date(text, out_unix_ns) || parse_rfc3339(text, out_unix_ns);
	return text.length > 0 && read_distance(text, now_unix_ns, out_unix_ns);
}
