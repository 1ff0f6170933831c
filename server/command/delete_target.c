#include "server/command/delete_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/command/server_client.h"
#include "storage/sqlite_store.h"
#include "storage/window_name.h"

#define PATH        "/api/v1/delete"
#define REQUEST_MAX ((size_t)128 << 10)
#define ANSWER_MAX  ((size_t)64 << 20)
#define ROWS_MAX    1000000

/* One of the two is there. */
struct delete_target {
	struct delete_target_options options;
	struct server_client *client;
	struct store *store;
	struct selector selector; /* of a store */
	char *tenant;             /* likewise */
};

/* Read before any thread starts, as all of the command line. */
static const char *default_tenant(void)
{
	const char *tenant = getenv("VRAMSCOPE_TENANT"); /* NOLINT(concurrency-mt-unsafe) */

	return tenant && *tenant ? tenant : "anonymous";
}

/* Nothing goes but what is asked for: no retention. */
static int open_store(struct delete_target *target, struct error *err)
{
	const struct delete_target_options *options = &target->options;
	const struct sqlite_store_options store = {
		.path = options->store,
		.read_only = options->use == DELETE_USE_COUNT,
		.max_bytes = UINT64_MAX,
		.allow_network_fs = options->use == DELETE_USE_COUNT,
	};

	selector_init(&target->selector, options->arena);
	target->tenant = mem_strdup(options->tenant ? options->tenant : default_tenant());
	if (selector_parse(&target->selector, options->query, err) < 0)
		return -1;
	return sqlite_store_open(&store, &target->store, err);
}

int delete_target_open(const struct delete_target_options *options, struct delete_target **out,
                       struct error *err)
{
	CLEANUP(delete_target_closep) struct delete_target *target = mem_zalloc(1, sizeof(*target));
	int result;

	target->options = *options;
	if (options->store)
		result = open_store(target, err);
	else
		result = server_client_open(options->url, options->tenant, &target->client, err);
	if (result < 0)
		return -1;
	*out = TAKE(target);
	return 0;
}

void delete_target_close(struct delete_target *target)
{
	if (!target)
		return;
	server_client_free(target->client);
	store_close(target->store);
	selector_fini(&target->selector);
	free(target->tenant);
	free(target);
}

const char *delete_target_name(const struct delete_target *target)
{
	return target->client ? server_client_url(target->client) : target->options.store;
}

/* ---- a store ---- */

static struct deletion deletion_of(const struct delete_target *target)
{
	return (struct deletion){
		.store = target->store,
		.tenant = str_of(target->tenant),
		.selector = &target->selector,
		.range = target->options.range,
		.arena = target->options.arena,
	};
}

/* ---- a server ---- */

/* A server reads milliseconds: what lies in a part of one goes with it. */
static void put_request(struct strbuf *out, struct str query, const struct store_range *range,
                        enum delete_use use)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	json_key(&writer, "query");
	json_put_text(&writer, query);
	json_key(&writer, "from");
	json_put_int(&writer, range->start_unix_ns / NS_PER_MS);
	json_key(&writer, "until");
	json_put_int(&writer, range->end_unix_ns / NS_PER_MS);
	json_key(&writer, "dry_run");
	json_put_bool(&writer, use == DELETE_USE_COUNT);
	json_end_map(&writer);
}

/* Asks the server; the answer lives in the arena. */
static int call(const struct delete_target *target, const struct store_range *range,
                enum delete_use use, const struct json **out, struct error *err)
{
	CLEANUP(strbuf_fini) struct strbuf request;
	CLEANUP(strbuf_fini) struct strbuf answer;

	strbuf_init(&request, REQUEST_MAX);
	strbuf_init(&answer, ANSWER_MAX);
	put_request(&request, target->options.query, range, use);
	if (strbuf_overflowed(&request))
		return error_set(err, ERROR_TOO_LARGE, "the query is over %zu bytes", REQUEST_MAX);
	if (server_client_post(target->client, PATH, "application/json", strbuf_view(&request),
	                       &answer, err) < 0)
		return -1;
	if (json_parse(strbuf_view(&answer), target->options.arena, out, err) < 0)
		return error_context(err, "the answer of %s", delete_target_name(target));
	return 0;
}

static bool read_row(const struct json *from, struct deletion_row *out)
{
	const struct str day = json_text(json_get(from, "day"));
	char file[WINDOW_FILE_SIZE];
	uint32_t number;
	const char *rest;

	if (day.length + sizeof(".db") > sizeof(file))
		return false;
	(void)snprintf(file, sizeof(file), "%.*s.db", STR_ARGS(day));
	if (!window_file_parse(file, &out->day, &number, &rest) || *rest)
		return false;
	out->type = json_text(json_get(from, "type"));
	out->profiles = (uint64_t)json_int(json_get(from, "profiles"));
	return true;
}

static int read_plan(const struct delete_target *target, const struct json *answer,
                     struct deletion_plan *out, struct error *err)
{
	const struct json *rows = json_get(answer, "windows");
	struct deletion_plan plan = { 0 };

	for (size_t i = 0; i < json_length(rows) && i < ROWS_MAX; i++) {
		if (!ARENA_GROW(target->options.arena, plan.rows, plan.count, plan.capacity))
			return arena_error(target->options.arena, err);
		if (!read_row(json_at(rows, i), &plan.rows[plan.count++]))
			return error_set(err, ERROR_INVALID, "the answer of %s is not understood",
			                 delete_target_name(target));
	}
	plan.profiles = (uint64_t)json_int(json_get(answer, "profiles"));
	*out = plan;
	return 0;
}

static int plan_remote(const struct delete_target *target, struct deletion_plan *out,
                       struct error *err)
{
	const struct json *answer = NULL;

	if (call(target, &target->options.range, DELETE_USE_COUNT, &answer, err) < 0)
		return -1;
	return read_plan(target, answer, out, err);
}

static int run_remote(const struct delete_target *target, const struct deletion_plan *plan,
                      const struct deletion_progress *progress, uint64_t *out_removed,
                      struct error *err)
{
	*out_removed = 0;
	for (size_t i = 0; i < plan->count; i++) {
		const struct store_range day =
			deletion_day_range(plan->rows[i].day, &target->options.range);
		const struct json *answer = NULL;

		if (i > 0 && plan->rows[i].day == plan->rows[i - 1].day)
			continue;
		if (call(target, &day, DELETE_USE_DELETE, &answer, err) < 0)
			return -1;
		*out_removed += (uint64_t)json_int(json_get(answer, "profiles"));
		progress->tell(progress->context, *out_removed);
	}
	return 0;
}

/* ---- either ---- */

int delete_target_plan(struct delete_target *target, struct deletion_plan *out, struct error *err)
{
	struct deletion deletion;

	if (target->client)
		return plan_remote(target, out, err);
	deletion = deletion_of(target);
	return deletion_plan_make(&deletion, out, err);
}

int delete_target_run(struct delete_target *target, const struct deletion_plan *plan,
                      const struct deletion_progress *progress, uint64_t *out_removed,
                      struct error *err)
{
	struct deletion deletion;

	if (target->client)
		return run_remote(target, plan, progress, out_removed, err);
	deletion = deletion_of(target);
	return deletion_run(&deletion, plan, progress, out_removed, err);
}
