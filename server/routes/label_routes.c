/*
 * querier.v1: ProfileTypes, LabelNames, LabelValues, Series.
 *
 * Source   read specification, 3.5 and 3.6
 */
#include "api/proto_bytes.h"
#include "base/clock.h"
#include "server/query/label_listing.h"
#include "server/routes/handlers.h"
#include "server/routes/read_query_request.h"

#define HOUR_MS INT64_C(3600000)

static enum label_names_shown names_shown(const struct connect_call *call)
{
	return call->utf8_label_names ? LABEL_NAMES_ALL : LABEL_NAMES_LEGACY;
}

/* The range of a listing. */
static int open_listing(struct exchange *exchange, int64_t start_ms, int64_t end_ms,
                        struct read_query *query, struct error *err)
{
	struct read_query_context context;

	if (read_query_context_of(exchange, &context, err) < 0)
		return -1;
	read_query_init(query, &context);
	return read_query_set_range(query, start_ms, end_ms, err);
}

/* ANDs the matchers together; `wrapping` stands before what the parser says. */
static int add_matchers(struct read_query *query, const ProtobufCBinaryData *matchers, size_t count,
                        const char *wrapping, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		const struct str text = proto_str(matchers[i]);

		if (selector_parse(&query->selector, text, err) < 0)
			return error_context(err, "%sfailed to parse label selector \"%.*s\"",
			                     wrapping, STR_ARGS(str_first(text, 200)));
	}
	return 0;
}

/*
 * Messages that point at `items`, and the list of pointers to them that the library
 * wants.
 */
static int make_names(const struct text_listing *listing, struct arena *arena,
                      ProtobufCBinaryData **out, struct error *err)
{
	ProtobufCBinaryData *names = arena_array(arena, listing->count + 1, sizeof(*names));

	if (!names)
		return arena_error(arena, err);
	for (size_t i = 0; i < listing->count; i++)
		names[i] = proto_bytes(listing->texts[i]);
	*out = names;
	return 0;
}

/* ---- ProfileTypes ---- */

static void set_profile_type(struct str id, const struct profile_type *type,
                             Types__V1__ProfileType *out)
{
	types__v1__profile_type__init(out);
	out->id = proto_bytes(id);
	out->name = proto_bytes(type->name);
	out->sample_type = proto_bytes(type->sample_type);
	out->sample_unit = proto_bytes(type->sample_unit);
	out->period_type = proto_bytes(type->period_type);
	out->period_unit = proto_bytes(type->period_unit);
}

static int make_profile_types(const struct text_listing *ids, struct arena *arena,
                              Querier__V1__ProfileTypesResponse *out, struct error *err)
{
	Types__V1__ProfileType *types = arena_array(arena, ids->count + 1, sizeof(*types));

	out->profile_types = arena_array(arena, ids->count + 1, sizeof(*out->profile_types));
	if (!types || !out->profile_types)
		return arena_error(arena, err);
	for (size_t i = 0; i < ids->count; i++) {
		struct error ignored;
		struct profile_type type;

		if (profile_type_parse(ids->texts[i], &type, &ignored) < 0)
			continue;
		set_profile_type(ids->texts[i], &type, &types[i]);
		out->profile_types[out->n_profile_types++] = &types[i];
	}
	return 0;
}

static int list_profile_types(struct exchange *exchange,
                              const Querier__V1__ProfileTypesRequest *request,
                              Querier__V1__ProfileTypesResponse *out, struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	const int64_t now_ms = clock_unix_ns() / NS_PER_MS;
	const bool no_range = request->start == 0 && request->end == 0;
	struct text_listing ids;

	if (open_listing(exchange, no_range ? now_ms - HOUR_MS : request->start,
	                 no_range ? now_ms : request->end, &query, err) < 0 ||
	    label_listing_values(&query, STR("__profile_type__"), &ids, err) < 0)
		return -1;
	return make_profile_types(&ids, exchange->arena, out, err);
}

enum exchange_state serve_profile_types(struct exchange *exchange)
{
	struct connect_call call;
	const ProtobufCMessage *message =
		rpc_read(exchange, &call, &querier__v1__profile_types_request__descriptor);
	Querier__V1__ProfileTypesResponse response = QUERIER__V1__PROFILE_TYPES_RESPONSE__INIT;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (list_profile_types(exchange, (const void *)message, &response, &err) < 0)
		return rpc_fail(exchange, &err);
	connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

/* ---- LabelNames ---- */

static int list_names(struct exchange *exchange, const struct connect_call *call,
                      const Types__V1__LabelNamesRequest *request,
                      Types__V1__LabelNamesResponse *out, struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	struct text_listing names;

	if (open_listing(exchange, request->start, request->end, &query, err) < 0 ||
	    add_matchers(&query, request->matchers, request->n_matchers,
	                 "parsing label selector: ", err) < 0 ||
	    label_listing_names(&query, names_shown(call), &names, err) < 0)
		return -1;
	out->n_names = names.count;
	return make_names(&names, exchange->arena, &out->names, err);
}

enum exchange_state serve_label_names(struct exchange *exchange)
{
	struct connect_call call;
	const ProtobufCMessage *message =
		rpc_read(exchange, &call, &types__v1__label_names_request__descriptor);
	Types__V1__LabelNamesResponse response = TYPES__V1__LABEL_NAMES_RESPONSE__INIT;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &call))
		return EXCHANGE_PENDING;
	if (list_names(exchange, &call, (const void *)message, &response, &err) < 0)
		return rpc_fail(exchange, &err);
	connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

