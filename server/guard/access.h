/*
 * Whether a request may go on: by its credentials, and the role that its route asks for.
 *
 * Shape    made once from the options; without credentials everybody may do everything.
 *          Failures count for the address that they come from (IPv6: its /64): past
 *          ACCESS_FAILURES in a row, one each ACCESS_FAILURE_NS, every request with
 *          credentials is refused unseen.
 * Errors   ERROR_UNAUTHENTICATED: none, or wrong ones. ERROR_FORBIDDEN: the role is not
 *          theirs. ERROR_RATE_LIMITED: too many failures.
 * Threads  any; access_reload(): one at a time. Credentials that were in force once stay
 *          as long as the access.
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "server/guard/role.h"
#include "server/http/exchange.h"

#define ACCESS_FAILURES    20 /* of an address, at once; a guess */
#define ACCESS_FAILURE_NS  ((int64_t)5000000000)
#define ACCESS_RETRY_AFTER "5" /* seconds, as ACCESS_FAILURE_NS */
#define ACCESS_ENVIRONMENT "VRAMSCOPE_CREDENTIALS"

struct access;
struct options;

int access_open(const struct options *options, struct access **out, struct error *err);
void access_free(struct access *access);
DEFINE_FREEP(access)

/* Reads the credentials again. After an error those that were in force stay. */
int access_reload(struct access *access, const struct options *options, struct error *err);

/* Whether anybody is asked for credentials. */
bool access_asks(struct access *access);

/* True: exchange->credential is set, or nobody is asked; nobody is where `access` is NULL. */
bool access_check(struct access *access, struct exchange *exchange, unsigned role,
                  struct error *err);
