/*
 * Bytes as a gRPC request: lines "Name: value" up to an empty one, then the body. What was
 * in the frame is answered, and the answer is looked at.
 */
#include <assert.h>
#include <stdint.h>

#include "api/grpc.h"
#include "base/cleanup.h"

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

/* Trailers are printable, whatever the failure quotes. */
static void check_trailers(const struct http_response *response)
{
	for (size_t i = 0; i < response->trailer_count; i++) {
		const struct str value = response->trailers[i].value;

		for (size_t at = 0; at < value.length; at++)
			assert(value.data[at] >= ' ' && value.data[at] <= '~');
	}
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
	if (!grpc_is_known(&request))
		return 0;
	http_response_init(&response, 2 * LIMIT);
	(void)grpc_announced(&request, request.body);
	if (grpc_accept(&request, LIMIT, arena, &call, &response)) {
		assert(call.message.length <= LIMIT);
		strbuf_add_str(&response.body, call.message);
		connect_reply(&call, &response);
	} else {
		assert(response.failure.code != ERROR_NONE);
	}
	grpc_answer(&request, LIMIT, arena, &response);
	assert(response.status == 200);
	check_trailers(&response);
	http_response_fini(&response);
	return 0;
}
