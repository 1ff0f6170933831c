#include "server/query/read_query_text.h"

#include <stdio.h>

#include "base/clock.h"

#define NS_PER_MINUTE (60 * NS_PER_S)
#define NS_PER_HOUR   (60 * NS_PER_MINUTE)

void read_query_duration_format(int64_t ns, char text[static READ_QUERY_DURATION_SIZE])
{
	const long long hours = ns / NS_PER_HOUR;
	const long long minutes = ns % NS_PER_HOUR / NS_PER_MINUTE;
	const long long seconds = ns % NS_PER_MINUTE / NS_PER_S;
	const long long ms = ns % NS_PER_S / NS_PER_MS;
	char fraction[8] = "";
	int length;

	if (ns < NS_PER_S) {
		(void)snprintf(text, READ_QUERY_DURATION_SIZE, "%lldms", ms);
		return;
	}
	if (ms > 0) {
		length = snprintf(fraction, sizeof(fraction), ".%03lld", ms);
		while (fraction[length - 1] == '0')
			fraction[--length] = '\0';
	}
	if (hours > 0)
		(void)snprintf(text, READ_QUERY_DURATION_SIZE, "%lldh%lldm%lld%ss", hours, minutes,
		               seconds, fraction);
	else if (minutes > 0)
		(void)snprintf(text, READ_QUERY_DURATION_SIZE, "%lldm%lld%ss", minutes, seconds,
		               fraction);
	else
		(void)snprintf(text, READ_QUERY_DURATION_SIZE, "%lld%ss", seconds, fraction);
}

void read_query_limit_format(int64_t ns, char text[static READ_QUERY_DURATION_SIZE])
{
	/* Years, weeks and days are named only when they come out even. */
	static const struct {
		const char *name;
		int64_t ms;
		bool even;
	} units[] = {
		{ "y", INT64_C(31536000000), true },
		{ "w", 604800000, true },
		{ "d", 86400000, true },
		{ "h", 3600000, false },
		{ "m", 60000, false },
		{ "s", 1000, false },
		{ "ms", 1, false },
	};
	int64_t ms = ns / NS_PER_MS;
	size_t length = 0;

	if (ms == 0)
		(void)snprintf(text, READ_QUERY_DURATION_SIZE, "0s");
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		const int64_t count = ms / units[i].ms;

		if (count == 0 || (units[i].even && ms % units[i].ms != 0))
			continue;
		length += (size_t)snprintf(text + length, READ_QUERY_DURATION_SIZE - length,
		                           "%lld%s", (long long)count, units[i].name);
		ms -= count * units[i].ms;
	}
}

bool read_query_alias_of(struct str aliases, struct str id, struct str *out)
{
	struct str pair;

	while (str_split(&aliases, ',', &pair)) {
		const ptrdiff_t equals = str_index(pair, '=');
		struct str first;
		struct str second;

		if (equals < 0)
			continue;
		first = str_trim(str_first(pair, (size_t)equals));
		second = str_trim(str_skip(pair, (size_t)equals + 1));
		if (str_equal(first, id) || str_equal(second, id)) {
			*out = str_equal(first, id) ? second : first;
			return true;
		}
	}
	return false;
}
