#include "server/option_value.h"

#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "collector/live/memory_tick.h"
#include "collector/python/python_stack.h"
#include "formats/otlp_layout.h"
#include "profile/profile_type.h"
#include "server/routes/admin_access.h"
#include "storage/sqlite_store.h"

#define NUMBER_TEXT_MAX 32 /* characters of a number; a guess */

struct word {
	const char *text;
	int value;
};

static const struct word targets[] = { { "all", 0 }, { NULL, 0 } };
static const struct word syncs[] = {
	{ "normal", SQLITE_STORE_SYNC_NORMAL },
	{ "full", SQLITE_STORE_SYNC_FULL },
	{ NULL, 0 },
};
static const struct word levels[] = {
	{ "debug", LOG_DEBUG }, { "info", LOG_INFO }, { "warn", LOG_WARN },
	{ "error", LOG_ERROR }, { NULL, 0 },
};
static const struct word formats[] = {
	{ "logfmt", LOG_LOGFMT },
	{ "json", LOG_JSON },
	{ NULL, 0 },
};
static const struct word merges[] = {
	{ "mean", PROFILE_MERGE_MEAN },
	{ "sum", PROFILE_MERGE_SUM },
	{ "last", PROFILE_MERGE_LAST },
	{ "max", PROFILE_MERGE_MAX },
	{ NULL, 0 },
};

static const struct word automatics[] = {
	{ "auto", true },
	{ "off", false },
	{ NULL, 0 },
};

static const struct word internals[] = {
	{ "mark", PYTHON_INTERNALS_MARK },
	{ "drop", PYTHON_INTERNALS_DROP },
	{ NULL, 0 },
};

static const struct word mallocs[] = {
	{ "all", MALLOC_SERIES_ALL },
	{ "strict", MALLOC_SERIES_STRICT },
	{ "off", MALLOC_SERIES_OFF },
	{ NULL, 0 },
};

static const struct word revisions[] = {
	{ "auto", OTLP_REVISION_COUNT },
	{ "1.5", OTLP_1_5 },
	{ "1.7", OTLP_1_7 },
	{ "1.9", OTLP_1_9 },
	{ "1.10", OTLP_1_10 },
	{ NULL, 0 },
};

static const struct word admins[] = {
	{ "local", ADMIN_ACCESS_LOCAL },
	{ "any", ADMIN_ACCESS_ANY },
	{ "off", ADMIN_ACCESS_OFF },
	{ NULL, 0 },
};

static const struct {
	const char *name;
	const struct word *words; /* or NULL */
} types[OPTION_TYPE_COUNT] = {
	[OPTION_STRING] = { "string", NULL },
	[OPTION_BOOL] = { "", NULL },
	[OPTION_PORT] = { "port", NULL },
	[OPTION_COUNT] = { "number", NULL },
	[OPTION_BYTES] = { "bytes", NULL },
	[OPTION_MEGABYTES] = { "MiB", NULL },
	[OPTION_DURATION] = { "duration", NULL },
	[OPTION_TARGET] = { "all", targets },
	[OPTION_SYNC] = { "normal|full", syncs },
	[OPTION_LEVEL] = { "debug|info|warn|error", levels },
	[OPTION_FORMAT] = { "logfmt|json", formats },
	[OPTION_MERGE] = { "mean|sum|last|max", merges },
	[OPTION_INTERNALS] = { "mark|drop", internals },
	[OPTION_AUTOMATIC] = { "auto|off", automatics },
	[OPTION_MALLOC] = { "all|strict|off", mallocs },
	[OPTION_REVISION] = { "auto|1.5|1.7|1.9|1.10", revisions },
	[OPTION_ADMIN] = { "local|any|off", admins },
};

const char *option_type_name(enum option_type type)
{
	return types[type].name;
}

/* Takes a number without sign, perhaps with a fraction, off the front of *text. */
static bool take_number(struct str *text, double *out_number)
{
	char digits[NUMBER_TEXT_MAX];
	size_t length = 0;
	size_t points = 0;

	while (length < text->length && length < sizeof(digits) - 1) {
		const char c = text->data[length];

		if (c == '.')
			points++;
		else if (c < '0' || c > '9')
			break;
		digits[length++] = c;
	}
	if (length == points || points > 1 || length == sizeof(digits) - 1)
		return false;
	digits[length] = '\0';
	*out_number = strtod(digits, NULL);
	*text = str_skip(*text, length);
	return true;
}

static bool take_unit(struct str *text, struct str *out_unit)
{
	size_t length = 0;

	while (length < text->length && ((text->data[length] >= 'a' && text->data[length] <= 'z') ||
	                                 (text->data[length] >= 'A' && text->data[length] <= 'Z')))
		length++;
	*out_unit = str_first(*text, length);
	*text = str_skip(*text, length);
	return length > 0;
}

