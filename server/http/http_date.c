#include "server/http/http_date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

void http_date_format(int64_t unix_ns, char text[static HTTP_DATE_LENGTH + 1])
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
		                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	const time_t unix_s = unix_ns / NS_PER_S - (unix_ns % NS_PER_S < 0);
	struct tm when = { 0 };
	char line[64] = "";

	(void)gmtime_r(&unix_s, &when);
	(void)snprintf(line, sizeof(line), "%s, %02d %s %04d %02d:%02d:%02d GMT",
	               days[when.tm_wday], when.tm_mday, months[when.tm_mon], when.tm_year + 1900,
	               when.tm_hour, when.tm_min, when.tm_sec);
	memcpy(text, line, HTTP_DATE_LENGTH);
	text[HTTP_DATE_LENGTH] = '\0';
}
