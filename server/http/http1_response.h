/*
 * A response on its way out: through libmicrohttpd, or past it.
 *
 * Threads  the event thread of the connection.
 */
#pragma once

#include <microhttpd.h>
#include <stdbool.h>

#include "server/http/exchange.h"

/*
 * Queues exchange->response, whose body moves on. False: the connection must be closed.
 */
bool http1_response_queue(struct MHD_Connection *mhd, struct exchange *exchange, bool closes);

/*
 * Writes a short response with Connection: close straight to the socket: libmicrohttpd
 * takes none between the head and the end of a body.
 */
void http1_response_write(int fd, struct exchange *exchange);
