/*
 * Equal questions at one time are answered once: a dashboard that many look at.
 *
 * Shape    the first request of its kind executes. One that comes meanwhile waits for its
 *          response, without a worker, and gets a copy: as long as nothing was written for
 *          the tenant since the first one began, for then a new execution would say the
 *          same. The execution ends early only when nobody waits for it any more. Errors
 *          are shared as answers are; who has a deadline is told when it has passed.
 * Units    at most ANSWER_SHARE_MAX requests wait for one; others execute by themselves.
 * Threads  any. A request that waits belongs to the one that executes, until that has
 *          finished.
 */
#pragma once

#include <stdbool.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "server/http/exchange.h"

#define ANSWER_SHARE_MAX 1000 /* a guess */

struct answer_shares;

struct answer_shares *answer_shares_new(void) __attribute__((returns_nonnull));

/* Nothing executes any more. NULL is fine. */
void answer_shares_free(struct answer_shares *shares);
DEFINE_FREEP(answer_shares)

/*
 * Of a request that is read and about to execute, whose tenant and deadline are known. Two
 * with equal parts get the same answer (parts[i] as bytes: what is asked, and in which
 * form; the tenant and the route are added).
 * True: it waits for another one: the handler returns EXCHANGE_PENDING at once and does
 * not touch it any more. False: it executes.
 */
bool answer_share_join(struct answer_shares *shares, struct exchange *exchange,
                       const struct str *parts, size_t part_count);
