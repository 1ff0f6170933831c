/*
 * Flame graphs of our own and their comparison, as JSON.
 *
 * Shape    one member a line of docs/api/flamegraph.md, in its order.
 * Source   own API specification
 */
#pragma once

#include "base/json.h"
#include "server/query/frame_query.h"

/* Of a view with one side. */
void frame_json_graph(const struct frame_view *view, struct strbuf *out);

/* Of a view with two. */
void frame_json_diff(const struct frame_view *view, struct strbuf *out);
