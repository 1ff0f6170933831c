/*
 * How the answers of our own JSON routes end.
 *
 * Shape    never stored by anybody on the way, tagged by its body, packed when the client
 *          takes that; an error is its status with {"code","message"}.
 * Errors   a body over its limit is ERROR_TOO_LARGE.
 * Source   own API specification
 */
#pragma once

#include "base/error.h"
#include "server/http/exchange.h"

/* Ends a request: what failed (status < 0), or the body that stands there. EXCHANGE_DONE. */
enum exchange_state own_answer_finish(struct exchange *exchange, int status, struct error *err);
