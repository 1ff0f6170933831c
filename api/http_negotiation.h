/*
 * What a client says that it can read: Accept and Accept-Encoding.
 *
 * Source   read specification, 2.2, 2.10 and 4
 */
#pragma once

#include <stdbool.h>

#include "api/http_message.h"

#define HTTP_COMPRESS_MIN 1400 /* bytes; smaller plain bodies fit one packet anyway */

/* Whether any Accept header has the parameter allow-utf8-labelnames=true; tolerant. */
bool http_accepts_utf8_label_names(const struct http_request *request);

/* Whether Accept-Encoding lists gzip (or *) with a quality above zero: plain routes. */
bool http_accepts_gzip(const struct http_request *request);

/*
 * Whether Accept-Encoding has the literal element gzip between commas and blanks: Connect
 * routes, which do not read qualities.
 */
bool http_lists_gzip(const struct http_request *request);

/*
 * Plain routes: says Vary: Accept-Encoding, and compresses a body of HTTP_COMPRESS_MIN
 * bytes and more when the client accepts it. Leaves alone what has a Content-Encoding
 * already.
 */
void http_compress_response(const struct http_request *request, struct http_response *response);

/* How a message came. */
enum http_coding {
	HTTP_IDENTITY,
	HTTP_GZIP,
};

/* What a call's header says; ERROR_UNIMPLEMENTED, with what there is, for any other. */
int http_read_coding(const struct http_request *request, const char *header, enum http_coding *out,
                     struct error *err);

/* Replaces the body by its gzip form and says so. An overflow stays with the body. */
void http_response_gzip(struct http_response *response);
