/*
 * Errors as clients know them: one table of codes, names and statuses.
 *
 * Source   read specification, 2.6; ingest specification, 1.6 and 4.4
 */
#pragma once

#include "api/http_message.h"

/* Seconds, in the header Retry-After of a 503. */
#define ERROR_RETRY_AFTER "1" /* a guess: a commit interval and some */

/* "invalid_argument" and the like. */
const char *error_connect_name(enum error_code code);

/*
 * The status that a Connect route answers. ERROR_NO_SPACE is 507 / resource_exhausted,
 * ERROR_TOO_LARGE and ERROR_RATE_LIMITED are 429.
 */
int error_connect_status(enum error_code code);

/*
 * What HTTP would say of a response: protocols that tell of a failure elsewhere have 200
 * there.
 */
int error_http_status(const struct http_response *response);

/*
 * The grpc-status. Trouble with the disk is 14, which senders try again; 8 they do not.
 */
int error_grpc_status(enum error_code code);

/*
 * {"code":...,"message":...} without a newline, application/json: Connect routes and
 * legacy reads. It is response->failure too. With ERROR_UNAVAILABLE also Retry-After. Headers and body that stood
 * there are gone.
 */
void error_json_connect(const struct error *err, struct http_response *response);

/*
 * {"code":...,"message":...} and a newline, nosniff: /ingest and tenant errors of plain
 * routes. With 503 also Retry-After. The code's name follows from the status (ingest
 * specification, 1.6).
 */
void error_json_plain(int status, const char *message, struct http_response *response);
