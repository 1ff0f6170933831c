/*
 * The certificate and key that our end of TLS shows, as their files had them.
 *
 * Shape    counted: sessions hold the one that they began with, while a newer one is
 *          shown to others.
 * Errors   ERROR_INVALID with both files' names for what does not parse or fit.
 * Threads  one: the TLS thread's, but for the first load.
 */
#pragma once

#include <gnutls/gnutls.h>
#include <stdbool.h>

#include "base/error.h"

struct tls_identity;

int tls_identity_load(const char *certificate_path, const char *key_path, struct tls_identity **out,
                      struct error *err);
struct tls_identity *tls_identity_hold(struct tls_identity *identity);
void tls_identity_drop(struct tls_identity *identity); /* NULL is fine */

/*
 * Whether the files are others by now, by their inodes, sizes and times. Each change is told
 * once.
 */
bool tls_identity_has_changed(struct tls_identity *identity);

/* A session of a server, or NULL without memory. */
gnutls_session_t tls_identity_session(const struct tls_identity *identity);
