/*
 * The handlers of all routes, declared from the table.
 */
#pragma once

#include "server/routes/route.h"

#define ROUTE(method, path, handler, role, flags) \
	enum exchange_state handler(struct exchange *exchange);
#include "server/routes/routes.def"
#undef ROUTE
