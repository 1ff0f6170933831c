/*
 * An export request of OTLP profiles from any text: the message that is made of it is read,
 * or refused as what a sender did wrong.
 */
#include <assert.h>

#include "formats/otlp_json.h"
#include "formats/otlp_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)64 << 20, NULL);
	struct otlp_options options = { .limits = &ingest_limits_default };
	struct otlp_request request;
	struct error err = { 0 };
	struct str message;

	if (otlp_json_read(str_make(data, size), arena, &message, &options.layout, &err) < 0)
		return 0;
	if (otlp_request_decode(message, &options, arena, &request, &err) < 0)
		assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
	return 0;
}
