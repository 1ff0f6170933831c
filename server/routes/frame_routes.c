/*
 * /api/v1/flamegraph, /api/v1/diff.
 *
 * Source   own API specification
 */
#include "server/routes/frame_json.h"
#include "server/routes/frame_request.h"
#include "server/routes/handlers.h"
#include "server/routes/own_answer.h"

/* The sides of a question. */
struct frame_sides {
	struct frame_query items[FRAME_SIDES];
};

static void frame_sides_fini(struct frame_sides *sides)
{
	for (size_t i = 0; i < FRAME_SIDES; i++)
		read_query_fini(&sides->items[i].query);
}

static int show_graph(struct exchange *exchange, struct error *err)
{
	CLEANUP(frame_sides_fini) struct frame_sides sides = { 0 };
	struct frame_view_options options;
	struct own_request request;
	struct frame_view view;

	if (own_request_open(exchange, &request, err) < 0 ||
	    frame_request_options(&request, &options, err) < 0 ||
	    frame_request_side(&request, &frame_side_single, &sides.items[0], err) < 0 ||
	    frame_request_focus(&request, &sides.items[0], err) < 0 ||
	    frame_view_make(sides.items, 1, &options, &view, err) < 0)
		return -1;
	frame_json_graph(&view, &exchange->response.body);
	return 0;
}

enum exchange_state serve_frame_graph(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, show_graph(exchange, &err), &err);
}

static int check_units(const struct frame_sides *sides, struct error *err)
{
	const struct str left = sides->items[FRAME_LEFT].query.type.sample_unit;
	const struct str right = sides->items[FRAME_RIGHT].query.type.sample_unit;

	if (str_equal(left, right))
		return 0;
	return error_set(err, ERROR_INVALID,
	                 "the left side is in %.*s, the right one in %.*s: both must be of one "
	                 "unit",
	                 STR_ARGS(str_first(left, 100)), STR_ARGS(str_first(right, 100)));
}

static int show_diff(struct exchange *exchange, struct error *err)
{
	CLEANUP(frame_sides_fini) struct frame_sides sides = { 0 };
	struct frame_view_options options;
	struct own_request request;
	struct frame_view view;

	if (own_request_open(exchange, &request, err) < 0 ||
	    frame_request_options(&request, &options, err) < 0)
		return -1;
	options.sandwich = (struct str){ NULL, 0 };
	for (size_t i = 0; i < FRAME_SIDES; i++)
		if (frame_request_side(&request, &frame_side_compared[i], &sides.items[i], err) < 0)
			return -1;
	if (check_units(&sides, err) < 0 ||
	    frame_view_make(sides.items, FRAME_SIDES, &options, &view, err) < 0)
		return -1;
	frame_json_diff(&view, &exchange->response.body);
	return 0;
}

enum exchange_state serve_frame_diff(struct exchange *exchange)
{
	struct error err = { 0 };

	return own_answer_finish(exchange, show_diff(exchange, &err), &err);
}
