/*
 * TLS in front of the port: connections come in whose first byte is that of a handshake, and
 * what they say comes out of socket pairs, in the table of connections.
 *
 * Shape    one thread. The certificate is read again when told to, and when its files have
 *          changed, which is looked at when somebody connects, once a second at most.
 *          What does not load leaves the one before.
 * Errors   as tls_identity_load().
 * Threads  tls_port_add(), tls_port_reload(): any.
 * Source   architecture, section 6; RFC 8446, RFC 5246, RFC 7301
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "server/http/tls_bridge.h"

#define TLS_HANDSHAKES_MAX 512  /* at a time; a guess */
#define TLS_FIRST_BYTE     0x16 /* of a record with a handshake */

struct tls_port;

struct tls_port_options {
	const char *certificate_path;
	const char *key_path;
	struct connections *connections;
	struct budget *budget;
	int64_t write_timeout_ns;
	void (*note)(void *context, enum tls_outcome outcome); /* counts; the thread's */
	void *context;
};

int tls_port_open(const struct tls_port_options *options, struct tls_port **out, struct error *err);

/* Sends what is left for a second at most, and ends. NULL is fine. */
void tls_port_close(struct tls_port *port);

void tls_port_add(struct tls_port *port, struct connection *connection);
void tls_port_reload(struct tls_port *port);
