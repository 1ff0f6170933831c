/*
 * POST /api/v1/delete: profiles of the caller's tenant by selector and range.
 *
 * JSON alone, so that no page in a browser can send it without being asked first. One
 * deletion at a time: more would only wait for each other's transactions.
 */
#include <string.h>

#include "api/error_json.h"
#include "base/clock.h"
#include "base/json.h"
#include "profile/time_syntax.h"
#include "server/app.h"
#include "server/app_metrics.h"
#include "server/options.h"
#include "server/query/deletion.h"
#include "server/routes/admin_access.h"
#include "server/routes/handlers.h"
#include "storage/window_name.h"

#define ROWS_MAX 100000 /* days and types that an answer lists */

/* What a request asks for. */
struct delete_request {
	struct deletion deletion;
	struct selector selector;
	bool dry_run;
};

/* ---- asking ---- */

/*
 * A time as a number of milliseconds, of which `within` nanoseconds are past, or a text that
 * queries understand.
 */
static int read_time(const struct json *body, const char *name, int64_t within_ns,
                     int64_t *out_unix_ns, struct error *err)
{
	const int64_t now_unix_ns = clock_unix_ns();
	const struct json *value = json_get(body, name);
	const struct str text = json_text(value);

	if (json_kind(value) == JSON_INT && json_int(value) >= 0 &&
	    json_int(value) < INT64_MAX / NS_PER_MS) {
		*out_unix_ns = json_int(value) * NS_PER_MS + within_ns;
		return 0;
	}
	if (json_kind(value) == JSON_TEXT && time_syntax_read(text, now_unix_ns, out_unix_ns))
		return 0;
	return error_set(err, ERROR_INVALID,
	                 "%s: a time is needed, in Unix milliseconds or as now-1h, "
	                 "2026-01-31T12:00:00Z",
	                 name);
}

static int read_body(struct exchange *exchange, struct delete_request *out, struct error *err)
{
	struct deletion *deletion = &out->deletion;
	const struct json *body;
	const struct json *dry_run;

	if (!str_equal_ignoring_case(http_request_media_type(&exchange->request),
	                             STR("application/json")))
		return error_set(err, ERROR_INVALID,
		                 "send JSON, as Content-Type: application/json");
	if (json_parse(exchange->request.body, exchange->arena, &body, err) < 0)
		return -1;
	dry_run = json_get(body, "dry_run");
	if (json_kind(dry_run) != JSON_NONE && json_kind(dry_run) != JSON_BOOL)
		return error_set(err, ERROR_INVALID, "dry_run: true or false");
	out->dry_run = json_bool(dry_run);
	if (json_kind(json_get(body, "query")) != JSON_TEXT)
		return error_set(err, ERROR_INVALID, "query: TYPE{label=\"value\"} is needed");
	if (selector_parse(&out->selector, json_text(json_get(body, "query")), err) < 0)
		return error_context(err, "query");
	/* the last millisecond goes as a whole */
	if (read_time(body, "from", 0, &deletion->range.start_unix_ns, err) < 0 ||
	    read_time(body, "until", NS_PER_MS - 1, &deletion->range.end_unix_ns, err) < 0)
		return -1;
	if (deletion->range.start_unix_ns > deletion->range.end_unix_ns)
		return error_set(err, ERROR_INVALID, "from is later than until");
	return 0;
}

/* ---- answering ---- */

static void put_day(struct json_writer *writer, int32_t day)
{
	char file[WINDOW_FILE_SIZE];

	window_file_format(day, 1, file);
	json_put_text(writer, str_first(str_of(file), strlen(file) - strlen(".db")));
}

static void put_answer(struct strbuf *out, const struct delete_request *request,
                       const struct deletion_plan *plan, uint64_t profiles)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	json_key(&writer, "dry_run");
	json_put_bool(&writer, request->dry_run);
	json_key(&writer, "profiles");
	json_put_uint(&writer, profiles);
	json_key(&writer, "windows");
	json_begin_list(&writer);
	for (size_t i = 0; i < plan->count && i < ROWS_MAX; i++) {
		json_begin_map(&writer);
		json_key(&writer, "day");
		put_day(&writer, plan->rows[i].day);
		json_key(&writer, "type");
		json_put_text(&writer, plan->rows[i].type);
		json_key(&writer, "profiles");
		json_put_uint(&writer, plan->rows[i].profiles);
		json_end_map(&writer);
	}
	json_end_list(&writer);
	json_end_map(&writer);
}

/* ---- deleting ---- */

/* A deletion's figures in /metrics. */
struct watch {
	const struct app_metrics *metrics;
	uint64_t planned;
	uint64_t told;
};

static void note_progress(void *context, uint64_t removed)
{
	struct watch *watch = context;
	const uint64_t left = watch->planned > removed ? watch->planned - removed : 0;

	metric_add(metric_family_get(watch->metrics->deleted_profiles, NULL),
	           (double)(removed - watch->told));
	metric_set(metric_family_get(watch->metrics->deletion_left, NULL), (double)left);
	watch->told = removed;
}

static int delete_planned(struct exchange *exchange, const struct delete_request *request,
                          const struct deletion_plan *plan, uint64_t *out_profiles,
                          struct error *err)
{
	struct watch watch = { .metrics = exchange->app->metrics, .planned = plan->profiles };
	const struct deletion_progress progress = { note_progress, &watch };
	int result;

	if (atomic_exchange(&exchange->app->deleting, true))
		return error_set(err, ERROR_UNAVAILABLE, "another deletion is under way");
	note_progress(&watch, 0);
	result = deletion_run(&request->deletion, plan, &progress, out_profiles, err);
	metric_set(metric_family_get(watch.metrics->deletion_left, NULL), 0);
	atomic_store(&exchange->app->deleting, false);
	return result;
}

static int serve(struct exchange *exchange, struct delete_request *request, struct error *err)
{
	struct deletion_plan plan;
	uint64_t profiles;

	if (admin_access_check((enum admin_access)exchange->app->options->admin_access, exchange,
	                       err) < 0 ||
	    read_body(exchange, request, err) < 0 ||
	    deletion_plan_make(&request->deletion, &plan, err) < 0)
		return -1;
	profiles = plan.profiles;
	if (!request->dry_run && delete_planned(exchange, request, &plan, &profiles, err) < 0)
		return -1;
	put_answer(&exchange->response.body, request, &plan, profiles);
	return 0;
}

enum exchange_state serve_delete(struct exchange *exchange)
{
	struct http_response *response = &exchange->response;
	struct delete_request request = {
		.deletion = {
			.store = exchange->app->store,
			.tenant = exchange->tenant,
			.cancel = &exchange->cancel,
			.arena = exchange->arena,
		},
	};
	struct error err = { 0 };

	selector_init(&request.selector, exchange->arena);
	request.deletion.selector = &request.selector;
	http_response_reset(response, 200);
	if (serve(exchange, &request, &err) < 0)
		error_json_connect(&err, response);
	else
		http_response_header(response, "Content-Type", STR("application/json"));
	http_response_header(response, "Cache-Control", STR("no-store"));
	selector_fini(&request.selector);
	return EXCHANGE_DONE;
}
