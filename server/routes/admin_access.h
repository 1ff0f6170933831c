/*
 * Who may use routes that change what is stored already: -admin.access.
 *
 * Threads  any.
 */
#pragma once

#include "base/error.h"
#include "server/http/exchange.h"

enum admin_access {
	ADMIN_ACCESS_LOCAL, /* this machine's own addresses, and no proxy between */
	ADMIN_ACCESS_ANY,
	ADMIN_ACCESS_OFF,
};

/* Whether a program on this machine asks, with no proxy between. */
bool admin_access_is_local(const struct exchange *exchange);

/* ERROR_FORBIDDEN, with what to do, for whoever may not. */
int admin_access_check(enum admin_access access, const struct exchange *exchange,
                       struct error *err);
