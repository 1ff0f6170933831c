/*
 * The write requests that were refused last, for the person who asks why there is nothing
 * to be seen.
 *
 * Shape    in memory alone, newest first; each tenant has its own, and nobody sees those
 *          of another. A tenant that has REJECTS_PER_TENANT loses its oldest for a new
 *          one; so does everybody together at REJECTS_MAX. Adding one costs its bytes,
 *          however many there are: threads that move bytes do it.
 * Units    a reject takes some 1600 bytes, whatever it was about.
 * Threads  any: a lock guards the list.
 * Source   own API specification
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "server/tenant.h"

#define REJECTS_MAX         1000
#define REJECTS_PER_TENANT  100
#define REJECT_MESSAGE_MAX  1024 /* reasons stand behind labels */
#define REJECT_BYTES_MAX    64   /* of the body */
#define REJECT_SENDER_MAX   64   /* "[address]:port" */
#define REJECT_AGENT_MAX    96
#define REJECT_REASON_OTHER "failed"
/* of a write that was answered 200, as its protocol has it, and left nothing behind */
#define REJECT_REASON_NOTHING "nothing_stored"

/* A text of at most `max` bytes, cut where it was longer. */
#define REJECT_TEXT(max)        \
	struct {                \
		size_t length;  \
		char data[max]; \
	}

struct reject {
	int64_t time_unix_ns;
	const char *route; /* its path */
	const char *reason;
	int status; /* of HTTP, also where the protocol says it otherwise */
	size_t body_bytes;
	REJECT_TEXT(TENANT_MAX) tenant;
	REJECT_TEXT(REJECT_SENDER_MAX) sender;
	REJECT_TEXT(REJECT_AGENT_MAX) agent;
	REJECT_TEXT(REJECT_MESSAGE_MAX) message;
	REJECT_TEXT(REJECT_BYTES_MAX) first;
};

/* Fills a REJECT_TEXT. */
#define REJECT_SET(text, view)                                                   \
	do {                                                                     \
		const struct str from_ = str_first((view), sizeof((text).data)); \
		(text).length = from_.length;                                    \
		if (from_.length > 0)                                            \
			memcpy((text).data, from_.data, from_.length);           \
	} while (0)

#define REJECT_VIEW(text) str_make((text).data, (text).length)

struct rejects;

struct rejects *rejects_new(void) __attribute__((returns_nonnull));
void rejects_free(struct rejects *rejects);
DEFINE_FREEP(rejects)

void rejects_add(struct rejects *rejects, const struct reject *reject);

/* Copies of the tenant's newest, at most `max`; returns how many. */
size_t rejects_list(struct rejects *rejects, struct str tenant, struct reject *out, size_t max);

/* A word for a status, one of few: "invalid", "too_large", ... */
const char *reject_reason(int status);
