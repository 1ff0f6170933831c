/*
 * The server's end of the link: pushes of the collector half into the store.
 *
 * Shape    a companion of server_process.h. A push becomes an exchange of the Push route
 *          and waits in the worker pool as those from outside do; its answer goes back
 *          when it is committed. Metrics text is kept, and follows the server's own.
 *          When the collector half ends by itself, the server is told to stop.
 * Errors   frames that are none end the link; a full queue is answered 503.
 * Threads  one of its own reads; workers and the store's writer write answers.
 */
#pragma once

#include "base/cleanup.h"
#include "server/server_process.h"

struct link_receiver;

/* `fd` is the receiver's from now on; `tenant` (may be "") is whom profiles belong to. */
struct link_receiver *link_receiver_new(int fd, const char *tenant)
	__attribute__((returns_nonnull));
void link_receiver_free(struct link_receiver *receiver);
DEFINE_FREEP(link_receiver)

/* Lives as long as the receiver. */
struct server_companion link_receiver_companion(struct link_receiver *receiver);
