/*
 * /pyroscope/render, /pyroscope/render-diff, /pyroscope/label-values.
 *
 * Source   read specification, 4
 */
#include "api/legacy_render.h"
#include "base/clock.h"
#include "base/url.h"
#include "profile/time_syntax.h"
#include "server/app.h"
#include "server/query/read_query_graph.h"
#include "server/query/series_query.h"
#include "server/routes/handlers.h"
#include "server/routes/read_query_request.h"

/* A request's parameters and who asks. */
struct legacy_request {
	struct exchange *exchange;
	struct url_query parameters;
	struct read_query_context context;
};

static int open_request(struct legacy_request *request, struct exchange *exchange,
                        struct error *err)
{
	request->exchange = exchange;
	if (url_query_parse(exchange->request.query, exchange->arena, &request->parameters, err) <
	    0)
		return -1;
	return read_query_context_of(exchange, &request->context, err);
}

static struct str parameter(const struct legacy_request *request, const char *name)
{
	const struct str *value = url_query_find(&request->parameters, name);

	return value ? *value : STR("");
}

/* Nanoseconds as milliseconds, rounded down. */
static int64_t parameter_time_ms(const struct legacy_request *request, const char *name)
{
	const int64_t ns = time_syntax_parse(parameter(request, name), request->context.now_unix_ns,
	                                     TIME_SYNTAX_RFC3339);

	return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

/*
 * The nodes that are asked for: maxNodes before max-nodes; what is no number is not
 * there.
 */
static int64_t parameter_nodes(const struct legacy_request *request)
{
	int64_t nodes;

	if (str_to_i64(parameter(request, "maxNodes"), &nodes) && nodes != 0)
		return nodes;
	return str_to_i64(parameter(request, "max-nodes"), &nodes) ? nodes : 0;
}

/* One side: the query parameter and the range parameters of that name. */
struct legacy_side {
	struct selector selector;
	struct str type;
	int64_t start_ms;
	int64_t end_ms;
};

static void legacy_side_fini(struct legacy_side *side)
{
	selector_fini(&side->selector);
}

static int read_side(const struct legacy_request *request, const char *query, const char *from,
                     const char *until, struct legacy_side *out, struct error *err)
{
	selector_init(&out->selector, request->context.arena);
	if (read_query_typed_selector(parameter(request, query), query, &out->selector, &out->type,
	                              err) < 0)
		return -1;
	out->start_ms = parameter_time_ms(request, from);
	out->end_ms = parameter_time_ms(request, until);
	return 0;
}

/* Puts a side into a query; the selector moves. */
static int set_side(struct read_query *query, struct legacy_side *side, struct error *err)
{
	if (read_query_set_range(query, side->start_ms, side->end_ms, err) < 0 ||
	    read_query_set_type(query, side->type, err) < 0)
		return -1;
	return read_query_take_selector(query, &side->selector, err);
}

static void answer_json(struct exchange *exchange)
{
	http_response_header(&exchange->response, "Content-Type", STR("application/json"));
	http_compress_response(&exchange->request, &exchange->response);
}

static enum exchange_state finish(struct exchange *exchange, int status, struct error *err)
{
	if (status == 0 && strbuf_overflowed(&exchange->response.body))
		status = error_set(err, ERROR_TOO_LARGE, "the answer is larger than %zu bytes",
		                   exchange->response.body.limit);
	if (status < 0)
		error_json_connect(err, &exchange->response);
	return EXCHANGE_DONE;
}

/* ---- render ---- */

/* Values of the parameter groupBy, in their order. */
static int read_group_by(const struct legacy_request *request, struct time_series_options *options,
                         struct error *err)
{
	struct str *names =
		arena_array(request->context.arena, request->parameters.count + 1, sizeof(*names));

	if (!names)
		return arena_error(request->context.arena, err);
	for (size_t i = 0; i < request->parameters.count; i++)
		if (str_equals(request->parameters.pairs[i].name, "groupBy"))
			names[options->group_by_count++] = request->parameters.pairs[i].value;
	options->group_by = names;
	return 0;
}

static enum series_aggregation read_aggregation(const struct legacy_request *request)
{
	const struct str text = parameter(request, "aggregation");

	if (str_equals(text, "avg"))
		return SERIES_AGGREGATION_AVERAGE;
	return str_equals(text, "sum") ? SERIES_AGGREGATION_SUM : SERIES_AGGREGATION_UNSAID;
}

/* A timeline is of the range that was asked for, whatever the lookback made of it. */
static struct legacy_grid grid_of(const struct legacy_side *side)
{
	return (struct legacy_grid){
		.start_ms = side->start_ms,
		.end_ms = side->end_ms,
		.step_s = legacy_timeline_step_s(side->start_ms, side->end_ms),
	};
}

/* The timelines of a document, made of the series that the query gives. */
static int add_timelines(const struct legacy_request *request, const struct legacy_grid *grid,
                         struct read_query *query, struct legacy_timeline *timeline,
                         struct legacy_document *document, struct error *err)
{
	struct time_series_options options = { .step_ms = grid->step_s * 1000 };
	struct arena *arena = request->context.arena;
	struct time_series_result series;
	struct legacy_group *groups;

	if (read_group_by(request, &options, err) < 0 ||
	    read_query_run_series(query, &options, read_aggregation(request), &series, err) < 0 ||
	    legacy_timeline_make(grid, series.count == 1 ? &series.groups[0] : NULL, arena,
	                         timeline, err) < 0)
		return -1;
	document->timeline = timeline;
	if (options.group_by_count == 0)
		return 0;
	if (legacy_groups_make(grid, &series, options.group_by[0], arena, &groups,
	                       &document->group_count, err) < 0)
		return -1;
	document->groups = groups;
	return 0;
}

static int render_json(const struct legacy_request *request, const struct legacy_grid *grid,
                       struct read_query *query, const struct graph_cut *cut, struct error *err)
{
	struct legacy_document document = { .type = &query->type };
	struct legacy_timeline timeline;
	struct flame_graph graph;

	if (read_query_run_graph(query, cut, &graph, err) < 0 ||
	    add_timelines(request, grid, query, &timeline, &document, err) < 0)
		return -1;
	document.graph = &graph;
	legacy_document_write(&document, &request->exchange->response.body);
	answer_json(request->exchange);
	return 0;
}

static int render_dot(const struct legacy_request *request, struct read_query *query, int64_t nodes,
                      struct error *err)
{
	struct http_response *response = &request->exchange->response;

	if (read_query_run_dot(query, nodes, &response->body, err) < 0)
		return -1;
	http_response_header(response, "Content-Type",
	                     response->body.length > 0 ? STR("text/plain; charset=utf-8")
	                                               : STR("text/plain"));
	http_compress_response(&request->exchange->request, response);
	return 0;
}

static int render(struct exchange *exchange, struct error *err)
{
	CLEANUP(legacy_side_fini) struct legacy_side side = { 0 };
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	struct legacy_request request;
	struct legacy_grid grid;
	struct graph_cut cut;
	bool is_dot;

	if (open_request(&request, exchange, err) < 0 ||
	    read_side(&request, "query", "from", "until", &side, err) < 0)
		return -1;
	is_dot = str_equals(parameter(&request, "format"), "dot");
	cut.requested = parameter_nodes(&request);
	grid = grid_of(&side);
	read_query_init(&query, &request.context);
	if (read_query_set_range(&query, side.start_ms, side.end_ms, err) < 0)
		return -1;
	if (!is_dot &&
	    read_query_max_nodes(request.context.limits, cut.requested, &cut.nodes, err) < 0)
		return -1;
	if (set_side(&query, &side, err) < 0)
		return -1;
	return is_dot ? render_dot(&request, &query, cut.requested, err)
	              : render_json(&request, &grid, &query, &cut, err);
}

enum exchange_state serve_render(struct exchange *exchange)
{
	struct error err = { 0 };

	return finish(exchange, render(exchange, &err), &err);
}

/* ---- render-diff ---- */

/* Two sides, their selectors still their own or moved into the queries. */
struct legacy_diff {
	struct legacy_side sides[2];
	struct read_query queries[2];
};

static void legacy_diff_fini(struct legacy_diff *diff)
{
	for (size_t i = 0; i < 2; i++) {
		legacy_side_fini(&diff->sides[i]);
		read_query_fini(&diff->queries[i]);
	}
}

static int render_diff(struct exchange *exchange, struct error *err)
{
	CLEANUP(legacy_diff_fini) struct legacy_diff diff = { 0 };
	struct legacy_document document = { .type = &diff.queries[0].type };
	struct legacy_request request;
	struct flame_graph graph;
	int64_t nodes;

	if (open_request(&request, exchange, err) < 0 ||
	    read_side(&request, "leftQuery", "leftFrom", "leftUntil", &diff.sides[0], err) < 0 ||
	    read_side(&request, "rightQuery", "rightFrom", "rightUntil", &diff.sides[1], err) < 0)
		return -1;
	if (!str_equal(diff.sides[0].type, diff.sides[1].type))
		return error_set(err, ERROR_INVALID, "profile types must match");
	if (read_query_max_nodes(request.context.limits, parameter_nodes(&request), &nodes, err) <
	    0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		read_query_init(&diff.queries[i], &request.context);
		if (set_side(&diff.queries[i], &diff.sides[i], err) < 0)
			return -1;
	}
	if (read_query_run_diff(&diff.queries[0], &diff.queries[1], nodes, &graph, err) < 0)
		return -1;
	document.graph = &graph;
	legacy_document_write(&document, &exchange->response.body);
	answer_json(exchange);
	return 0;
}

enum exchange_state serve_render_diff(struct exchange *exchange)
{
	struct error err = { 0 };

	return finish(exchange, render_diff(exchange, &err), &err);
}
