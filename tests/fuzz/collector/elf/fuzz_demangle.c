/* A symbol's name from bytes: it ends, within the limit, and says whether it changed. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/elf/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf out;

	strbuf_init(&out, 2 * DEMANGLE_OUTPUT_MAX);
	strbuf_add_text(&out, "before");
	if (demangle(str_make(data, size), &out))
		assert(out.length > 6);
	else
		assert(out.length == 6);
	assert(str_starts_with(strbuf_view(&out), STR("before")));
	strbuf_fini(&out);
	return 0;
}
