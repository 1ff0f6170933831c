/*
 * A file of code from bytes: whatever they are, every question about it ends. What it says
 * is what its skeleton says.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/elf/module_cache.h"
#include "collector/elf/module_skeleton.h"
#include "collector/elf/symbol_index.h"

#define PROBES_MAX 512 /* addresses that are asked for */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_same_symbol(struct module *module, struct module *copy, uint64_t address)
{
	char text[SYMBOL_NAME_MAX + 1];
	char copied[SYMBOL_NAME_MAX + 1];
	uint64_t start;
	uint64_t copied_start;
	const struct str name = module_symbol(module, address, text, &start);

	assert(name.length <= SYMBOL_NAME_MAX);
	if (copy)
		assert(str_equal(name, module_symbol(copy, address, copied, &copied_start)));
}

static void ask(struct module *module, struct module *copy, uint64_t address)
{
	const struct unwind_row *row = module_row(module, address);
	uint8_t bytes[64];

	if (row && row->cfa_is_expression)
		(void)module_expression(module, row->cfa_number, bytes, sizeof(bytes));
	if (row)
		assert(row->cfa_is_expression || row->cfa_register < REGISTER_COUNT);
	(void)module_read(module, address, bytes, sizeof(bytes));
	assert_same_symbol(module, copy, address);
}

static void ask_everywhere(struct module *module, struct module *copy)
{
	const struct elf_image *image = module_image(module);
	uint64_t offset;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];
		const uint64_t stride = segment->file_size / PROBES_MAX + 1;

		for (uint64_t at = 0; at < segment->file_size; at += stride)
			ask(module, copy, segment->address + at);
		(void)module_bias(module, 0x7f0000000000, segment->offset, &offset);
		(void)module_offset(module, segment->address, &offset);
	}
}

static void compare_skeleton(struct module *module)
{
	CLEANUP(module_cache_freep)
	struct module_cache *cache = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	struct strbuf skeleton;
	struct module *copy = NULL;
	struct error err;

	strbuf_init(&skeleton, (size_t)64 << 20);
	if (module_skeleton_write(module, &skeleton, &err) == 0) {
		assert(module_cache_open_skeleton(cache, strbuf_view(&skeleton), &copy, &err) == 0);
		assert(str_equal(module_build_id(copy), module_build_id(module)));
	}
	ask_everywhere(module, copy);
	module_unref(copy);
	strbuf_fini(&skeleton);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(module_cache_freep)
	struct module_cache *cache = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	struct elf_section section;
	struct module *module;
	struct error err;
	uint64_t address;

	if (module_cache_open_bytes(cache, str_make(data, size), STR("/lib/libx.so"), &module,
	                            &err) < 0) {
		assert(err.code == ERROR_INVALID);
		return 0;
	}
	(void)module_export(module, "_PyRuntime", &address);
	(void)module_export(module, "exported", &address);
	(void)module_section(module, ".PyRuntime", &section);
	compare_skeleton(module);
	module_unref(module);
	return 0;
}
