/*
 * querier.v1: SelectMergeStacktraces, SelectMergeSpanProfile, SelectMergeProfile.
 *
 * Source   read specification, 3.7, 3.8 and 3.10
 */
#include "api/merge_answer.h"
#include "api/proto_bytes.h"
#include "server/app.h"
#include "server/query/read_query_graph.h"
#include "server/routes/handlers.h"
#include "server/routes/read_query_request.h"

typedef Querier__V1__SelectMergeStacktracesRequest stacktraces_request;

/* A request while it is answered. */
struct merging {
	struct exchange *exchange;
	struct connect_call call;
	const stacktraces_request *request;
	struct read_query query;
};

static int open_query(struct merging *merging, struct error *err)
{
	struct read_query_context context;

	if (read_query_context_of(merging->exchange, &context, err) < 0)
		return -1;
	read_query_init(&merging->query, &context);
	return read_query_set_range(&merging->query, merging->request->start, merging->request->end,
	                            err);
}

/* The type, the selector and the filters, in this order. */
static int set_what(struct merging *merging, struct error *err)
{
	const stacktraces_request *request = merging->request;
	struct read_query *query = &merging->query;

	if (read_query_set_type(query, proto_str(request->profile_typeid), err) < 0 ||
	    read_query_set_selector(query, proto_str(request->label_selector), err) < 0 ||
	    read_query_set_call_site(query, request->stack_trace_selector, err) < 0 ||
	    read_query_set_profile_ids(query, request->profile_id_selector,
	                               request->n_profile_id_selector, err) < 0 ||
	    read_query_set_trace_ids(query, request->trace_id_selector,
	                             request->n_trace_id_selector, err) < 0 ||
	    read_query_set_span_ids(query, request->span_selector, request->n_span_selector, err) <
	            0)
		return -1;
	return 0;
}

/* A graph or a tree: the formats that are cut. */
static int prepare_cut(struct merging *merging, struct graph_cut *cut, struct error *err)
{
	cut->requested = merging->request->max_nodes;
	if (open_query(merging, err) < 0 ||
	    read_query_max_nodes(limits_get(merging->exchange->app), cut->requested, &cut->nodes,
	                         err) < 0)
		return -1;
	return set_what(merging, err);
}

static int answer_graph(struct merging *merging, struct error *err)
{
	struct graph_cut cut;
	struct flame_graph graph;

	if (prepare_cut(merging, &cut, err) < 0 ||
	    read_query_run_graph(&merging->query, &cut, &graph, err) < 0)
		return -1;
	merge_answer_graph(&merging->call, &graph, merging->exchange->arena,
	                   &merging->exchange->response);
	return 0;
}

static int answer_tree(struct merging *merging, struct error *err)
{
	struct graph_cut cut;
	struct function_tree *tree;
	struct strbuf bytes;

	if (prepare_cut(merging, &cut, err) < 0 ||
	    read_query_run_tree(&merging->query, cut.nodes, &tree, err) < 0)
		return -1;
	strbuf_init(&bytes, merging->exchange->response.body.limit);
	function_tree_encode(tree, &bytes);
	merging->exchange->response.body.overflowed |= strbuf_overflowed(&bytes);
	merge_answer_tree(&merging->call, strbuf_view(&bytes), &merging->exchange->response);
	strbuf_fini(&bytes);
	return 0;
}

static int answer_dot(struct merging *merging, struct error *err)
{
	struct strbuf text;
	int status;

	if (open_query(merging, err) < 0 || set_what(merging, err) < 0)
		return -1;
	strbuf_init(&text, merging->exchange->response.body.limit);
	status = read_query_run_dot(&merging->query, merging->request->max_nodes, &text, err);
	if (status == 0) {
		merging->exchange->response.body.overflowed |= strbuf_overflowed(&text);
		merge_answer_dot(&merging->call, strbuf_view(&text), &merging->exchange->response);
	}
	strbuf_fini(&text);
	return status;
}

/* The profile, whole unless the request says how many nodes. */
static int run_profile(struct merging *merging, struct profile *out, struct error *err)
{
	const Types__V1__StackTraceSelector *stacks = merging->request->stack_trace_selector;
	const Types__V1__GoPGO *wanted = stacks ? stacks->go_pgo : NULL;
	const struct go_pgo_options options = {
		.keep_locations = wanted ? wanted->keep_locations : 0,
		.aggregate_callees = wanted && wanted->aggregate_callees,
	};

	if (open_query(merging, err) < 0 || set_what(merging, err) < 0)
		return -1;
	if (wanted)
		merging->query.filter.call_site_count = 0; /* it has no effect then */
	return read_query_run_profile(&merging->query, merging->request->max_nodes,
	                              wanted ? &options : NULL, out, err);
}

