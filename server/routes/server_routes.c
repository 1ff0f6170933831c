/*
 * /api/v1/server: how the server fares, for a person.
 *
 * Source   own API specification
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/log_kept.h"
#include "server/app.h"
#include "server/options.h"
#include "server/recent_count.h"
#include "server/routes/handlers.h"
#include "server/routes/own_answer.h"
#include "server/senders.h"
#include "server/version.h"

#define DAYS_MAX 1000

static void number(struct json_writer *writer, const char *key, int64_t value)
{
	json_key(writer, key);
	json_put_exact(writer, value);
}

static void count(struct json_writer *writer, const char *key, uint64_t value)
{
	number(writer, key, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

static void text(struct json_writer *writer, const char *key, struct str value)
{
	json_key(writer, key);
	json_put_text(writer, value);
}

/* ---- what the store has ---- */

struct days {
	struct arena *arena;
	struct store_day *items;
	size_t count;
	size_t capacity;
};

static int keep_day(void *context, const struct store_day *day, struct error *err)
{
	struct days *days = context;

	if (!ARENA_GROW(days->arena, days->items, days->count, days->capacity))
		return arena_error(days->arena, err);
	days->items[days->count++] = *day;
	return 0;
}

/* 0: there is none. */
static void limit(struct json_writer *writer, const char *key, int64_t value)
{
	json_key(writer, key);
	if (value > 0)
		json_put_exact(writer, value);
	else
		json_put_null(writer);
}

static void put_disk(struct json_writer *writer, const struct app *app,
                     const struct store_usage *usage, const struct days *days)
{
	json_key(writer, "disk");
	json_begin_map(writer);
	count(writer, "bytes", usage->disk_bytes);
	count(writer, "wal_bytes", usage->wal_bytes);
	limit(writer, "max_bytes", atomic_load(&app->max_bytes));
	limit(writer, "retention_ms", atomic_load(&app->retention_ns) / NS_PER_MS);
	count(writer, "damaged_windows", usage->damaged_windows);
	json_key(writer, "windows");
	json_begin_list(writer);
	/* they come from the oldest on */
	for (size_t i = 0; i < days->count && i < DAYS_MAX; i++) {
		const struct store_day *day = &days->items[days->count - 1 - i];

		json_begin_map(writer);
		number(writer, "day_ms", day->start_unix_ns / NS_PER_MS);
		count(writer, "bytes", day->bytes);
		json_end_map(writer);
	}
	json_end_list(writer);
	json_end_map(writer);
}

static void put_ingest(struct json_writer *writer, struct app *app, const struct store_usage *usage)
{
	json_key(writer, "ingest");
	json_begin_map(writer);
	count(writer, "profiles", usage->profiles_appended);
	count(writer, "deduplicated", usage->profiles_deduplicated);
	count(writer, "profiles_last_minute",
	      recent_count_sum(&app->recent_profiles, clock_mono_ns()));
	json_end_map(writer);
}

static void put_memory(struct json_writer *writer, const struct app *app,
                       const struct store_usage *usage)
{
	json_key(writer, "memory");
	json_begin_map(writer);
	count(writer, "used_bytes", budget_used(&app->memory));
	count(writer, "limit_bytes", app->memory.limit);
	count(writer, "cache_bytes", usage->cache_bytes);
	json_end_map(writer);
	json_key(writer, "queue");
	json_begin_map(writer);
	count(writer, "length", usage->queue_length);
	count(writer, "bytes", usage->queue_bytes);
	json_end_map(writer);
}

/* ---- what was said, and who was heard of ---- */

/* The log is of all tenants: where there are several, nobody sees it here. */
static void put_errors(struct json_writer *writer, const struct app *app)
{
	struct log_kept_line lines[LOG_KEPT_MAX];
	const size_t found = app->options->multitenancy ? 0 : log_kept_list(lines);

	json_key(writer, "errors");
	json_begin_list(writer);
	for (size_t i = 0; i < found; i++) {
		json_begin_map(writer);
		number(writer, "time_ms", lines[i].time_unix_ns / NS_PER_MS);
		text(writer, "level", str_of(log_level_name(lines[i].level)));
		text(writer, "message", str_make(lines[i].message, lines[i].length));
		json_end_map(writer);
	}
	json_end_list(writer);
}

static int put_senders(struct json_writer *writer, struct exchange *exchange, struct error *err)
{
	struct sender *senders =
		arena_array_raw(exchange->arena, SENDERS_PER_ANSWER, sizeof(*senders));
	size_t found;

	if (!senders)
		return arena_error(exchange->arena, err);
	found = senders_list(exchange->app->senders, exchange->tenant, senders, SENDERS_PER_ANSWER);
	json_key(writer, "senders");
	json_begin_list(writer);
	for (size_t i = 0; i < found; i++) {
		json_begin_map(writer);
		text(writer, "sender", str_of(senders[i].address));
		text(writer, "user_agent", str_of(senders[i].agent));
		text(writer, "route", str_of(senders[i].route));
		number(writer, "first_ms", senders[i].first_unix_ns / NS_PER_MS);
		number(writer, "last_ms", senders[i].last_unix_ns / NS_PER_MS);
		count(writer, "writes", senders[i].writes);
		json_end_map(writer);
	}
	json_end_list(writer);
	return 0;
}

static int show_server(struct exchange *exchange, struct error *err)
{
	struct app *app = exchange->app;
	struct days days = { .arena = exchange->arena };
	struct store_usage usage = { 0 };
	struct json_writer writer;

	if (store_days(app->store, exchange->tenant, keep_day, &days, err) < 0)
		return -1;
	store_usage(app->store, &usage);
	json_writer_init(&writer, &exchange->response.body);
	json_begin_map(&writer);
	text(&writer, "version", str_of(version_text()));
	text(&writer, "revision", str_of(version_revision()));
	number(&writer, "started_ms", app->start_unix_ns / NS_PER_MS);
	number(&writer, "now_ms", clock_unix_ns() / NS_PER_MS);
	put_ingest(&writer, app, &usage);
	put_disk(&writer, app, &usage, &days);
	put_memory(&writer, app, &usage);
	put_errors(&writer, app);
	if (put_senders(&writer, exchange, err) < 0)
		return -1;
	json_end_map(&writer);
	return 0;
}

enum exchange_state serve_server(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, show_server(exchange, &err), &err);
}
