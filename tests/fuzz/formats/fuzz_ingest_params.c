/*
 * The query of /ingest, any bytes: what is taken has a name and a spy, and makes labels
 * that each have a name.
 */
#include <assert.h>
#include <stdint.h>

#include "formats/ingest_params.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)4 << 20, NULL);
	struct ingest_params params;
	struct label_set labels;
	struct error err = { 0 };

	if (ingest_params_parse(str_make(data, size), INT64_C(1700000000000000000), arena, &params,
	                        &err) < 0) {
		assert(err.code == ERROR_INVALID || err.code == ERROR_TOO_LARGE);
		return 0;
	}
	assert(params.name.app.length > 0 && params.spy_name.length > 0);
	if (ingest_params_labels(&params, STR("cpu"), params.name.app, arena, &labels, &err) < 0) {
		assert(arena_overflowed(arena));
		return 0;
	}
	for (size_t i = 0; i < labels.count; i++)
		assert(labels.labels[i].name.length > 0);
	return 0;
}
