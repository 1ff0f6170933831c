/*
 * Parameters of /api/gpu routes: read strictly, with a default each.
 *
 * Shape    what is not understood, or lies past a limit, is refused by name; a parameter
 *          that the route does not know is not looked at.
 * Units    milliseconds.
 * Errors   ERROR_INVALID.
 * Threads  none.
 * Source   own API specification; read specification, 4.2 (times)
 */
#pragma once

#include "base/url.h"
#include "server/http/exchange.h"
#include "server/query/gpu_question.h"

struct gpu_request {
	struct url_query parameters;
	struct read_query_context context;
};

int gpu_request_open(struct exchange *exchange, struct gpu_request *out, struct error *err);

/* The value, or an empty one. */
struct str gpu_request_text(const struct gpu_request *request, const char *name);

/*
 * A time: now, now-1h, RFC 3339, or a number of s, ms, us or ns by its digits; `fallback`
 * without one.
 */
int gpu_request_time(const struct gpu_request *request, const char *name, int64_t fallback_ms,
                     int64_t *out_ms, struct error *err);

/* A whole number from 1 to `most`. */
int gpu_request_count(const struct gpu_request *request, const char *name, size_t fallback,
                      size_t most, size_t *out, struct error *err);

/* "15s", "1m", or seconds: from one second on. 0 without one. */
int gpu_request_step(const struct gpu_request *request, int64_t *out_ms, struct error *err);

/* The index of a word; *out stays without one. The refusal lists the words. */
int gpu_request_word(const struct gpu_request *request, const char *name, const char *const *words,
                     size_t count, size_t *out, struct error *err);

/*
 * Range and selector: from (an hour before the end by default) up to `end_name`, or
 * until, or now.
 */
int gpu_request_question(const struct gpu_request *request, const char *end_name,
                         struct gpu_question *out, struct error *err);
