/*
 * An HTTP request and its response as plain data: no sockets.
 *
 * Shape    the request's bytes are views that live as long as the request. The response's
 *          body is a strbuf; a handler that fails calls one of the error writers and
 *          loses what it had written.
 * Threads  none: one thread at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "base/strbuf.h"

struct http_header {
	struct str name; /* as sent, any case */
	struct str value;
};

struct http_request {
	struct str method;
	struct str path;  /* decoded, without prefix and query; a trailing slash stays */
	struct str query; /* raw, behind '?'; empty when there is none */
	const struct http_header *headers;
	size_t header_count;
	struct str body;
};

/* The value of the first header of that name (any case), or NULL. */
const struct str *http_request_header(const struct http_request *request, const char *name);

/*
 * The content type without parameters, lower case not enforced; empty when there is none.
 */
struct str http_request_media_type(const struct http_request *request);

#define HTTP_RESPONSE_HEADERS_MAX  16
#define HTTP_RESPONSE_TRAILERS_MAX 2

struct http_response {
	int status;
	/* static texts, or texts of the request's arena */
	struct http_header headers[HTTP_RESPONSE_HEADERS_MAX];
	size_t header_count;
	struct strbuf body;
	struct http_header trailers[HTTP_RESPONSE_TRAILERS_MAX]; /* behind the body */
	size_t trailer_count;
	/*
	 * what an error writer has told, for protocols that say it elsewhere than in the
	 * body; ERROR_NONE: this is no failure
	 */
	struct error failure;
};

/* 200, no headers, an empty body of at most body_limit bytes. */
void http_response_init(struct http_response *response, size_t body_limit);
void http_response_fini(struct http_response *response);

/* Empty again: status, headers, body and trailers, and no failure. */
void http_response_reset(struct http_response *response, int status);

/* The texts must outlive the response. A second header of one name is a second header. */
void http_response_header(struct http_response *response, const char *name, struct str value);
void http_response_trailer(struct http_response *response, const char *name, struct str value);

/* The value of the first header of that name (any case), or NULL. */
const struct str *http_response_find_header(const struct http_response *response, const char *name);

/* status, Content-Type and body in one step. */
void http_response_text(struct http_response *response, int status, const char *content_type,
                        struct str body);
