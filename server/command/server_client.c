#include "server/command/server_client.h"

#include <stdlib.h>
#include <string.h>

#include "base/http_client.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/bearer_token.h"

#define DEFAULT_URL    "http://127.0.0.1:4040"
#define ERROR_TEXT_MAX 65536 /* bytes of a refusal that are looked at */
#define URL_MAX        131072

struct server_client {
	struct http_client *http;
	char *url;
	char *headers[2]; /* tenant and token, as far as there are any */
	size_t header_count;
	const char *ca_file; /* or NULL */
};

/* Read before any thread starts, as all of the command line. */
static const char *from_environment(const char *name)
{
	const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

	return value && *value ? value : NULL;
}

void server_client_free(struct server_client *client)
{
	if (!client)
		return;
	http_client_free(client->http);
	free(client->url);
	for (size_t i = 0; i < client->header_count; i++)
		free(client->headers[i]);
	free(client);
}

static void keep_header(struct server_client *client, struct strbuf *header)
{
	client->headers[client->header_count++] = strbuf_detach(header, NULL);
}

static int read_token(struct server_client *client, struct error *err)
{
	CLEANUP(strbuf_fini) struct strbuf header;

	strbuf_init(&header, BEARER_TOKEN_MAX);
	if (bearer_token_header("", &header, err) < 0)
		return -1;
	if (header.length > 0)
		keep_header(client, &header);
	return 0;
}

int server_client_open(const char *url, const char *tenant, struct server_client **out,
                       struct error *err)
{
	CLEANUP(server_client_freep) struct server_client *client = mem_zalloc(1, sizeof(*client));
	const char *address = url ? url : from_environment("VRAMSCOPE_URL");
	const char *who = tenant ? tenant : from_environment("VRAMSCOPE_TENANT");
	struct strbuf header;
	struct str text = str_of(address ? address : DEFAULT_URL);

	if (http_client_check_url(text.data, err) < 0)
		return -1;
	while (str_ends_with(text, STR("/")))
		text.length--;
	client->url = mem_strndup(text.data, text.length);
	if (who) {
		strbuf_init(&header, 4096);
		strbuf_printf(&header, "X-Scope-OrgID: %s", who);
		keep_header(client, &header);
	}
	client->ca_file = from_environment("VRAMSCOPE_CA_FILE");
	if (read_token(client, err) < 0 || http_client_new(&client->http, err) < 0)
		return -1;
	*out = TAKE(client);
	return 0;
}

const char *server_client_url(const struct server_client *client)
{
	return client->url;
}

static const char *what_helps(int status, struct str message)
{
	if (status != 401)
		return "";
	return str_find(message, STR("credentials")) >= 0
	               ? "; the environment's " BEARER_TOKEN_ENVIRONMENT " holds the secret"
	               : "; --tenant NAME says whose profiles";
}

/* What a refusal says: its "message" where it is our JSON, else the text itself. */
static int refusal(const struct server_client *client, int status, struct str body,
                   struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(4 * ERROR_TEXT_MAX, NULL);
	const struct json *json = NULL;
	struct error ignored = { 0 };
	struct str message = str_trim(str_first(body, 300));

	if (json_parse(str_first(body, ERROR_TEXT_MAX), arena, &json, &ignored) == 0 &&
	    json_kind(json_get(json, "message")) == JSON_TEXT)
		message = json_text(json_get(json, "message"));
	return error_set(err, status >= 500 ? ERROR_UNAVAILABLE : ERROR_INVALID,
	                 "%s answered %d: %.*s%s", client->url, status, STR_ARGS(message),
	                 what_helps(status, message));
}

/* *err says what the network said; a person wants to know what to do about it. */
static int no_answer(const struct server_client *client, struct error *err)
{
	const struct error cause = *err;

	if (cause.code != ERROR_UNAVAILABLE)
		return error_context(err, "%s", client->url);
	return error_set(err, ERROR_UNAVAILABLE,
	                 "%s does not answer (%s); `vramscope server` starts a server, --url names "
	                 "another",
	                 client->url, cause.message);
}

/* Sends a request whose URL is `path` behind the server's. */
static int ask(struct server_client *client, const char *path, struct http_client_request *request,
               struct strbuf *answer, struct error *err)
{
	struct strbuf url;
	int status = 0;
	int result;

	strbuf_init(&url, URL_MAX);
	strbuf_printf(&url, "%s%s", client->url, path);
	request->url = url.data;
	request->timeout_ms = 120000;
	request->gzip = true;
	request->ca_file = client->ca_file;
	result = http_client_do(client->http, request, answer, &status, err);
	if (result < 0)
		result = no_answer(client, err);
	else if (status >= 400)
		result = refusal(client, status, strbuf_view(answer), err);
	strbuf_fini(&url);
	return result;
}

int server_client_post(struct server_client *client, const char *path, const char *content_type,
                       struct str body, struct strbuf *answer, struct error *err)
{
	struct strbuf type;
	const char *headers[4] = { NULL, client->headers[0], client->headers[1] };
	int result;

	strbuf_init(&type, 256);
	strbuf_printf(&type, "Content-Type: %s", content_type);
	headers[0] = type.data;
	result = ask(
		client, path,
		&(struct http_client_request){ .method = "POST", .headers = headers, .body = body },
		answer, err);
	strbuf_fini(&type);
	return result;
}

int server_client_get(struct server_client *client, const char *path, struct strbuf *answer,
                      struct error *err)
{
	const char *headers[3] = { client->headers[0], client->headers[1] };

	return ask(client, path,
	           &(struct http_client_request){ .method = "GET", .headers = headers }, answer,
	           err);
}
