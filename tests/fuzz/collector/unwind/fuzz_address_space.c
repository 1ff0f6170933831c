/*
 * The text of maps from bytes, then mappings over it: the list stays in order, and every
 * address of a mapping finds that mapping.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/unwind/address_space.h"
#include "tests/unit/collector/unwind/empty_view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int no_maps(void *context, struct strbuf *out, struct error *err)
{
	(void)context;
	(void)out;
	return error_set(err, ERROR_NOT_FOUND, "gone");
}

static int no_module(void *context, struct module_cache *modules, const struct mapped_file *file,
                     struct module **out, struct error *err)
{
	(void)context;
	(void)modules;
	(void)out;
	assert(file->path.data[file->path.length] == '\0');
	return error_set(err, ERROR_NOT_FOUND, "gone");
}

static void check(struct address_space *space)
{
	size_t count;
	const struct mapping *mappings = address_space_mappings(space, &count);

	for (size_t i = 0; i < count; i++) {
		assert(mappings[i].start < mappings[i].end);
		assert(i == 0 || mappings[i - 1].end <= mappings[i].start);
		assert(address_space_known(space, mappings[i].start) == &mappings[i]);
		assert(address_space_known(space, mappings[i].end - 1) == &mappings[i]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct process_view view = {
		no_maps, no_module, empty_view_memory, empty_view_perf_map, empty_view_close,
		NULL,    NULL
	};
	CLEANUP(module_cache_freep) struct module_cache *modules = module_cache_new(1 << 20);
	CLEANUP(address_space_freep)
	struct address_space *space = address_space_new(modules, &view);
	size_t at = 0;

	address_space_parse(space, str_make(data, size));
	check(space);
	address_space_parse(space, str_make(data, size / 2));
	check(space);
	for (; size - at >= 3; at += 3) {
		const struct mapped_file file = {
			.start = (uint64_t)data[at] << 12,
			.end = (uint64_t)(data[at] + (data[at + 1] & 15)) << 12,
			.offset = data[at + 2],
			.path = STR("/lib/libx.so"),
		};

		if (at > 300)
			break;
		address_space_map(space, &file);
		check(space);
		assert(file.start >= file.end ||
		       address_space_known(space, file.start)->end == file.end);
	}
	return 0;
}