static bool duration_unit_ns(struct str unit, double *out_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{ "ns", 1 },      { "us", 1e3 },     { "ms", 1e6 },
		{ "s", 1e9 },     { "m", 60e9 },     { "h", 3600e9 },
		{ "d", 86400e9 }, { "w", 604800e9 }, { "y", 31536000e9 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
		if (str_equals(unit, units[i].name)) {
			*out_ns = units[i].ns;
			return true;
		}
	return false;
}

int option_parse_duration(struct str text, int64_t *out_ns, struct error *err)
{
	struct str rest = text;
	double sum = 0;

	if (str_equals(text, "0")) {
		*out_ns = 0;
		return 0;
	}
	do {
		struct str unit;
		double number;
		double unit_ns;

		if (!take_number(&rest, &number) || !take_unit(&rest, &unit) ||
		    !duration_unit_ns(unit, &unit_ns))
			return error_set(err, ERROR_INVALID,
			                 "'%.*s' is not a duration such as 15s, 1h30m or 7d",
			                 STR_ARGS(str_first(text, 64)));
		sum += number * unit_ns;
	} while (rest.length > 0);
	if (sum >= 0x1p62)
		return error_set(err, ERROR_INVALID, "'%.*s' is longer than 146 years",
		                 STR_ARGS(str_first(text, 64)));
	*out_ns = llround(sum);
	return 0;
}

static bool bytes_unit(struct str unit, double *out_factor)
{
	static const struct {
		const char *name;
		double factor;
	} units[] = {
		{ "", 1 },         { "B", 1 },        { "K", 0x1p10 },   { "KiB", 0x1p10 },
		{ "KB", 1e3 },     { "M", 0x1p20 },   { "MiB", 0x1p20 }, { "MB", 1e6 },
		{ "G", 0x1p30 },   { "GiB", 0x1p30 }, { "GB", 1e9 },     { "T", 0x1p40 },
		{ "TiB", 0x1p40 }, { "TB", 1e12 },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(units); i++)
		if (str_equal_ignoring_case(unit, str_of(units[i].name))) {
			*out_factor = units[i].factor;
			return true;
		}
	return false;
}

int option_parse_bytes(struct str text, uint64_t *out_bytes, struct error *err)
{
	struct str rest = text;
	struct str unit;
	double number;
	double factor;

	if (!take_number(&rest, &number))
		goto bad;
	(void)take_unit(&rest, &unit);
	if (rest.length > 0 || !bytes_unit(unit, &factor) || number * factor >= 0x1p63)
		goto bad;
	*out_bytes = (uint64_t)(number * factor);
	return 0;
bad:
	return error_set(err, ERROR_INVALID, "'%.*s' is not a size such as 512MiB or 10GB",
	                 STR_ARGS(str_first(text, 64)));
}

static int parse_bool(struct str text, bool *field, struct error *err)
{
	static const char *const yes[] = { "true", "1", "t", "yes", "on" };
	static const char *const no[] = { "false", "0", "f", "no", "off" };

	for (size_t i = 0; i < ARRAY_LENGTH(yes); i++) {
		const bool is_yes = str_equal_ignoring_case(text, str_of(yes[i]));

		if (!is_yes && !str_equal_ignoring_case(text, str_of(no[i])))
			continue;
		*field = is_yes;
		return 0;
	}
	return error_set(err, ERROR_INVALID, "'%.*s' is neither true nor false",
	                 STR_ARGS(str_first(text, 64)));
}

static int parse_port(struct str text, uint16_t *field, struct error *err)
{
	uint64_t number;

	if (!str_to_u64(text, UINT16_MAX, &number))
		return error_set(err, ERROR_INVALID, "'%.*s' is not a port from 0 to 65535",
		                 STR_ARGS(str_first(text, 64)));
	*field = (uint16_t)number;
	return 0;
}

static int parse_count(struct str text, uint64_t *field, struct error *err)
{
	if (!str_to_u64(text, INT64_MAX, field))
		return error_set(err, ERROR_INVALID, "'%.*s' is not a whole number from 0",
		                 STR_ARGS(str_first(text, 64)));
	return 0;
}

static int parse_megabytes(struct str text, double *field, struct error *err)
{
	struct str rest = text;
	double number;

	if (!take_number(&rest, &number) || rest.length > 0 || number > 0x1p33)
		return error_set(err, ERROR_INVALID, "'%.*s' is not a number of MiB",
		                 STR_ARGS(str_first(text, 64)));
	*field = number * 0x1p20;
	return 0;
}

static int parse_word(enum option_type type, struct str text, int *field, struct error *err)
{
	for (const struct word *word = types[type].words; word->text; word++)
		if (str_equal_ignoring_case(text, str_of(word->text))) {
			*field = word->value;
			return 0;
		}
	return error_set(err, ERROR_INVALID, "'%.*s' is not one of %s",
	                 STR_ARGS(str_first(text, 64)), types[type].name);
}

int option_value_parse(enum option_type type, struct str text, void *field, struct error *err)
{
	switch (type) {
	case OPTION_STRING:
		*(const char **)field = text.data;
		return 0;
	case OPTION_BOOL:
		return parse_bool(text, field, err);
	case OPTION_PORT:
		return parse_port(text, field, err);
	case OPTION_COUNT:
		return parse_count(text, field, err);
	case OPTION_BYTES:
		return option_parse_bytes(text, field, err);
	case OPTION_MEGABYTES:
		return parse_megabytes(text, field, err);
	case OPTION_DURATION:
		return option_parse_duration(text, field, err);
	default:
		return parse_word(type, text, field, err);
	}
}
