/* A skeleton from bytes: it is refused, or it is a file whose questions end. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "collector/elf/module_cache.h"
#include "collector/elf/module_skeleton.h"
#include "collector/elf/symbol_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_all(const struct code_bytes *bytes)
{
	uint8_t part[512];

	for (size_t i = 0; i < bytes->range_count && i < 64; i++) {
		const struct code_range *range = &bytes->ranges[i];

		assert(range->offset + range->length <= bytes->size);
		(void)code_bytes_read(bytes, range->offset, part, sizeof(part));
		(void)code_bytes_read(bytes, range->offset + range->length - 1, part, sizeof(part));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(module_cache_freep)
	struct module_cache *cache = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	const struct str skeleton = str_make(data, size);
	char text[SYMBOL_NAME_MAX + 1];
	struct module_skeleton parts;
	struct module *module;
	struct error err;
	uint64_t start;

	if (module_skeleton_read(skeleton, &parts, &err) < 0) {
		assert(err.code == ERROR_CORRUPT);
		return 0;
	}
	read_all(&parts.file);
	read_all(&parts.debug);
	module_skeleton_fini(&parts);
	if (module_cache_open_skeleton(cache, skeleton, &module, &err) < 0)
		return 0;
	(void)module_row(module, module_image(module)->base + 0x100);
	(void)module_symbol(module, module_image(module)->base + 0x100, text, &start);
	module_unref(module);
	return 0;
}
