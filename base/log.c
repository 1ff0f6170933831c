#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/log_kept.h"
#include "base/strbuf.h"

#define MESSAGE_MAX      2048 /* bytes; the rest is cut */
#define LINE_MAX_BYTES   ((size_t)32 << 10)
#define RARELY_PAUSE_NS  (60 * NS_PER_S)
#define THREAD_NAME_SIZE 16 /* the kernel's limit, NUL included */

/* Process-wide, as standard error is. */
static _Atomic int least_level = LOG_INFO;
static _Atomic int line_format = LOG_LOGFMT;

static _Thread_local char thread_name[THREAD_NAME_SIZE] = "main";

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&least_level, level, memory_order_relaxed);
}

void log_set_format(enum log_format format)
{
	atomic_store_explicit(&line_format, format, memory_order_relaxed);
}

void log_name_thread(const char *name)
{
	(void)snprintf(thread_name, sizeof(thread_name), "%s", name);
	if (gettid() != getpid())
		(void)pthread_setname_np(pthread_self(), thread_name);
}

bool log_enabled(enum log_level level)
{
	return (int)level >= atomic_load_explicit(&least_level, memory_order_relaxed);
}

/* 2026-01-02T03:04:05.678Z */
static void format_time(char *text, size_t size)
{
	const int64_t now_ns = clock_unix_ns();
	const time_t seconds = (time_t)(now_ns / NS_PER_S);
	struct tm utc;
	size_t length;

	(void)gmtime_r(&seconds, &utc);
	length = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &utc);
	(void)snprintf(text + length, size - length, ".%03dZ",
	               (int)(now_ns % NS_PER_S / NS_PER_MS));
}

/* A value is quoted when a reader would not see where it ends. */
static bool needs_quotes(struct str value)
{
	for (size_t i = 0; i < value.length; i++)
		if (value.data[i] <= ' ' || value.data[i] == '"' || value.data[i] == '=')
			return true;
	return value.length == 0;
}

static void add_quoted(struct strbuf *line, struct str value)
{
	struct json_writer writer;

	json_writer_init(&writer, line);
	json_put_text(&writer, value);
}

static void add_logfmt(struct strbuf *line, const char *time, const char *level, struct str message)
{
	const struct str thread = str_of(thread_name);

	strbuf_printf(line, "ts=%s level=%s thread=", time, level);
	if (needs_quotes(thread))
		add_quoted(line, thread);
	else
		strbuf_add_str(line, thread);
	strbuf_add_text(line, " msg=");
	add_quoted(line, message);
}

static void add_json(struct strbuf *line, const char *time, const char *level, struct str message)
{
	struct json_writer writer;

	json_writer_init(&writer, line);
	json_begin_map(&writer);
	json_key(&writer, "ts");
	json_put_text(&writer, str_of(time));
	json_key(&writer, "level");
	json_put_text(&writer, str_of(level));
	json_key(&writer, "thread");
	json_put_text(&writer, str_of(thread_name));
	json_key(&writer, "msg");
	json_put_text(&writer, message);
	json_end_map(&writer);
}

/* One write() a line, so that lines of threads do not mix. */
static void write_line(enum log_level level, struct str message)
{
	struct strbuf line;
	char time[40];

	format_time(time, sizeof(time));
	strbuf_init(&line, LINE_MAX_BYTES);
	if (atomic_load_explicit(&line_format, memory_order_relaxed) == LOG_JSON)
		add_json(&line, time, log_level_name(level), message);
	else
		add_logfmt(&line, time, log_level_name(level), message);
	strbuf_add_byte(&line, '\n');
	for (size_t done = 0; done < line.length;) {
		const ssize_t written = write(STDERR_FILENO, line.data + done, line.length - done);

		if (written <= 0)
			break; /* nobody can be told */
		done += (size_t)written;
	}
	strbuf_fini(&line);
	if (level >= LOG_WARN)
		log_kept_add(level, message);
}

static size_t format_message(char *text, size_t size, const char *format, va_list args)
	__attribute__((format(printf, 3, 0)));

static size_t format_message(char *text, size_t size, const char *format, va_list args)
{
	const int length = vsnprintf(text, size, format, args);

	if (length < 0)
		return 0;
	return (size_t)length < size ? (size_t)length : size - 1;
}

void log_write(enum log_level level, const char *format, ...)
{
	char message[MESSAGE_MAX];
	va_list args;
	size_t length;

	if (!log_enabled(level))
		return;
	va_start(args, format);
	length = format_message(message, sizeof(message), format, args);
	va_end(args);
	write_line(level, str_make(message, length));
}

void log_write_rarely(struct log_rarely *state, enum log_level level, const char *format, ...)
{
	const long long now_ns = clock_mono_ns();
	long long next_ns = atomic_load_explicit(&state->next_mono_ns, memory_order_relaxed);
	unsigned long long left_out;
	char message[MESSAGE_MAX];
	size_t length;
	va_list args;

	if (!log_enabled(level))
		return;
	/* of those who come at once, the one that moves the time on speaks for all */
	if (now_ns < next_ns || !atomic_compare_exchange_strong_explicit(
					&state->next_mono_ns, &next_ns, now_ns + RARELY_PAUSE_NS,
					memory_order_relaxed, memory_order_relaxed)) {
		atomic_fetch_add_explicit(&state->left_out, 1, memory_order_relaxed);
		return;
	}
	va_start(args, format);
	length = format_message(message, sizeof(message), format, args);
	va_end(args);
	left_out = atomic_exchange_explicit(&state->left_out, 0, memory_order_relaxed);
	if (left_out > 0) {
		const int more = snprintf(message + length, sizeof(message) - length,
		                          " (and %llu more since the last such line)", left_out);

		length += more > 0 && (size_t)more < sizeof(message) - length ? (size_t)more : 0;
	}
	write_line(level, str_make(message, length));
}
