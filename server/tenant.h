/*
 * Who asks: X-Scope-OrgID.
 *
 * Shape    with tenancy off everybody is "anonymous". Else 1 to 150 bytes of letters,
 *          digits and !-_.*'(); text behind ':' is metadata and cut off; '|' joins
 *          several, and one request is for one.
 *          Credentials for one tenant alone name it; those for some may name no other.
 * Errors   ERROR_UNAUTHENTICATED, ERROR_INVALID for a read that names several, or
 *          ERROR_FORBIDDEN for another tenant's.
 * Threads  any.
 * Source   read specification, 5.1; ingest specification, 1.4
 */
#pragma once

#include "base/error.h"
#include "base/str.h"
#include "server/http/exchange.h"

#define TENANT_MAX 150

enum tenant_use {
	TENANT_READ,
	TENANT_WRITE,
};

/* The tenant that the header's value (or NULL) names: a view into it. */
int tenant_parse(const struct str *header, enum tenant_use use, struct str *out, struct error *err);

/* The tenant of a request, by its header and the options. */
int tenant_of(const struct exchange *exchange, struct str *out, struct error *err);
