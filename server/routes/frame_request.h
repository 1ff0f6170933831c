/*
 * From the parameters of /api/v1/flamegraph and /api/v1/diff to questions about frames.
 *
 * Errors   as server/routes/own_request.h.
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "server/query/frame_query.h"
#include "server/routes/own_request.h"

/* The parameters of a side; of a comparison those of a single one stand for what it lacks. */
struct frame_side_names {
	const char *query;
	const char *from;
	const char *until;
	const char *at;
};

extern const struct frame_side_names frame_side_single;
extern const struct frame_side_names frame_side_compared[FRAME_SIDES];

/* `out` is released by read_query_fini(&out->query), also after a failure. */
int frame_request_side(const struct own_request *request, const struct frame_side_names *own,
                       struct frame_query *out, struct error *err);

/* maxNodes, frames, sandwich. */
int frame_request_options(const struct own_request *request, struct frame_view_options *out,
                          struct error *err);

/* Only stacks that begin with the frames of the parameter focus, each given once more. */
int frame_request_focus(const struct own_request *request, struct frame_query *side,
                        struct error *err);
