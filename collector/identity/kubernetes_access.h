/*
 * Where the API server of this cluster is, and what a service account may show it.
 *
 * Shape    found in the environment of a pod, KUBERNETES_SERVICE_HOST and _PORT, and in a
 *          folder of credentials: token, ca.crt. The token is read anew for each request:
 *          it is exchanged each hour.
 * Errors   those of base/http_client.h, and kubernetes_access_get()'s own.
 * Threads  finding: before any are started. Asking: one for a client.
 * Source   Kubernetes, "Accessing the API from a Pod"
 */
#pragma once

#include <stdbool.h>

#include "base/http_client.h"

#define KUBERNETES_CREDENTIALS "/var/run/secrets/kubernetes.io/serviceaccount"
#define KUBERNETES_URL_BYTES   128
#define KUBERNETES_PATH_BYTES  4096

struct kubernetes_access {
	char url[KUBERNETES_URL_BYTES]; /* "https://10.0.0.1:443" */
	char ca_file[KUBERNETES_PATH_BYTES];
	char token_file[KUBERNETES_PATH_BYTES];
};

/* False outside of a cluster: no such variables, or no token. */
bool kubernetes_access_find(const char *credentials, struct kubernetes_access *out);

/* What is asked, and by whom. */
struct kubernetes_request {
	struct http_client *client;
	const char *path; /* "/api/v1/pods?limit=1" */
	int64_t timeout_ms;
	struct http_client_body body; /* who gets a 200's */
};

/*
 * GET. Any other status than 200 is an error: ERROR_NOT_FOUND for 410, else
 * ERROR_UNAVAILABLE; no token, or none that is one, is ERROR_INVALID. *out_wait_ns is how
 * long the server asks to be left alone, or 0, also on failure.
 */
int kubernetes_access_get(const struct kubernetes_access *access,
                          const struct kubernetes_request *request, int64_t *out_wait_ns,
                          struct error *err);
