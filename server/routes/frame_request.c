#include "server/routes/frame_request.h"

#include "server/app.h"
#include "server/routes/read_query_request.h"

const struct frame_side_names frame_side_single = { "query", "from", "until", "at" };
const struct frame_side_names frame_side_compared[FRAME_SIDES] = {
	{ "leftQuery", "leftFrom", "leftUntil", "leftAt" },
	{ "rightQuery", "rightFrom", "rightUntil", "rightAt" },
};

static bool has(const struct own_request *request, const char *name)
{
	return own_request_text(request, name).length > 0;
}

/* A side that says anything of its time says all of it. */
static struct frame_side_names names_of(const struct own_request *request,
                                        const struct frame_side_names *own)
{
	struct frame_side_names names = frame_side_single;

	if (has(request, own->query))
		names.query = own->query;
	if (!has(request, own->from) && !has(request, own->until) && !has(request, own->at))
		return names;
	names.from = own->from;
	names.until = own->until;
	names.at = own->at;
	return names;
}

static int set_time(const struct own_request *request, const struct frame_side_names *names,
                    struct frame_query *out, struct error *err)
{
	int64_t start_ms = 0;
	int64_t end_ms = 0;

	if (own_request_time(request, names->at, 0, &out->at_ms, err) < 0)
		return -1;
	if (out->at_ms == 0) {
		if (own_request_range(request, names->from, names->until, &start_ms, &end_ms, err) <
		    0)
			return -1;
		return read_query_set_range(&out->query, start_ms, end_ms, err);
	}
	if (!profile_type_is_instant(&out->query.type))
		return error_set(err, ERROR_INVALID,
		                 "%s: %.*s is no type of live things: ask for a range (from, "
		                 "until)",
		                 names->at, STR_ARGS(str_first(out->query.type_id, 200)));
	return read_query_set_range(&out->query, out->at_ms, out->at_ms, err);
}

int frame_request_side(const struct own_request *request, const struct frame_side_names *own,
                       struct frame_query *out, struct error *err)
{
	const struct frame_side_names names = names_of(request, own);
	struct selector selector;
	struct str type;
	int status;

	read_query_init(&out->query, &request->context);
	selector_init(&selector, request->context.arena);
	status = read_query_typed_selector(own_request_text(request, names.query), names.query,
	                                   &selector, &type, err);
	if (status == 0)
		status = read_query_set_type(&out->query, type, err);
	if (status == 0)
		status = read_query_take_selector(&out->query, &selector, err);
	selector_fini(&selector);
	return status < 0 ? -1 : set_time(request, &names, out, err);
}

/* ---- what is made of them ---- */

/* A number, "all" (as many as anybody may ask for), or the default. */
static int read_max_nodes(const struct own_request *request, size_t *out, struct error *err)
{
	const struct limits *limits = request->context.limits;
	const size_t most = limits->flamegraph_nodes_max > 0 ? (size_t)limits->flamegraph_nodes_max
	                                                     : INTERN_MAX;

	if (str_equals(own_request_text(request, "maxNodes"), "all")) {
		*out = most;
		return 0;
	}
	return own_request_count(request, "maxNodes", (size_t)limits->flamegraph_nodes_default,
	                         most, out, err);
}

int frame_request_options(const struct own_request *request, struct frame_view_options *out,
                          struct error *err)
{
	static const char *const details[] = {
		[FRAME_BY_FUNCTION] = "function",
		[FRAME_BY_LINE] = "line",
	};
	const struct str *sandwich = url_query_find(&request->parameters, "sandwich");
	size_t detail = FRAME_BY_FUNCTION;

	*out = (struct frame_view_options){ 0 };
	if (own_request_word(request, "frames", details, ARRAY_LENGTH(details), &detail, err) < 0 ||
	    read_max_nodes(request, &out->max_nodes, err) < 0)
		return -1;
	out->detail = (enum frame_detail)detail;
	if (sandwich && sandwich->length > 0)
		out->sandwich = *sandwich;
	return 0;
}

int frame_request_focus(const struct own_request *request, struct frame_query *side,
                        struct error *err)
{
	const struct url_query *parameters = &request->parameters;
	struct sample_filter *filter = &side->query.filter;

	filter->call_site = arena_array(request->context.arena, parameters->count + 1,
	                                sizeof(*filter->call_site));
	if (!filter->call_site)
		return arena_error(request->context.arena, err);
	for (size_t i = 0; i < parameters->count; i++)
		if (str_equals(parameters->pairs[i].name, "focus"))
			filter->call_site[filter->call_site_count++] = parameters->pairs[i].value;
	return 0;
}
