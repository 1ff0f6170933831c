/*
 * One line per event on standard error: key=value, or JSON.
 *
 * Shape    ts=2026-01-02T03:04:05.678Z level=info thread=writer msg="..."
 *          Libraries do not log; the loop that owns the work logs once. Label values and
 *          profile contents are never logged.
 * Threads  any; a line is written whole.
 */
#pragma once

#include <stdbool.h>

#include "base/str.h"

enum log_level {
	LOG_DEBUG,
	LOG_INFO,
	LOG_WARN,
	LOG_ERROR,
};

enum log_format {
	LOG_LOGFMT,
	LOG_JSON,
};

/* Before threads start; the level also later, at any time. */
void log_set_level(enum log_level level);
void log_set_format(enum log_format format);

/*
 * The name of the calling thread in its lines ("main", "writer", "worker 2") and, but for
 * the main thread, whose name is the process's, in the system's tools.
 */
void log_name_thread(const char *name);

bool log_enabled(enum log_level level);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...) (log_enabled(LOG_DEBUG) ? log_write(LOG_DEBUG, __VA_ARGS__) : (void)0)
#define log_info(...)  log_write(LOG_INFO, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

/*
 * For what repeats: at most one line a minute from this place; the line says how many
 * were left out. Use as log_rarely(LOG_WARN, "..."), each place its own state.
 */
struct log_rarely {
	_Atomic long long next_mono_ns;
	_Atomic unsigned long long left_out;
};
void log_write_rarely(struct log_rarely *state, enum log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
#define log_rarely(level, ...)                                   \
	do {                                                     \
		static struct log_rarely state_;                 \
		log_write_rarely(&state_, (level), __VA_ARGS__); \
	} while (0)
