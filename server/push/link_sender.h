/*
 * The collector's end of the link: a transport of push_queue.h, and metrics.
 *
 * Shape    a thread reads answers; a push waits for its own. When the server half says
 *          stop, or is gone, `stop` is called once, on that thread. Another one writes
 *          metrics: whoever has them does not wait for a server half that does not read.
 * Errors   pushes end with the status that the server's route gave: see link_frame.h.
 *          When the server half is gone, that is logged once, and they are PUSH_GONE.
 * Threads  pushes on one thread, metrics and a cancel on any.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "server/push/push_queue.h"

/*
 * Waits until the server half serves, and gives its port. False: it never will, and has
 * said why.
 */
bool link_wait_for_start(int fd, uint16_t *out_port);

struct link_sender_options {
	int fd;             /* of the socket pair; the sender's from now on */
	void (*stop)(void); /* wakes what should end */
};

struct link_sender;

struct link_sender *link_sender_new(const struct link_sender_options *options)
	__attribute__((returns_nonnull));

/*
 * Closes the link, and with it tells the server half that nothing more comes. The metrics
 * that were set last go out before, if they can.
 */
void link_sender_free(struct link_sender *sender);
DEFINE_FREEP(link_sender)

/* Lives as long as the sender. */
struct push_transport link_sender_transport(struct link_sender *sender);

/* What /metrics of the server half shows from now on, behind its own. A copy is kept. */
void link_sender_metrics(struct link_sender *sender, struct str text);
