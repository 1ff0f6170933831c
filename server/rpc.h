/*
 * What all Connect handlers begin and end with.
 *
 *	struct connect_call call;
 *
 *	if (!rpc_accept(exchange, &call))
 *		return EXCHANGE_DONE;
 *	...
 *	connect_reply(&call, &exchange->response);
 *
 * rpc_accept() also resolves the tenant (after method, type and body syntax: read specification, 5.1) and sets the deadline.
 */
#pragma once

#include "api/connect.h"
#include "server/exchange.h"

bool rpc_accept(struct exchange *exchange, struct connect_call *call);
