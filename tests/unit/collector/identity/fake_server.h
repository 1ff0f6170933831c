/*
 * An API server that does what a script says: tests/support/fake_api_server.py, started.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/arena.h"
#include "collector/identity/kubernetes_access.h"

#define FAKE_REQUESTS_MAX 64

struct fake_server {
	char folder[64];
	char output[128];
	pid_t pid;
	int input; /* it ends with it */
	struct kubernetes_access access;
};

/* One that it has seen. */
struct fake_request {
	struct str path;
	struct str token;
	double time_s;
};

/* Whether this machine has what it needs; else says why. */
bool fake_server_is_possible(void);

/* A failure fails the test. */
void fake_server_start(struct fake_server *server, const char *script);
void fake_server_stop(const struct fake_server *server);

/* From now on, what whoever asks has to show. */
void fake_server_set_token(const struct fake_server *server, const char *token);

/* The texts are in the arena. */
size_t fake_server_requests(const struct fake_server *server, struct arena *arena,
                            struct fake_request requests[FAKE_REQUESTS_MAX]);
size_t fake_server_request_count(const struct fake_server *server);
