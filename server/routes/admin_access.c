#include "server/routes/admin_access.h"

#include <netinet/in.h>
#include <string.h>

#include "base/cleanup.h"

#define LOOPBACK_NET 127

static bool is_loopback_in6(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == LOOPBACK_NET);
}

static bool is_from_here(const struct exchange *exchange)
{
	struct sockaddr_storage peer = { 0 };
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	memcpy(&peer, exchange->peer, sizeof(exchange->peer));
	memcpy(&in, &peer, sizeof(in));
	memcpy(&in6, &peer, sizeof(in6));
	if (peer.ss_family == AF_INET)
		return ntohl(in.sin_addr.s_addr) >> 24 == LOOPBACK_NET;
	return peer.ss_family == AF_INET6 && is_loopback_in6(&in6.sin6_addr);
}

/* A proxy on this machine asks for others. */
static bool came_by_proxy(const struct exchange *exchange)
{
	static const char *const headers[] = { "X-Forwarded-For", "Forwarded", "X-Real-IP", "Via" };

	for (size_t i = 0; i < ARRAY_LENGTH(headers); i++)
		if (http_request_header(&exchange->request, headers[i]))
			return true;
	return false;
}

bool admin_access_is_local(const struct exchange *exchange)
{
	return is_from_here(exchange) && !came_by_proxy(exchange);
}

int admin_access_check(enum admin_access access, const struct exchange *exchange, struct error *err)
{
	if (access == ADMIN_ACCESS_OFF)
		return error_set(err, ERROR_FORBIDDEN,
		                 "this server deletes nothing over HTTP: -admin.access is off");
	if (access == ADMIN_ACCESS_LOCAL && !admin_access_is_local(exchange))
		return error_set(err, ERROR_FORBIDDEN,
		                 "only programs on the server's machine may delete: "
		                 "-admin.access=any lets others");
	return 0;
}
