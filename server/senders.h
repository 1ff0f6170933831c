/*
 * Who has sent profiles since the start: "is my agent heard of?"
 *
 * Shape    in memory alone. A sender is an address, what it calls itself and the route that
 *          it writes to, of one tenant; at most SENDERS_MAX of all, of which the one that was
 *          silent the longest makes room.
 * Threads  any: a lock guards the list.
 * Source   own API specification
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "server/tenant.h"

#define SENDERS_MAX        1000
#define SENDERS_PER_ANSWER 100
#define SENDER_ADDRESS_MAX 48 /* of IPv6 */
#define SENDER_AGENT_MAX   96

struct sender {
	int64_t first_unix_ns;
	int64_t last_unix_ns;
	uint64_t writes;
	const char *route; /* its path */
	char tenant[TENANT_MAX + 1];
	char address[SENDER_ADDRESS_MAX];
	char agent[SENDER_AGENT_MAX + 1];
};

/* A write that was taken in. */
struct sender_note {
	struct str tenant;
	struct str address;
	struct str agent; /* what is longer than SENDER_AGENT_MAX is cut */
	const char *route;
	int64_t time_unix_ns;
};

struct senders;

struct senders *senders_new(void) __attribute__((returns_nonnull));
void senders_free(struct senders *senders);
DEFINE_FREEP(senders)

void senders_note(struct senders *senders, const struct sender_note *note);

/* Copies of the tenant's, the latest first, at most `max`; returns how many. */
size_t senders_list(struct senders *senders, struct str tenant, struct sender *out, size_t max);
