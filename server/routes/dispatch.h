/*
 * From a request's head to its route: what is decided before a handler runs.
 *
 * Shape    dispatch_begin() finds the route and asks method and tenant; everything that
 *          is refused here has its whole response when the function returns. The same
 *          for every version of HTTP.
 * Threads  any: the exchange belongs to the caller.
 * Source   read specification, section 0, 5.1 and 5.4; ingest specification, 1.5
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "server/http/exchange.h"

/*
 * Takes raw path and query; request.method and headers are there. True: exchange->route
 * is to be called with the body. False: the response is complete (route may be NULL).
 */
bool dispatch_begin(struct exchange *exchange, struct str raw_path, struct str raw_query);

/* Bytes that the body may have, and the message in it. */
size_t dispatch_body_limit(const struct exchange *exchange);
size_t dispatch_message_limit(const struct exchange *exchange);

/* Bytes that the beginning of a body announces, where a gRPC frame is; else 0. */
uint64_t dispatch_announced(const struct exchange *exchange, struct str begun);

/*
 * The response is complete: makes it one of gRPC where the request was, and notes a write
 * that it refuses. Once for each response that is made; the exchange's owner.
 */
void dispatch_complete(struct exchange *exchange);

/* Answers a body, or a message in a frame, of `announced` bytes (0: unknown) over the limit. */
void dispatch_too_large(struct exchange *exchange, uint64_t announced);

/* Answers 503: queue or memory is full. `reason` names it in the metrics. */
void dispatch_busy(struct exchange *exchange, const char *reason);

/* Answers what is no HTTP as it should be. */
void dispatch_malformed(struct exchange *exchange, int status, const char *reason);

/*
 * Counts the request in /metrics: once its head is read, and once its response is sent.
 */
void dispatch_count_begin(struct exchange *exchange);
void dispatch_count_end(struct exchange *exchange, size_t request_bytes, size_t response_bytes);
