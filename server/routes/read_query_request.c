#include "server/routes/read_query_request.h"

#include "api/proto_bytes.h"
#include "base/clock.h"
#include "base/url.h"
#include "server/app.h"
#include "server/options.h"

ProtobufCMessage *rpc_read(struct exchange *exchange, struct connect_call *call,
                           const ProtobufCMessageDescriptor *descriptor)
{
	ProtobufCMessage *message;
	struct error err = { 0 };

	if (!rpc_begin(exchange, call))
		return NULL;
	if (connect_read(call, descriptor, exchange->arena, &message, &err) < 0) {
		connect_fail(&err, &exchange->response);
		return NULL;
	}
	return rpc_take_tenant(exchange) ? message : NULL;
}

enum exchange_state rpc_fail(struct exchange *exchange, const struct error *err)
{
	connect_fail(err, &exchange->response);
	return EXCHANGE_DONE;
}

/* The request's own instant=, or what the options say. */
static int read_instant(struct exchange *exchange, enum profile_merge *out, struct error *err)
{
	struct url_query query;
	const struct str *text;

	*out = exchange->app->instant;
	if (exchange->request.query.length == 0)
		return 0;
	if (url_query_parse(exchange->request.query, exchange->arena, &query, err) < 0)
		return -1;
	text = url_query_find(&query, "instant");
	if (text && !profile_merge_parse(*text, out))
		return error_set(err, ERROR_INVALID, "instant must be mean, sum, last or max");
	return 0;
}

int read_query_context_of(struct exchange *exchange, struct read_query_context *out,
                          struct error *err)
{
	*out = (struct read_query_context){
		.store = exchange->app->store,
		.tenant = exchange->tenant,
		.arena = exchange->arena,
		.cancel = &exchange->cancel,
		.limits = limits_get(exchange->app),
		.aliases = str_of(exchange->app->options->profile_type_alias),
		.now_unix_ns = clock_unix_ns(),
	};
	return read_instant(exchange, &out->instant, err);
}

int read_query_typed_selector(struct str text, const char *name, struct selector *out_selector,
                              struct str *out_type, struct error *err)
{
	struct matcher type;
	struct profile_type parsed;
	struct error reason;

	if (text.length == 0)
		return error_set(err, ERROR_INVALID, "\"%s\" is required", name);
	if (selector_parse(out_selector, text, err) < 0)
		return error_context(err, "failed to parse \"%s\"", name);
	if (!selector_take(out_selector, STR("__name__"), &type))
		return error_set(err, ERROR_INVALID, "\"%s\" must contain a profile-type selection",
		                 name);
	if (profile_type_parse(type.value, &parsed, &reason) < 0)
		return error_set(err, ERROR_INVALID, "failed to parse \"%s\"", name);
	*out_type = type.value;
	return 0;
}

/* Repeated texts of a message as views. */
static int make_texts(const ProtobufCBinaryData *items, size_t count, struct arena *arena,
                      struct str **out, struct error *err)
{
	struct str *texts = arena_array(arena, count + 1, sizeof(*texts));

	if (!texts)
		return arena_error(arena, err);
	for (size_t i = 0; i < count; i++)
		texts[i] = proto_str(items[i]);
	*out = texts;
	return 0;
}

int read_query_label_names(const ProtobufCBinaryData *items, size_t count, struct arena *arena,
                           struct str **out, struct error *err)
{
	if (count > READ_QUERY_NAMES_MAX)
		return error_set(err, ERROR_INVALID, "more than %d label names",
		                 READ_QUERY_NAMES_MAX);
	return make_texts(items, count, arena, out, err);
}

int read_query_set_call_site(struct read_query *query,
                             const Types__V1__StackTraceSelector *selector, struct error *err)
{
	struct sample_filter *filter = &query->filter;

	if (!selector || selector->n_call_site == 0)
		return 0;
	filter->call_site = arena_array(query->context.arena, selector->n_call_site,
	                                sizeof(*filter->call_site));
	if (!filter->call_site)
		return arena_error(query->context.arena, err);
	for (size_t i = 0; i < selector->n_call_site; i++)
		filter->call_site[i] = proto_str(selector->call_site[i]->name);
	filter->call_site_count = selector->n_call_site;
	return 0;
}

typedef int (*filter_adder)(struct sample_filter *filter, const struct str *texts, size_t count,
                            struct arena *arena, struct error *err);

static int add_to_filter(struct read_query *query, filter_adder add,
                         const ProtobufCBinaryData *items, size_t count, struct error *err)
{
	struct str *texts = NULL;

	if (make_texts(items, count, query->context.arena, &texts, err) < 0)
		return -1;
	return add(&query->filter, texts, count, query->context.arena, err);
}

int read_query_set_profile_ids(struct read_query *query, const ProtobufCBinaryData *items,
                               size_t count, struct error *err)
{
	return add_to_filter(query, sample_filter_add_profile_ids, items, count, err);
}

int read_query_set_span_ids(struct read_query *query, const ProtobufCBinaryData *items,
                            size_t count, struct error *err)
{
	return add_to_filter(query, sample_filter_add_span_ids, items, count, err);
}

int read_query_set_trace_ids(struct read_query *query, const ProtobufCBinaryData *items,
                             size_t count, struct error *err)
{
	return add_to_filter(query, sample_filter_add_trace_ids, items, count, err);
}
