/*
 * The gRPC protocol, unary, around the same messages as Connect: what stands on the wire
 * before and behind a handler that speaks Connect.
 *
 * Shape    three forms: gRPC (trailers behind the body), gRPC-Web (trailers in a last
 *          frame of the body) and gRPC-Web in base64. grpc_accept() takes a request apart
 *          as connect_accept() does; the handler answers as ever; grpc_answer() makes its
 *          response one of gRPC when all is said, also one that somebody refused before
 *          the handler. A frame is a byte of flags, a big-endian length of four bytes, a
 *          message.
 * Units    bytes; a message's limit holds for what was sent and for what it unpacks to.
 * Errors   grpc-status of the response, with HTTP's 200.
 * Source   ingest specification, 4.5, 5.6 and 11.1; the gRPC over HTTP/2 protocol
 */
#pragma once

#include "api/connect.h"

#define GRPC_PREFIX_LENGTH 5

/*
 * Whether the content type is one of gRPC's, in any form, also one that no route takes:
 * its sender reads a grpc-status and nothing else.
 */
bool grpc_is(const struct http_request *request);

/* Whether it is one that grpc_accept() takes. */
bool grpc_is_known(const struct http_request *request);

/*
 * True: go on with *call. False: *response says why, as a Connect one; grpc_answer() makes
 * it gRPC's.
 */
bool grpc_accept(const struct http_request *request, size_t message_limit, struct arena *arena,
                 struct connect_call *call, struct http_response *response);

/* A request for a path that is none. */
void grpc_unknown_path(struct str path, struct http_response *response);

/*
 * Makes a handler's complete response one of gRPC: 200 with a message, and whatever has a
 * response->failure. Others (405, 415) stay HTTP's. A message over message_limit becomes
 * resource_exhausted, in response->failure, too.
 */
void grpc_answer(const struct http_request *request, size_t message_limit, struct arena *arena,
                 struct http_response *response);

/* Bytes that a body may have whose message may have message_limit. */
size_t grpc_body_limit(const struct http_request *request, size_t message_limit);

/*
 * Bytes that the frame at the beginning of a body announces, its prefix included: 0 when
 * the prefix is not there yet, or has another form.
 */
uint64_t grpc_announced(const struct http_request *request, struct str body);

/* What is wrong with a message of that many bytes. Returns -1. */
int grpc_too_large(uint64_t size, size_t limit, struct error *err);
