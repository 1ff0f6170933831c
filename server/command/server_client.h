/*
 * A running server as the command line sees it: its address, its tenant, and calls.
 *
 * Errors   ERROR_UNAVAILABLE when nobody answers; a status of 400 and more becomes an
 *          error with the server's words.
 * Threads  a client belongs to one thread.
 */
#pragma once

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/strbuf.h"

#define SERVER_CLIENT_ANSWER_MAX (size_t)(1024 * 1024 * 1024)

struct server_client;

/*
 * NULL for `url` and `tenant`: what VRAMSCOPE_URL and VRAMSCOPE_TENANT say, else the
 * default address and no tenant. VRAMSCOPE_TOKEN is shown as a bearer token, and
 * VRAMSCOPE_CA_FILE names who signs the server's certificate.
 */
int server_client_open(const char *url, const char *tenant, struct server_client **out,
                       struct error *err);
void server_client_free(struct server_client *client);
DEFINE_FREEP(server_client)

/* Without a slash at its end. */
const char *server_client_url(const struct server_client *client);

/* POSTs `body` to `path` (with its query) and appends the answer. */
int server_client_post(struct server_client *client, const char *path, const char *content_type,
                       struct str body, struct strbuf *answer, struct error *err);

/* GETs `path` (with its query) and appends the answer. */
int server_client_get(struct server_client *client, const char *path, struct strbuf *answer,
                      struct error *err);