static int answer_pprof(struct merging *merging, struct error *err)
{
	struct profile profile;

	if (run_profile(merging, &profile, err) < 0)
		return -1;
	merge_answer_pprof(&merging->call, &profile, &merging->exchange->response);
	return 0;
}

static int answer_profile(struct merging *merging, struct error *err)
{
	struct profile profile;

	if (run_profile(merging, &profile, err) < 0)
		return -1;
	merge_answer_profile(&merging->call, &profile, &merging->exchange->response);
	return 0;
}

static int answer_stacktraces(struct merging *merging, struct error *err)
{
	const stacktraces_request *request = merging->request;

	if (request->n_span_selector > 0 && request->n_trace_id_selector > 0)
		return error_set(err, ERROR_INVALID,
		                 "span_selector and trace_id_selector cannot be combined");
	switch ((int)request->format) {
	case QUERIER__V1__PROFILE_FORMAT__PROFILE_FORMAT_TREE:
		return answer_tree(merging, err);
	case QUERIER__V1__PROFILE_FORMAT__PROFILE_FORMAT_DOT:
		return answer_dot(merging, err);
	case QUERIER__V1__PROFILE_FORMAT__PROFILE_FORMAT_PPROF:
		return answer_pprof(merging, err);
	default:
		return answer_graph(merging, err);
	}
}

static int answer_spans(struct merging *merging, struct error *err)
{
	if ((int)merging->request->format == QUERIER__V1__PROFILE_FORMAT__PROFILE_FORMAT_TREE)
		return answer_tree(merging, err);
	return answer_graph(merging, err);
}

static enum exchange_state answer(struct merging *merging,
                                  int (*run)(struct merging *merging, struct error *err))
{
	struct error err = { 0 };

	if (run(merging, &err) < 0)
		connect_fail(&err, &merging->exchange->response);
	read_query_fini(&merging->query);
	return EXCHANGE_DONE;
}

enum exchange_state serve_select_merge_stacktraces(struct exchange *exchange)
{
	struct merging merging = { .exchange = exchange };
	const ProtobufCMessage *message =
		rpc_read(exchange, &merging.call,
	                 &querier__v1__select_merge_stacktraces_request__descriptor);

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &merging.call))
		return EXCHANGE_PENDING;
	merging.request = (const void *)message;
	return answer(&merging, answer_stacktraces);
}

enum exchange_state serve_select_merge_span_profile(struct exchange *exchange)
{
	struct merging merging = { .exchange = exchange };
	stacktraces_request alike = QUERIER__V1__SELECT_MERGE_STACKTRACES_REQUEST__INIT;
	const ProtobufCMessage *message =
		rpc_read(exchange, &merging.call,
	                 &querier__v1__select_merge_span_profile_request__descriptor);
	const Querier__V1__SelectMergeSpanProfileRequest *request = (const void *)message;

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &merging.call))
		return EXCHANGE_PENDING;
	alike.profile_typeid = request->profile_typeid;
	alike.label_selector = request->label_selector;
	alike.start = request->start;
	alike.end = request->end;
	alike.max_nodes = request->max_nodes;
	alike.format = request->format;
	alike.n_span_selector = request->n_span_selector;
	alike.span_selector = request->span_selector;
	merging.request = &alike;
	return answer(&merging, answer_spans);
}

enum exchange_state serve_select_merge_profile(struct exchange *exchange)
{
	struct merging merging = { .exchange = exchange };
	stacktraces_request alike = QUERIER__V1__SELECT_MERGE_STACKTRACES_REQUEST__INIT;
	const ProtobufCMessage *message = rpc_read(
		exchange, &merging.call, &querier__v1__select_merge_profile_request__descriptor);
	const Querier__V1__SelectMergeProfileRequest *request = (const void *)message;

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &merging.call))
		return EXCHANGE_PENDING;
	alike.profile_typeid = request->profile_typeid;
	alike.label_selector = request->label_selector;
	alike.start = request->start;
	alike.end = request->end;
	alike.max_nodes = request->max_nodes;
	alike.stack_trace_selector = request->stack_trace_selector;
	alike.n_profile_id_selector = request->n_profile_id_selector;
	alike.profile_id_selector = request->profile_id_selector;
	alike.n_trace_id_selector = request->n_trace_id_selector;
	alike.trace_id_selector = request->trace_id_selector;
	merging.request = &alike;
	return answer(&merging, answer_profile);
}
