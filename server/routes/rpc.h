/*
 * What all handlers of Connect, gRPC and gRPC-Web begin and end with.
 *
 *	struct connect_call call;
 *
 *	if (!rpc_accept(exchange, &call))
 *		return EXCHANGE_DONE;
 *	...
 *	connect_reply(&call, &exchange->response);
 *
 * Shape    rpc_accept() does method, content type, protocol version and encoding
 *          (connect_accept(), or grpc_accept() by the content type: the answer is made one
 *          of gRPC when it is sent), then the deadline, and the tenant last but for what a
 *          codec finds in the message. It fills exchange->tenant and exchange->cancel.
 * Errors   false: the response is complete.
 * Source   read specification, 2.1, 2.4 and 5.1
 */
#pragma once

#include "api/connect.h"
#include "server/http/exchange.h"

bool rpc_accept(struct exchange *exchange, struct connect_call *call);

/*
 * The same in two steps, for handlers that read the message between them: a message that
 * cannot be read is answered before a missing tenant is.
 */
bool rpc_begin(struct exchange *exchange, struct connect_call *call);
bool rpc_take_tenant(struct exchange *exchange);

/*
 * For reads whose message says all that is asked, times included. True: an equal one is
 * being executed, and its answer is this one's too: return EXCHANGE_PENDING at once.
 */
bool rpc_share(struct exchange *exchange, const struct connect_call *call);
