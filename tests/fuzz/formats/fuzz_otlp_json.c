/*
 * An export request of OTLP profiles from any text: what is one is a message that reads as
 * well formed, whatever it says.
 */
#include <assert.h>
#include <string.h>

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
		assert(!strstr(err.message, "malformed"));
	return 0;
}
