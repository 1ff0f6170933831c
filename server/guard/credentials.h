/*
 * Who may come in: names, roles, tenants and hashes of secrets.
 *
 * Shape    a line each: NAME ROLES TENANTS SECRET, separated by blanks; '#' begins a
 *          comment. ROLES are read, write and admin, joined by commas; TENANTS are
 *          names joined by commas, or '*'. SECRET is a text of CREDENTIAL_SECRET_MIN
 *          visible characters and more, or sha256:HEX of one. Only hashes are kept.
 * Errors   ERROR_INVALID with place and line; messages never hold a secret.
 * Threads  immutable after credentials_parse().
 * Source   docs/how-to/secure-it.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

#define CREDENTIALS_MAX         1000 /* lines with one; a guess */
#define CREDENTIALS_TEXT_MAX    ((size_t)1 << 20)
#define CREDENTIAL_SECRET_MIN   16  /* characters: nobody guesses them */
#define CREDENTIAL_TENANTS_MAX  100 /* of one; a guess */
#define CREDENTIAL_DIGEST_BYTES 32

struct credential {
	struct str name;
	unsigned roles; /* bits of enum role */
	unsigned char digest[CREDENTIAL_DIGEST_BYTES];
	struct str *tenants;
	size_t tenant_count; /* 0: for every tenant */
};

struct credentials;

/* Reads a text; `place` names it in messages. */
int credentials_parse(struct str text, const char *place, struct credentials **out,
                      struct error *err);
void credentials_free(struct credentials *credentials);
DEFINE_FREEP(credentials)

size_t credentials_count(const struct credentials *credentials);
const struct credential *credentials_at(const struct credentials *credentials, size_t index);

/*
 * The one that the value of a header Authorization fits, Basic or Bearer, or NULL. It takes
 * as long whichever fits, or none.
 */
const struct credential *credentials_find(const struct credentials *credentials,
                                          struct str authorization, struct arena *arena);

bool credential_is_for(const struct credential *credential, struct str tenant);
