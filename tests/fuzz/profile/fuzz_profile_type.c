/*
 * An id that is read has five parts whose joined text is the id, but for a sixth part.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile_type.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)4 << 20, NULL);
	const struct str id = str_make(data, size);
	struct profile_type type;
	struct error err = { 0 };
	struct str joined;

	if (profile_type_parse(id, &type, &err) < 0) {
		assert(err.code == ERROR_INVALID);
		return 0;
	}
	joined = profile_type_id(&type, arena);
	assert(joined.data && str_starts_with(id, joined));
	assert(joined.length == id.length || id.data[joined.length] == ':');
	(void)profile_type_merge(&type, PROFILE_MERGE_MEAN);
	return 0;
}
