/*
 * Bytes as a Connect request: lines "Name: value" up to an empty one, then the body.
 */
#include <assert.h>
#include <stdint.h>

#include "api/connect_message.h"
#include "base/cleanup.h"
#include "proto/querier.pb-c.h"

#define LIMIT       ((size_t)1 << 20)
#define HEADERS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes a header line off *rest; false at the empty line or the end. */
static bool take_header(struct str *rest, struct http_header *out)
{
	const ptrdiff_t end = str_index(*rest, '\n');
	const struct str line = end < 0 ? STR("") : str_first(*rest, (size_t)end);
	const ptrdiff_t colon = str_index(line, ':');

	if (end >= 0)
		*rest = str_skip(*rest, (size_t)end + 1);
	if (colon < 0)
		return false;
	out->name = str_first(line, (size_t)colon);
	out->value = str_trim(str_skip(line, (size_t)colon + 1));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct http_header headers[HEADERS_MAX];
	struct http_request request = { .method = STR("POST"), .headers = headers };
	struct str rest = str_make(data, size);
	struct http_response response;
	struct connect_call call;

	while (request.header_count < HEADERS_MAX &&
	       take_header(&rest, &headers[request.header_count]))
		request.header_count++;
	request.body = rest;
	http_response_init(&response, LIMIT);
	if (connect_accept(&request, LIMIT, arena, &call, &response)) {
		ProtobufCMessage *message;
		struct error err;

		assert(call.message.length <= LIMIT);
		if (connect_read(&call, &querier__v1__diff_request__descriptor, arena, &message,
		                 &err) == 0)
			connect_write(&call, message, &response);
		else
			connect_fail(&err, &response);
	}
	assert(response.status >= 200);
	http_compress_response(&request, &response);
	http_response_fini(&response);
	return 0;
}
