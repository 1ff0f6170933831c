/*
 * A port that answers /metrics, and nothing else: what the collector opens.
 *
 * Shape    GET and HEAD of /metrics give the text that was set last; /ready and /healthz
 *          say ok. 16 connections at a time, ten seconds each.
 * Errors   of opening: ERROR_INVALID for an address that is none (HOST:PORT, [IPv6]:PORT),
 *          ERROR_IO when the port is taken.
 * Threads  one of its own answers; any may set the text.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

#define METRICS_PORT_BYTES_MAX ((size_t)64 << 20) /* of the text */

struct metrics_port;

/* `address` is HOST:PORT; port 0 picks a free one. */
int metrics_port_open(const char *address, struct metrics_port **out, struct error *err);
void metrics_port_close(struct metrics_port *port);

static inline void metrics_port_closep(struct metrics_port **port)
{
	metrics_port_close(*port);
}

uint16_t metrics_port_number(const struct metrics_port *port);

/* What is answered from now on; a copy is kept. */
void metrics_port_set(struct metrics_port *port, struct str text);
