/*
 * The Connect protocol, unary: what stands around a message.
 *
 * Shape    connect_accept() checks method, content type, encoding, protocol version and
 *          timeout in the reference's order and gives the plain message; connect_reply()
 *          or connect_fail() write the answer in the same codec.
 * Errors   a refused request is answered in full (405, 415, an error JSON): the handler
 *          has nothing more to do.
 * Source   read specification, section 2; ingest specification, 4.3
 */
#pragma once

#include <stdbool.h>

#include "api/error_json.h"
#include "api/http_message.h"
#include "api/http_negotiation.h"

enum connect_codec {
	CONNECT_PROTO,
	CONNECT_JSON,
};

struct connect_call {
	enum connect_codec codec;
	struct str message;      /* decoded */
	struct str content_type; /* canonical: what the answer says */
	bool gzip_answer;
	bool utf8_label_names; /* Accept: ...;allow-utf8-labelnames=true */
	int64_t timeout_ns;    /* of Connect-Timeout-Ms; 0: none */
};

/*
 * True: go on with *call. False: *response is complete. message_limit bounds the message
 * after decompression.
 */
bool connect_accept(const struct http_request *request, size_t message_limit, struct arena *arena,
                    struct connect_call *call, struct http_response *response);

/*
 * 200 with the message that response->body holds (compressed when the call asked for it).
 * A body that did not fit becomes resource_exhausted.
 */
void connect_reply(const struct connect_call *call, struct http_response *response);

void connect_fail(const struct error *err, struct http_response *response);
