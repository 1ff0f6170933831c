#include "server/tenant.h"

#include "server/app.h"
#include "server/guard/credentials.h"
#include "server/options.h"
#include "server/routes/route.h"

static bool is_allowed(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("!-_.*'()", c));
}

static int check(struct str tenant, struct error *err)
{
	for (size_t i = 0; i < tenant.length; i++) {
		const char c = tenant.data[i];

		if (is_allowed(c))
			continue;
		return error_set(err, ERROR_UNAUTHENTICATED,
		                 "tenant ID '%.*s' contains unsupported character '%c'",
		                 STR_ARGS(str_first(tenant, TENANT_MAX)),
		                 c >= ' ' && c < 127 ? c : '?');
	}
	if (tenant.length > TENANT_MAX)
		return error_set(err, ERROR_UNAUTHENTICATED,
		                 "tenant ID is too long: max %d characters", TENANT_MAX);
	if (str_equals(tenant, ".") || str_equals(tenant, ".."))
		return error_set(err, ERROR_UNAUTHENTICATED, "tenant ID is '.' or '..'");
	return 0;
}

/* One part of the header's value without what stands behind its ':'. */
static struct str without_metadata(struct str part)
{
	const ptrdiff_t colon = str_index(part, ':');

	return colon < 0 ? part : str_first(part, (size_t)colon);
}

int tenant_parse(const struct str *header, enum tenant_use use, struct str *out, struct error *err)
{
	struct str rest = header ? str_trim(*header) : STR("");
	struct str tenant = STR("");
	struct str part;
	bool has_several = false;

	while (str_split(&rest, '|', &part)) {
		part = without_metadata(part);
		if (part.length == 0)
			continue;
		if (check(part, err) < 0)
			return -1;
		has_several = has_several || (tenant.length > 0 && !str_equal(tenant, part));
		tenant = part;
	}
	if (tenant.length == 0)
		return error_set(err, ERROR_UNAUTHENTICATED, "no org id");
	if (has_several)
		return error_set(err, use == TENANT_WRITE ? ERROR_UNAUTHENTICATED : ERROR_INVALID,
		                 "multiple org IDs present");
	*out = tenant;
	return 0;
}

int tenant_of(const struct exchange *exchange, struct str *out, struct error *err)
{
	const struct str *header = http_request_header(&exchange->request, "X-Scope-OrgID");
	const struct credential *credential = exchange->credential;

	if (!exchange->app->options->multitenancy) {
		*out = STR("anonymous");
		return 0;
	}
	if (!header && credential && credential->tenant_count == 1) {
		*out = credential->tenants[0];
		return 0;
	}
	if (tenant_parse(header, exchange->route->flags & ROUTE_WRITE ? TENANT_WRITE : TENANT_READ,
	                 out, err) < 0)
		return -1;
	if (credential && !credential_is_for(credential, *out))
		return error_set(err, ERROR_FORBIDDEN,
		                 "the credentials of '%.*s' are not for tenant '%.*s'",
		                 STR_ARGS(credential->name), STR_ARGS(*out));
	return 0;
}
