/*
 * Looks of any bytes: they end, and a message about them stays one.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "formats/content.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void explain(const struct content_sent *sent)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)16 << 20, NULL);
	struct error err = { ERROR_INVALID, "bad" };
	const bool is_explained = content_explain(sent, arena, &err);

	assert(strncmp(err.message, "bad", 3) == 0);
	assert(is_explained == (strlen(err.message) > 3));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct str body = str_make(data, size);

	explain(&(struct content_sent){ body, STR(""), "none" });
	explain(&(struct content_sent){ body, STR("multipart/form-data; boundary=b"), "none" });
	(void)content_is_joined(body);
	return 0;
}
