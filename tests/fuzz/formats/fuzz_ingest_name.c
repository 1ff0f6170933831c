/*
 * The name parser on any bytes: what it takes has an application, and labels with names.
 */
#include <assert.h>

#include "base/utf8.h"
#include "formats/ingest_name.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)4 << 20, NULL);
	struct ingest_name name;
	struct error err = { 0 };

	if (ingest_name_parse(str_make(data, size), arena, &name, &err) < 0) {
		assert(err.code != ERROR_NONE);
		return 0;
	}
	assert(name.app.length > 0 && utf8_is_valid(name.app));
	for (size_t i = 0; i < name.labels.count; i++) {
		assert(name.labels.labels[i].name.length > 0);
		assert(utf8_is_valid(name.labels.labels[i].value));
		for (size_t before = 0; before < i; before++)
			assert(!str_equal(name.labels.labels[before].name,
			                  name.labels.labels[i].name));
	}
	return 0;
}