/* ---- LabelValues ---- */

static int list_values(struct exchange *exchange, const Types__V1__LabelValuesRequest *request,
                       Types__V1__LabelValuesResponse *out, struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	struct text_listing values;

	if (open_listing(exchange, request->start, request->end, &query, err) < 0)
		return -1;
	if (request->name.len == 0)
		return error_set(err, ERROR_INVALID, "name is required");
	if (add_matchers(&query, request->matchers, request->n_matchers,
	                 "parsing label selector: ", err) < 0 ||
	    label_listing_values(&query, proto_str(request->name), &values, err) < 0)
		return -1;
	out->n_names = values.count;
	return make_names(&values, exchange->arena, &out->names, err);
}

enum exchange_state serve_label_values(struct exchange *exchange)
{
	struct connect_call call;
	const ProtobufCMessage *message =
		rpc_read(exchange, &call, &types__v1__label_values_request__descriptor);
	Types__V1__LabelValuesResponse response = TYPES__V1__LABEL_VALUES_RESPONSE__INIT;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &call))
		return EXCHANGE_PENDING;
	if (list_values(exchange, (const void *)message, &response, &err) < 0)
		return rpc_fail(exchange, &err);
	connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}

/* ---- Series ---- */

static int make_labels(const struct label_set *set, struct arena *arena, Types__V1__Labels *out,
                       struct error *err)
{
	Types__V1__LabelPair *pairs = arena_array(arena, set->count + 1, sizeof(*pairs));

	types__v1__labels__init(out);
	out->labels = arena_array(arena, set->count + 1, sizeof(*out->labels));
	if (!pairs || !out->labels)
		return arena_error(arena, err);
	for (size_t i = 0; i < set->count; i++) {
		types__v1__label_pair__init(&pairs[i]);
		pairs[i].name = proto_bytes(set->labels[i].name);
		pairs[i].value = proto_bytes(set->labels[i].value);
		out->labels[i] = &pairs[i];
	}
	out->n_labels = set->count;
	return 0;
}

static int make_sets(const struct set_listing *sets, struct arena *arena,
                     Querier__V1__SeriesResponse *out, struct error *err)
{
	Types__V1__Labels *labels = arena_array(arena, sets->count + 1, sizeof(*labels));

	out->labels_set = arena_array(arena, sets->count + 1, sizeof(*out->labels_set));
	if (!labels || !out->labels_set)
		return arena_error(arena, err);
	for (size_t i = 0; i < sets->count; i++) {
		if (make_labels(&sets->sets[i], arena, &labels[i], err) < 0)
			return -1;
		out->labels_set[i] = &labels[i];
	}
	out->n_labels_set = sets->count;
	return 0;
}

static int list_series(struct exchange *exchange, const struct connect_call *call,
                       const Querier__V1__SeriesRequest *request, Querier__V1__SeriesResponse *out,
                       struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	struct set_listing sets;
	struct str *names;

	if (open_listing(exchange, request->start, request->end, &query, err) < 0 ||
	    add_matchers(&query, request->matchers, request->n_matchers, "", err) < 0 ||
	    read_query_label_names(request->label_names, request->n_label_names, exchange->arena,
	                           &names, err) < 0 ||
	    label_listing_sets(&query, names, request->n_label_names, names_shown(call), &sets,
	                       err) < 0)
		return -1;
	return make_sets(&sets, exchange->arena, out, err);
}

enum exchange_state serve_series(struct exchange *exchange)
{
	struct connect_call call;
	const ProtobufCMessage *message =
		rpc_read(exchange, &call, &querier__v1__series_request__descriptor);
	Querier__V1__SeriesResponse response = QUERIER__V1__SERIES_RESPONSE__INIT;
	struct error err = { 0 };

	if (!message)
		return EXCHANGE_DONE;
	if (rpc_share(exchange, &call))
		return EXCHANGE_PENDING;
	if (list_series(exchange, &call, (const void *)message, &response, &err) < 0)
		return rpc_fail(exchange, &err);
	connect_write(&call, &response.base, &exchange->response);
	return EXCHANGE_DONE;
}
