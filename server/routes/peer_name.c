#include "server/routes/peer_name.h"

#include <netdb.h>
#include <string.h>

void peer_name_of(const struct exchange *exchange, struct peer_name *out)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t length = sizeof(struct sockaddr_in);

	*out = (struct peer_name){ 0 };
	memcpy(&peer, exchange->peer, sizeof(exchange->peer));
	out->is_ipv6 = peer.ss_family == AF_INET6;
	if (out->is_ipv6)
		length = sizeof(struct sockaddr_in6);
	if ((out->is_ipv6 || peer.ss_family == AF_INET) &&
	    getnameinfo((const struct sockaddr *)&peer, length, out->address, sizeof(out->address),
	                out->port, sizeof(out->port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		*out = (struct peer_name){ 0 };
}
