/*
 * /api/v1/services: what a first page shows.
 *
 * Source   own API specification
 */
#include "base/clock.h"
#include "base/json.h"
#include "server/query/service_listing.h"
#include "server/routes/handlers.h"
#include "server/routes/own_answer.h"
#include "server/routes/own_request.h"

#define STEPS_DEFAULT 60

static void number(struct json_writer *writer, const char *key, int64_t value)
{
	json_key(writer, key);
	json_put_exact(writer, value);
}

static void put_service(struct json_writer *writer, const struct service_listing *list,
                        const struct service_row *row)
{
	json_begin_map(writer);
	json_key(writer, "service_name");
	json_put_text(writer, row->name);
	json_key(writer, "is_gpu");
	json_put_bool(writer, row->is_gpu);
	number(writer, "first_ms", row->first_ns / NS_PER_MS);
	number(writer, "last_ms", row->last_ns / NS_PER_MS);
	number(writer, "series", row->series);
	json_key(writer, "profile_types");
	json_begin_list(writer);
	for (size_t i = 0; i < row->type_count; i++)
		json_put_text(writer, row->types[i]);
	json_end_list(writer);
	json_key(writer, "profiles");
	json_begin_list(writer);
	for (size_t i = 0; i < list->step_count; i++)
		json_put_exact(writer, row->profiles[i]);
	json_end_list(writer);
	json_end_map(writer);
}

static void put_services(const struct service_listing *list, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	json_begin_map(&writer);
	number(&writer, "start_ms", list->start_ms);
	number(&writer, "step_ms", list->step_ms);
	json_key(&writer, "services");
	json_begin_list(&writer);
	for (size_t i = 0; i < list->count; i++)
		put_service(&writer, list, &list->rows[i]);
	json_end_list(&writer);
	json_end_map(&writer);
}

static int list_services(struct exchange *exchange, struct error *err)
{
	CLEANUP(read_query_fini) struct read_query query = { 0 };
	struct service_listing list;
	struct own_request request;
	struct str selector;
	int64_t start_ms;
	int64_t end_ms;
	size_t steps;

	if (own_request_open(exchange, &request, err) < 0)
		return -1;
	read_query_init(&query, &request.context);
	selector = own_request_text(&request, "selector");
	if (own_request_count(&request, "steps", STEPS_DEFAULT, SERVICE_STEPS_MAX, &steps, err) <
	            0 ||
	    own_request_range(&request, "from", "until", &start_ms, &end_ms, err) < 0 ||
	    read_query_set_range(&query, start_ms, end_ms, err) < 0 ||
	    (selector.length > 0 && selector_parse(&query.selector, selector, err) < 0) ||
	    service_listing_make(&query, steps, &list, err) < 0)
		return -1;
	put_services(&list, &exchange->response.body);
	return 0;
}

enum exchange_state serve_services(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, list_services(exchange, &err), &err);
}
