/*
 * The secret that our own clients show to a server: from a file or the environment, never
 * from the command line, which every user of a machine may read.
 *
 * Errors   ERROR_INVALID for what is no token; ERROR_IO for a file that is not read;
 *          messages never hold it.
 * Threads  any; the environment is read before any starts.
 * Source   RFC 6750, 2.1
 */
#pragma once

#include "base/error.h"
#include "base/strbuf.h"

#define BEARER_TOKEN_MAX         8192 /* bytes with the header's name */
#define BEARER_TOKEN_ENVIRONMENT "VRAMSCOPE_TOKEN"

/*
 * Appends "Authorization: Bearer SECRET". Nothing where `path` is empty and the environment
 * has none.
 */
int bearer_token_header(const char *path, struct strbuf *out, struct error *err);
