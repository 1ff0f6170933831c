/*
 * From the parameters of /api/gpu routes to a question about GPU memory.
 *
 * Errors   as server/routes/own_request.h.
 * Threads  none.
 * Source   own API specification
 */
#pragma once

#include "server/query/gpu_question.h"
#include "server/routes/own_request.h"

/*
 * Range and selector: from (an hour before the end by default) up to `end_name`, or
 * until, or now.
 */
int gpu_request_question(const struct own_request *request, const char *end_name,
                         struct gpu_question *out, struct error *err);
