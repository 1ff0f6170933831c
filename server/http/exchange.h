/*
 * One request on its way through the server: what a handler sees.
 *
 * Shape    the listener makes it, a worker calls its route's handler once, and the
 *          listener sends what the handler has left in `response`. A handler that must
 *          wait (for a commit) returns EXCHANGE_PENDING; somebody calls
 *          exchange_finish(), perhaps before the handler has returned: it does not
 *          touch the exchange after handing it on.
 * Threads  the handler's worker owns everything here until it returns (or, pending, until
 *          exchange_finish()). `app` is shared and says itself what guards it.
 */
#pragma once

#include "api/http_message.h"
#include "base/arena.h"
#include "storage/store.h"

struct answer_flight;
struct credential; /* server/guard/credentials.h */
struct app;        /* server/app.h: options, store, limits, metrics */
struct route;      /* server/routes/route.h */

#define EXCHANGE_PEER_BYTES 32 /* an address of IPv6 fits */

enum exchange_state {
	EXCHANGE_DONE,    /* response is complete */
	EXCHANGE_PENDING, /* exchange_finish() will be called, perhaps already was */
};

struct exchange {
	struct app *app;
	const struct route *route;
	struct arena *arena; /* the request's memory, with its budget */
	struct http_request request;
	struct http_response response;
	const struct credential *credential; /* who asks; NULL: nobody was asked */
	/* checked; "anonymous" when tenancy is off; empty on routes without one */
	struct str tenant;
	/* of a write, for /api/v1/rejects alone: why nothing was stored; or empty */
	struct str remark;
	/* the other end's address, as getpeername() tells it; zeroes: not known */
	unsigned char peer[EXCHANGE_PEER_BYTES];
	struct store_cancel cancel; /* the client has gone, or the deadline passed */
	int64_t start_mono_ns;
	size_t weight; /* bytes that it is expected to take while it runs; 0: few */

	void (*finish)(struct exchange *exchange); /* the listener's */
	struct exchange *next;       /* the worker pool's, then routes/answer_share.h's */
	struct answer_flight *share; /* routes/answer_share.h's */
};

/*
 * Sends the response of a pending exchange; any thread. The exchange is gone
 * afterwards.
 */
static inline void exchange_finish(struct exchange *exchange)
{
	exchange->finish(exchange);
}
