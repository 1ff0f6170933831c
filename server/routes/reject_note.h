/*
 * A refused write request, noted for GET /api/v1/rejects and counted.
 *
 * Threads  whoever completes the exchange.
 * Source   own API specification
 */
#pragma once

#include "server/http/exchange.h"

/*
 * Of an exchange whose response is complete; nothing, unless it refuses a write or has a
 * remark.
 */
void reject_note(const struct exchange *exchange);
