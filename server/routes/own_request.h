/*
 * Parameters of our own routes: read strictly, with a default each.
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
#include "server/query/read_query.h"

struct own_request {
	struct url_query parameters;
	struct read_query_context context;
};

int own_request_open(struct exchange *exchange, struct own_request *out, struct error *err);

/* The value, or an empty one. */
struct str own_request_text(const struct own_request *request, const char *name);

/*
 * A time: now, now-1h, RFC 3339, or a number of s, ms, us or ns by its digits; `fallback`
 * without one.
 */
int own_request_time(const struct own_request *request, const char *name, int64_t fallback_ms,
                     int64_t *out_ms, struct error *err);

/*
 * A range of times: `until`, or now; `from`, or an hour before it.
 */
int own_request_range(const struct own_request *request, const char *from, const char *until,
                      int64_t *out_start_ms, int64_t *out_end_ms, struct error *err);

/* A whole number from 1 to `most`. */
int own_request_count(const struct own_request *request, const char *name, size_t fallback,
                      size_t most, size_t *out, struct error *err);

/* "15s", "1m", or seconds: from one second on. 0 without one. */
int own_request_step(const struct own_request *request, int64_t *out_ms, struct error *err);

/* The index of a word; *out stays without one. The refusal lists the words. */
int own_request_word(const struct own_request *request, const char *name, const char *const *words,
                     size_t count, size_t *out, struct error *err);
