#include "collector/identity/kubernetes_access.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strbuf.h"

#define TOKEN_MAX    ((size_t)32 << 10)
#define PATH_BYTES   1024
#define WAIT_MOST_NS (300 * NS_PER_S) /* of Retry-After; a guess */

/* A host or a port: whatever else stands there makes no URL. */
static bool is_plain(const char *text, const char *others)
{
	for (const char *at = text; *at; at++)
		if (!(*at >= '0' && *at <= '9') && !(*at >= 'a' && *at <= 'z') &&
		    !(*at >= 'A' && *at <= 'Z') && !strchr(others, *at))
			return false;
	return text[0] != '\0';
}

static bool join(char out[KUBERNETES_PATH_BYTES], const char *folder, const char *name)
{
	return snprintf(out, KUBERNETES_PATH_BYTES, "%s/%s", folder, name) < KUBERNETES_PATH_BYTES;
}

bool kubernetes_access_find(const char *credentials, struct kubernetes_access *out)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): likewise */
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	int length;

	if (!host || !is_plain(host, ".-:"))
		return false;
	if (!port || !is_plain(port, ""))
		port = "443";
	/* an IPv6 address has colons of its own */
	length = snprintf(out->url, sizeof(out->url),
	                  strchr(host, ':') ? "https://[%s]:%s" : "https://%s:%s", host, port);
	return length < (int)sizeof(out->url) && join(out->ca_file, credentials, "ca.crt") &&
	       join(out->token_file, credentials, "token") && access(out->token_file, F_OK) == 0;
}

/* ---- asking ---- */

static int read_token(const char *path, struct strbuf *out, struct error *err)
{
	const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int result;

	if (descriptor < 0)
		return error_set(err, ERROR_INVALID, "there is no token of a service account");
	result = strbuf_read(out, descriptor);
	(void)close(descriptor);
	if (result < 0)
		return error_set(err, ERROR_INVALID,
		                 "the token of the service account cannot be read");
	return 0;
}

/* The token is one line of what a header may hold. */
static int add_header(const struct kubernetes_access *access, struct strbuf *text,
                      struct strbuf *out, struct error *err)
{
	struct str token;

	if (read_token(access->token_file, text, err) < 0)
		return -1;
	token = str_trim(strbuf_view(text));
	for (size_t i = 0; i < token.length; i++)
		if (token.data[i] <= ' ' || token.data[i] > '~')
			token.length = 0;
	if (token.length == 0 || strbuf_overflowed(text))
		return error_set(err, ERROR_INVALID,
		                 "the token of the service account is no token");
	strbuf_add_text(out, "Authorization: Bearer ");
	strbuf_add_str(out, token);
	return 0;
}

static const char *meaning_of(int status)
{
	switch (status) {
	case 401:
		return " (it does not take the token)";
	case 403:
		return " (the service account needs pods: get, list, watch)";
	default:
		return "";
	}
}

static int64_t wait_of(const struct http_client_answer *answer)
{
	return answer->retry_after_s < WAIT_MOST_NS / NS_PER_S ? answer->retry_after_s * NS_PER_S
	                                                       : WAIT_MOST_NS;
}

static int get(const struct kubernetes_access *access, const struct kubernetes_request *request,
               const char *header, int64_t *out_wait_ns, struct error *err)
{
	const char *const headers[] = { header, "Accept: application/json", NULL };
	struct http_client_answer answer;
	char url[KUBERNETES_URL_BYTES + PATH_BYTES];

	if (snprintf(url, sizeof(url), "%s%s", access->url, request->path) >= (int)sizeof(url))
		return error_set(err, ERROR_INVALID, "a request that is too long");
	if (http_client_stream(request->client,
	                       &(struct http_client_request){
				       .method = "GET",
				       .url = url,
				       .headers = headers,
				       .timeout_ms = request->timeout_ms,
				       .ca_file = access->ca_file,
			       },
	                       &request->body, &answer, err) < 0)
		return -1;
	*out_wait_ns = wait_of(&answer);
	if (answer.status == 200)
		return 0;
	return error_set(err, answer.status == 410 ? ERROR_NOT_FOUND : ERROR_UNAVAILABLE,
	                 "the API server answers %d%s", answer.status, meaning_of(answer.status));
}

int kubernetes_access_get(const struct kubernetes_access *access,
                          const struct kubernetes_request *request, int64_t *out_wait_ns,
                          struct error *err)
{
	struct strbuf text;
	struct strbuf header;
	int result;

	*out_wait_ns = 0;
	strbuf_init(&text, TOKEN_MAX);
	strbuf_init(&header, TOKEN_MAX + sizeof("Authorization: Bearer "));
	result = add_header(access, &text, &header, err);
	if (result == 0)
		result = get(access, request, header.data, out_wait_ns, err);
	explicit_bzero(text.data, text.length); /* they let anybody ask in our name */
	explicit_bzero(header.data, header.length);
	strbuf_fini(&text);
	strbuf_fini(&header);
	return result;
}
