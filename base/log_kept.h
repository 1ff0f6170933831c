/*
 * The last warnings and errors that were logged, for a person who does not see the log.
 *
 * Shape    process-wide, as the log is: the newest LOG_KEPT_MAX; a message is cut at
 *          LOG_KEPT_MESSAGE bytes.
 * Threads  any: a lock guards them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

#define LOG_KEPT_MAX     20
#define LOG_KEPT_MESSAGE 512

struct log_kept_line {
	int64_t time_unix_ns;
	enum log_level level;
	size_t length;
	char message[LOG_KEPT_MESSAGE];
};

/* base/log.c alone: a line that has been written. */
void log_kept_add(enum log_level level, struct str message);

/* Copies, the newest first; returns how many. */
size_t log_kept_list(struct log_kept_line out[static LOG_KEPT_MAX]);

/* "debug", "info", "warn", "error". */
const char *log_level_name(enum log_level level);
