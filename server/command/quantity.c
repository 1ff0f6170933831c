#include "server/command/quantity.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/cleanup.h"

struct scale {
	double from; /* the smallest magnitude that is written so, in the unit's base */
	double divisor;
	const char *name;
};

static const struct scale bytes[] = {
	{ 0, 1, "B" },
	{ 1024.0, 1024.0, "KiB" },
	{ 1048576.0, 1048576.0, "MiB" },
	{ 1073741824.0, 1073741824.0, "GiB" },
	{ 1099511627776.0, 1099511627776.0, "TiB" },
	{ 1125899906842624.0, 1125899906842624.0, "PiB" },
};

static const struct scale times[] = {
	{ 0, 1, "ns" },    { 1e3, 1e3, "us" },    { 1e6, 1e6, "ms" },
	{ 1e9, 1e9, "s" }, { 60e9, 60e9, "min" }, { 3600e9, 3600e9, "h" },
};

static const struct {
	const char *unit;
	const struct scale *scales;
	size_t count;
	double factor; /* into the base of the scales */
} units[] = {
	{ "bytes", bytes, ARRAY_LENGTH(bytes), 1 },
	{ "nanoseconds", times, ARRAY_LENGTH(times), 1 },
	{ "ns", times, ARRAY_LENGTH(times), 1 },
	{ "microseconds", times, ARRAY_LENGTH(times), 1e3 },
	{ "milliseconds", times, ARRAY_LENGTH(times), 1e6 },
	{ "seconds", times, ARRAY_LENGTH(times), 1e9 },
};

/* 1,234,567; the magnitude of INT64_MIN has no int64. */
static void format_count(int64_t value, char text[static QUANTITY_SIZE])
{
	char digits[24];
	const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	const int length = snprintf(digits, sizeof(digits), "%" PRIu64, magnitude);
	size_t at = 0;

	if (value < 0)
		text[at++] = '-';
	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
}

/* Three digits that mean something: 9.87, 98.7, 987. */
static void format_scaled(double value, const struct scale *scale, char text[static QUANTITY_SIZE])
{
	const double shown = value / scale->divisor;
	const double magnitude = shown < 0 ? -shown : shown;
	const int decimals = scale->divisor == 1 ? 0
	                     : magnitude < 9.995 ? 2
	                     : magnitude < 99.95 ? 1
	                                         : 0;

	(void)snprintf(text, QUANTITY_SIZE, "%.*f %s", decimals, shown, scale->name);
}

void quantity_format(int64_t value, struct str unit, char text[static QUANTITY_SIZE])
{
	for (size_t i = 0; i < ARRAY_LENGTH(units); i++) {
		if (!str_equals(unit, units[i].unit))
			continue;

		const double based = (double)value * units[i].factor;
		const double magnitude = based < 0 ? -based : based;
		const struct scale *scale = units[i].scales;

		for (size_t s = 1; s < units[i].count && magnitude >= units[i].scales[s].from; s++)
			scale = &units[i].scales[s];
		format_scaled(based, scale, text);
		return;
	}
	format_count(value, text);
}

void quantity_format_change(int64_t value, struct str unit, char text[static QUANTITY_SIZE])
{
	char plain[QUANTITY_SIZE];

	quantity_format(value, unit, plain);
	(void)snprintf(text, QUANTITY_SIZE, "%s%.*s", value > 0 ? "+" : "", QUANTITY_SIZE - 2,
	               plain);
}

void quantity_format_percent(int64_t part, int64_t whole, char text[static QUANTITY_SIZE])
{
	if (whole == 0) {
		(void)snprintf(text, QUANTITY_SIZE, "-");
		return;
	}
	(void)snprintf(text, QUANTITY_SIZE, "%.1f%%", 100.0 * (double)part / (double)whole);
}
