/*
 * /api/gpu/processes, /api/gpu/timeline, /api/gpu/oom, /api/gpu/growth.
 *
 * Source   own API specification
 */
#include "server/routes/gpu_json.h"
#include "server/routes/gpu_request.h"
#include "server/routes/handlers.h"
#include "server/routes/own_answer.h"

#define PROCESSES_DEFAULT 100
#define PROCESSES_MAX     10000
#define TOP_DEFAULT       10
#define TOP_MAX           100
#define OOMS_DEFAULT      20
#define OOMS_MAX          100
#define GROWTH_DEFAULT    100
#define GROWTH_MAX        1000
#define STEPS_DEFAULT     500 /* at most, when no step is asked for: what a picture shows */
#define STEP_UNIT_MS      INT64_C(15000)

/* ---- processes ---- */

static int list_processes(struct exchange *exchange, struct error *err)
{
	static const char *const orders[] = {
		[GPU_PROCESS_BY_LIVE] = "live_bytes",     [GPU_PROCESS_BY_PEAK] = "peak_bytes",
		[GPU_PROCESS_BY_ALLOC] = "alloc_bytes",   [GPU_PROCESS_BY_FREED] = "freed_bytes",
		[GPU_PROCESS_BY_GROWTH] = "growth_bytes", [GPU_PROCESS_BY_FAILURES] = "failures",
		[GPU_PROCESS_BY_FIRST] = "first_ms",      [GPU_PROCESS_BY_LAST] = "last_ms",
	};
	CLEANUP(gpu_question_fini) struct gpu_question question = { 0 };
	struct gpu_process_list list;
	struct own_request request;
	size_t order = GPU_PROCESS_BY_LIVE;
	size_t limit;

	if (own_request_open(exchange, &request, err) < 0 ||
	    own_request_word(&request, "sort", orders, ARRAY_LENGTH(orders), &order, err) < 0 ||
	    own_request_count(&request, "limit", PROCESSES_DEFAULT, PROCESSES_MAX, &limit, err) <
	            0 ||
	    gpu_request_question(&request, "at", &question, err) < 0 ||
	    gpu_processes_list(&question, (enum gpu_process_order)order, limit, &list, err) < 0)
		return -1;
	gpu_json_processes(&list, &exchange->response.body);
	return 0;
}

enum exchange_state serve_gpu_processes(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, list_processes(exchange, &err), &err);
}

/* ---- timeline ---- */

/* As many steps as a picture shows, of whole intervals of the collector. */
static int64_t default_step_ms(const struct gpu_question *question)
{
	const int64_t range_ms = question->query.end_ms - question->query.start_ms;

	return STEP_UNIT_MS * (range_ms / (STEP_UNIT_MS * STEPS_DEFAULT) + 1);
}

static int make_timeline(struct exchange *exchange, struct error *err)
{
	static const char *const groups[] = {
		"process",       "pid", "service_name", "k8s_podName",
		"k8s_namespace", "gpu", "cuda_class",
	};
	CLEANUP(gpu_question_fini) struct gpu_question question = { 0 };
	struct gpu_timeline_options options;
	struct gpu_timeline timeline;
	struct own_request request;
	size_t by = 0;

	if (own_request_open(exchange, &request, err) < 0 ||
	    own_request_word(&request, "by", groups, ARRAY_LENGTH(groups), &by, err) < 0 ||
	    own_request_count(&request, "top", TOP_DEFAULT, TOP_MAX, &options.top, err) < 0 ||
	    own_request_step(&request, &options.step_ms, err) < 0 ||
	    gpu_request_question(&request, "until", &question, err) < 0)
		return -1;
	options.by = str_of(groups[by]);
	if (options.step_ms == 0)
		options.step_ms = default_step_ms(&question);
	if (gpu_timeline_make(&question, &options, &timeline, err) < 0)
		return -1;
	gpu_json_timeline(&timeline, &exchange->response.body);
	return 0;
}

enum exchange_state serve_gpu_timeline(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, make_timeline(exchange, &err), &err);
}

/* ---- out of memory ---- */

static int list_ooms(struct exchange *exchange, struct error *err)
{
	CLEANUP(gpu_question_fini) struct gpu_question question = { 0 };
	struct gpu_oom_list list;
	struct own_request request;
	size_t limit;

	if (own_request_open(exchange, &request, err) < 0 ||
	    own_request_count(&request, "limit", OOMS_DEFAULT, OOMS_MAX, &limit, err) < 0 ||
	    gpu_request_question(&request, "until", &question, err) < 0 ||
	    gpu_ooms_list(&question, own_request_text(&request, "cursor"), limit, &list, err) < 0)
		return -1;
	gpu_json_ooms(&list, &exchange->response.body);
	return 0;
}

enum exchange_state serve_gpu_ooms(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, list_ooms(exchange, &err), &err);
}

static int show_oom(struct exchange *exchange, struct error *err)
{
	const struct str id = str_skip(exchange->request.path, strlen(exchange->route->path));
	CLEANUP(gpu_question_fini) struct gpu_question question = { 0 };
	struct own_request request;
	struct gpu_oom oom;

	if (own_request_open(exchange, &request, err) < 0)
		return -1;
	gpu_question_init(&question, &request.context);
	if (gpu_ooms_find(&question, id, &oom, err) < 0)
		return -1;
	gpu_json_oom(&oom, &exchange->response.body);
	return 0;
}

enum exchange_state serve_gpu_oom(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, show_oom(exchange, &err), &err);
}

/* ---- growth ---- */

static int list_growth(struct exchange *exchange, struct error *err)
{
	CLEANUP(gpu_question_fini) struct gpu_question question = { 0 };
	struct gpu_growth growth;
	struct own_request request;
	size_t limit;

	if (own_request_open(exchange, &request, err) < 0 ||
	    own_request_count(&request, "limit", GROWTH_DEFAULT, GROWTH_MAX, &limit, err) < 0 ||
	    gpu_request_question(&request, "until", &question, err) < 0 ||
	    gpu_growth_list(&question, own_request_text(&request, "process"), limit, &growth, err) <
	            0)
		return -1;
	gpu_json_growth(&growth, &exchange->response.body);
	return 0;
}

enum exchange_state serve_gpu_growth(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, list_growth(exchange, &err), &err);
}
