/*
 * querier.v1: Diff.
 *
 * Source   read specification, 3.9
 */
#include "api/merge_answer.h"
#include "api/proto_bytes.h"
#include "server/app.h"
#include "server/query/read_query_graph.h"
#include "server/routes/handlers.h"
#include "server/routes/read_query_request.h"

typedef Querier__V1__SelectMergeStacktracesRequest side_request;

/* What a side of its own would be refused for. */
static int set_side(struct read_query *query, const side_request *side, struct error *err)
{
	if (read_query_set_range(query, side->start, side->end, err) < 0 ||
	    read_query_set_selector(query, proto_str(side->label_selector), err) < 0 ||
	    read_query_set_call_site(query, side->stack_trace_selector, err) < 0 ||
	    read_query_set_profile_ids(query, side->profile_id_selector,
	                               side->n_profile_id_selector, err) < 0 ||
	    read_query_set_trace_ids(query, side->trace_id_selector, side->n_trace_id_selector,
	                             err) < 0 ||
	    read_query_set_span_ids(query, side->span_selector, side->n_span_selector, err) < 0)
		return -1;
	return 0;
}

static int run_diff(struct exchange *exchange, const side_request *sides[2],
                    struct read_query queries[2], struct flame_graph *out, struct error *err)
{
	const int64_t most = sides[0]->max_nodes > sides[1]->max_nodes ? sides[0]->max_nodes
	                                                               : sides[1]->max_nodes;
	struct read_query_context context;
	int64_t nodes;

	if (read_query_context_of(exchange, &context, err) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++) {
		read_query_init(&queries[i], &context);
		if (read_query_set_type(&queries[i], proto_str(sides[i]->profile_typeid), err) < 0)
			return -1;
	}
	if (read_query_max_nodes(context.limits, most, &nodes, err) < 0)
		return -1;
	for (size_t i = 0; i < 2; i++)
		if (set_side(&queries[i], sides[i], err) < 0)
			return error_context(err, "%s", error_connect_name(err->code));
	return read_query_run_diff(&queries[0], &queries[1], nodes, out, err);
}

enum exchange_state serve_diff(struct exchange *exchange)
{
	static const side_request absent = QUERIER__V1__SELECT_MERGE_STACKTRACES_REQUEST__INIT;
	struct connect_call call;
	const ProtobufCMessage *message =
		rpc_read(exchange, &call, &querier__v1__diff_request__descriptor);
	const Querier__V1__DiffRequest *request = (const void *)message;
	struct read_query queries[2] = { 0 };
	struct flame_graph graph;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &call))
		return EXCHANGE_PENDING;
	if (run_diff(exchange,
	             (const side_request *[2]){ request->left ? request->left : &absent,
	                                        request->right ? request->right : &absent },
	             queries, &graph, &err) < 0)
		connect_fail(&err, &exchange->response);
	else
		merge_answer_graph(&call, &graph, exchange->arena, &exchange->response);
	read_query_fini(&queries[0]);
	read_query_fini(&queries[1]);
	return EXCHANGE_DONE;
}
