/*
 * The other end of a connection as text.
 *
 * Threads  any.
 */
#pragma once

#include <netinet/in.h>

#include "server/http/exchange.h"

#define PEER_PORT_SIZE sizeof("65535")

struct peer_name {
	char address[INET6_ADDRSTRLEN]; /* empty: not known */
	char port[PEER_PORT_SIZE];
	bool is_ipv6;
};

void peer_name_of(const struct exchange *exchange, struct peer_name *out);
