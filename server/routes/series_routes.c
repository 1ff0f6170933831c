/*
 * querier.v1: SelectSeries, SelectHeatmap.
 *
 * Source   read specification, 3.12 and 3.13
 */
#include "api/proto_bytes.h"
#include "api/series_answer.h"
#include "server/query/series_query.h"
#include "server/routes/handlers.h"
#include "server/routes/read_query_request.h"

/* ---- SelectSeries ---- */

static int check_exemplars(Types__V1__ExemplarType type, bool *out, struct error *err)
{
	switch ((int)type) {
	case TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_UNSPECIFIED:
	case TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_NONE:
		*out = false;
		return 0;
	case TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_INDIVIDUAL:
		*out = true;
		return 0;
	case TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_SPAN:
		return error_set(err, ERROR_UNIMPLEMENTED, "exemplar type span is not implemented");
	default:
		return error_set(err, ERROR_INVALID, "unknown exemplar type: %d", (int)type);
	}
}

static enum series_aggregation aggregation_of(const Querier__V1__SelectSeriesRequest *request)
{
	if (request->aggregation_presence_case !=
	    QUERIER__V1__SELECT_SERIES_REQUEST__AGGREGATION_PRESENCE_AGGREGATION)
		return SERIES_AGGREGATION_UNSAID;
	return (int)request->aggregation ==
	                       TYPES__V1__TIME_SERIES_AGGREGATION_TYPE__TIME_SERIES_AGGREGATION_TYPE_AVERAGE
	               ? SERIES_AGGREGATION_AVERAGE
	               : SERIES_AGGREGATION_SUM;
}

static int run_series(struct exchange *exchange, const Querier__V1__SelectSeriesRequest *request,
                      struct time_series_result *out, struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	struct time_series_options options = {
		.group_by_count = request->n_group_by,
		.limit = request->limit,
	};
	struct read_query_context context;
	struct str *group_by;

	if (read_query_context_of(exchange, &context, err) < 0)
		return -1;
	read_query_init(&query, &context);
	if (read_query_set_range(&query, request->start, request->end, err) < 0 ||
	    read_query_set_type(&query, proto_str(request->profile_typeid), err) < 0)
		return -1;
	if (!series_step_ms(request->step, &options.step_ms))
		return error_set(err, ERROR_INVALID, "step must be >= 1ms");
	if (read_query_set_selector(&query, proto_str(request->label_selector), err) < 0 ||
	    check_exemplars(request->exemplar_type, &options.exemplars, err) < 0 ||
	    read_query_label_names(request->group_by, request->n_group_by, exchange->arena,
	                           &group_by, err) < 0)
		return -1;
	options.group_by = group_by;
	return read_query_run_series(&query, &options, aggregation_of(request), out, err);
}

enum exchange_state serve_select_series(struct exchange *exchange)
{
	struct connect_call call;
	const ProtobufCMessage *message =
		rpc_read(exchange, &call, &querier__v1__select_series_request__descriptor);
	struct time_series_result result;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &call))
		return EXCHANGE_PENDING;
	if (run_series(exchange, (const void *)message, &result, &err) < 0)
		return rpc_fail(exchange, &err);
	series_answer(&call, &result, &exchange->response);
	return EXCHANGE_DONE;
}

/* ---- SelectHeatmap ---- */

/* What is checked before the range is. */
static int check_heatmap(const Querier__V1__SelectHeatmapRequest *request, int64_t *out_step_ms,
                         struct error *err)
{
	if (!series_step_ms(request->step, out_step_ms))
		return error_set(err, ERROR_INVALID, "step must be >= 1ms, got %f", request->step);
	if (request->limit < 0)
		return error_set(err, ERROR_INVALID, "limit must be non-negative, got %lld",
		                 (long long)request->limit);
	if (request->start >= request->end)
		return error_set(err, ERROR_INVALID,
		                 "start time must be before end time, got start=%lld end=%lld",
		                 (long long)request->start, (long long)request->end);
	return 0;
}

/* What the points are and whether cells have exemplars; the two must fit. */
static int check_kinds(const Querier__V1__SelectHeatmapRequest *request,
                       enum heatmap_source *out_source, bool *out_exemplars, struct error *err)
{
	const int query_type = (int)request->query_type;
	const int exemplars = (int)request->exemplar_type;
	const bool individual = query_type ==
	                        QUERIER__V1__HEATMAP_QUERY_TYPE__HEATMAP_QUERY_TYPE_INDIVIDUAL;
	const bool span = query_type == QUERIER__V1__HEATMAP_QUERY_TYPE__HEATMAP_QUERY_TYPE_SPAN;

	if (!individual && !span)
		return error_set(err, ERROR_INVALID, "valid heatmap query type must be specified");
	if (exemplars < TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_UNSPECIFIED ||
	    exemplars > TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_SPAN)
		return error_set(err, ERROR_INVALID, "unknown exemplar type: %d", exemplars);
	if (exemplars == TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_INDIVIDUAL && !individual)
		return error_set(err, ERROR_INVALID,
		                 "individual exemplars only available for individual query type");
	if (exemplars == TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_SPAN && !span)
		return error_set(err, ERROR_INVALID,
		                 "span exemplars only available for span query type");
	*out_source = span ? HEATMAP_SPANS : HEATMAP_PROFILES;
	*out_exemplars = exemplars >= TYPES__V1__EXEMPLAR_TYPE__EXEMPLAR_TYPE_INDIVIDUAL;
	return 0;
}

static int run_heatmap(struct exchange *exchange, const Querier__V1__SelectHeatmapRequest *request,
                       struct heatmap_result *out, struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	struct heatmap_options options = {
		.group_by_count = request->n_group_by,
		.limit = request->limit,
	};
	struct read_query_context context;
	enum heatmap_source source = HEATMAP_PROFILES;
	struct str *group_by;

	if (check_heatmap(request, &options.step_ms, err) < 0 ||
	    read_query_context_of(exchange, &context, err) < 0)
		return -1;
	read_query_init(&query, &context);
	if (read_query_set_range(&query, request->start, request->end, err) < 0 ||
	    read_query_set_type(&query, proto_str(request->profile_typeid), err) < 0 ||
	    read_query_set_selector(&query, proto_str(request->label_selector), err) < 0 ||
	    check_kinds(request, &source, &options.exemplars, err) < 0 ||
	    read_query_label_names(request->group_by, request->n_group_by, exchange->arena,
	                           &group_by, err) < 0)
		return -1;
	options.group_by = group_by;
	return read_query_run_heatmap(&query, &options, source, out, err);
}

enum exchange_state serve_select_heatmap(struct exchange *exchange)
{
	struct connect_call call;
	const ProtobufCMessage *message =
		rpc_read(exchange, &call, &querier__v1__select_heatmap_request__descriptor);
	struct heatmap_result result;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &call))
		return EXCHANGE_PENDING;
	if (run_heatmap(exchange, (const void *)message, &result, &err) < 0)
		return rpc_fail(exchange, &err);
	heatmap_answer(&call, &result, &exchange->response);
	return EXCHANGE_DONE;
}
