/*
 * /pyroscope/label-values.
 *
 * Source   read specification, 4.6
 */
#include "base/clock.h"
#include "base/json.h"
#include "base/url.h"
#include "profile/time_syntax.h"
#include "server/query/label_listing.h"
#include "server/routes/handlers.h"
#include "server/routes/read_query_request.h"

#define HOUR_MS INT64_C(3600000)

/* A range parameter in milliseconds; `missing_ms` when it is not there. */
static int64_t time_ms(const struct url_query *parameters, const char *name, int64_t now_unix_ns,
                       int64_t missing_ms)
{
	const struct str *text = url_query_find(parameters, name);
	int64_t ns;

	if (!text || text->length == 0)
		return missing_ms;
	ns = time_syntax_parse(*text, now_unix_ns, TIME_SYNTAX_RFC3339);
	return ns / NS_PER_MS - (ns % NS_PER_MS < 0);
}

/* The reference's answer for no profile types at all is null. */
static void write_list(const struct text_listing *listing, bool null_when_empty, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	if (listing->count == 0 && null_when_empty) {
		json_put_null(&writer);
	} else {
		json_begin_list(&writer);
		for (size_t i = 0; i < listing->count; i++)
			json_put_text(&writer, listing->texts[i]);
		json_end_list(&writer);
	}
	strbuf_add_byte(out, '\n');
}

static int list_values(struct exchange *exchange, struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	struct read_query_context context;
	struct url_query parameters;
	struct text_listing listing;
	const struct str *label;
	const struct str *selector;
	int64_t end_ms;
	bool types;

	if (url_query_parse(exchange->request.query, exchange->arena, &parameters, err) < 0 ||
	    read_query_context_of(exchange, &context, err) < 0)
		return -1;
	label = url_query_find(&parameters, "label");
	if (!label || label->length == 0)
		return error_set(err, ERROR_INVALID, "label parameter is required");
	types = str_equals(*label, "__name__");
	selector = url_query_find(&parameters, "query");
	end_ms =
		time_ms(&parameters, "until", context.now_unix_ns, context.now_unix_ns / NS_PER_MS);
	read_query_init(&query, &context);
	if (read_query_set_range(
		    &query, time_ms(&parameters, "from", context.now_unix_ns, end_ms - HOUR_MS),
		    end_ms, err) < 0)
		return -1;
	if (selector && selector->length > 0 && selector_parse(&query.selector, *selector, err) < 0)
		return error_context(err, "failed to parse \"query\"");
	if (label_listing_values(&query, types ? STR("__profile_type__") : *label, &listing, err) <
	    0)
		return -1;
	write_list(&listing, types, &exchange->response.body);
	return 0;
}

enum exchange_state serve_legacy_label_values(struct exchange *exchange)
{
	struct error err = { 0 };
	int status = list_values(exchange, &err);

	if (status == 0 && strbuf_overflowed(&exchange->response.body))
		status = error_set(&err, ERROR_TOO_LARGE, "the answer is larger than %zu bytes",
		                   exchange->response.body.limit);
	if (status < 0) {
		error_json_connect(&err, &exchange->response);
		return EXCHANGE_DONE;
	}
	http_response_header(&exchange->response, "Content-Type", STR("application/json"));
	http_compress_response(&exchange->request, &exchange->response);
	return EXCHANGE_DONE;
}
