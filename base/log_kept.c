#include "base/log_kept.h"

#include <pthread.h>
#include <string.h>

#include "base/clock.h"

/* Process-wide, as standard error is. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static struct log_kept_line lines[LOG_KEPT_MAX];
static size_t added; /* so far: the next one's place is that modulo LOG_KEPT_MAX */

const char *log_level_name(enum log_level level)
{
	static const char *const names[] = {
		[LOG_DEBUG] = "debug",
		[LOG_INFO] = "info",
		[LOG_WARN] = "warn",
		[LOG_ERROR] = "error",
	};

	return names[level];
}

void log_kept_add(enum log_level level, struct str message)
{
	const struct str kept = str_first(message, LOG_KEPT_MESSAGE);
	struct log_kept_line *line;

	(void)pthread_mutex_lock(&lock);
	line = &lines[added++ % LOG_KEPT_MAX];
	line->time_unix_ns = clock_unix_ns();
	line->level = level;
	line->length = kept.length;
	if (kept.length > 0)
		memcpy(line->message, kept.data, kept.length);
	(void)pthread_mutex_unlock(&lock);
}

size_t log_kept_list(struct log_kept_line out[static LOG_KEPT_MAX])
{
	size_t count;

	(void)pthread_mutex_lock(&lock);
	count = added < LOG_KEPT_MAX ? added : LOG_KEPT_MAX;
	for (size_t i = 0; i < count; i++)
		out[i] = lines[(added - 1 - i) % LOG_KEPT_MAX];
	(void)pthread_mutex_unlock(&lock);
	return count;
}
