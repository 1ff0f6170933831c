#include "collector/elf/module.h"

#include <stdio.h>

#include "collector/elf/call_frame.h"
#include "collector/elf/debug_data.h"
#include "collector/elf/module_parts.h"

struct module *module_ref(struct module *module)
{
	module->cache->referenced += module->references++ == 0;
	return module;
}

void module_unref(struct module *module)
{
	if (module)
		module->cache->referenced -= --module->references == 0;
}

uint32_t module_number(const struct module *module)
{
	return module->number;
}

struct str module_path(const struct module *module)
{
	return str_of(module->path);
}

struct str module_base_name(const struct module *module)
{
	const struct str path = module_path(module);

	return str_skip(path, (size_t)(str_last_index(path, '/') + 1));
}

struct str module_build_id(const struct module *module)
{
	return str_of(module->build_id);
}

const struct elf_image *module_image(const struct module *module)
{
	return &module->image;
}

const struct elf_image *module_debug_image(const struct module *module)
{
	return module->debug_image.bytes ? &module->debug_image : NULL;
}

bool module_bias(const struct module *module, uint64_t start, uint64_t offset, uint64_t *out_bias)
{
	return elf_image_bias(&module->image, start, offset, out_bias);
}

bool module_export(const struct module *module, const char *name, uint64_t *out_address)
{
	return elf_image_export(&module->image, name, out_address);
}

bool module_section(const struct module *module, const char *name, struct elf_section *out)
{
	return elf_image_section(&module->image, name, out);
}

bool module_offset(const struct module *module, uint64_t address, uint64_t *out_offset)
{
	return elf_image_offset(&module->image, address, out_offset);
}

size_t module_read(const struct module *module, uint64_t address, void *to, size_t length)
{
	return elf_image_read(&module->image, address, to, length);
}

const struct unwind_row *module_row(struct module *module, uint64_t address)
{
	struct module_cache *cache = module->cache;
	struct row_cache_entry *cached;
	struct frame_entry entry;
	bool is_known;

	cached = row_cache_find(cache->rows, module->number, address, &is_known);
	if (!is_known)
		cached->has_rule =
			frame_table_find(&module->frames, address, &cache->buffers, &entry) &&
			call_frame_row(&entry, address, &cached->row);
	return cached->has_rule ? &cached->row : NULL;
}

size_t module_expression(const struct module *module, int32_t place, uint8_t *to, size_t capacity)
{
	const struct elf_section *section = &module->image.eh_frame;
	uint8_t head[10];
	struct frame_cursor cursor;
	uint64_t offset;
	uint64_t length;

	if (place < 0 || (uint64_t)place >= section->size)
		return 0;
	offset = section->offset + (uint64_t)place;
	cursor = frame_cursor(head, code_bytes_read(&module->bytes, offset, head, sizeof(head)), 0);
	length = frame_cursor_uleb(&cursor);
	offset += (uint64_t)(cursor.at - head);
	if (cursor.bad || length > capacity ||
	    !code_bytes_get(&module->bytes, offset, to, (size_t)length))
		return 0;
	return (size_t)length;
}

/* Symbols of the small file within the file, which its .dynsym completes. */
static int add_unpacked(struct module *module, struct error *err)
{
	struct elf_image image;
	size_t length;
	void *data;

	if (module->image.debug_data.size == 0)
		return 0;
	if (debug_data_unpack(&module->image, &data, &length, err) < 0)
		return -1;
	code_bytes_init_memory(&module->unpacked, data, length);
	if (elf_image_init(&image, &module->unpacked, err) < 0)
		return -1;
	return symbol_index_add(&module->symbols, &module->unpacked, &image.symtab, err);
}

static int add_symbols(struct module *module, struct error *err)
{
	struct symbol_index *table = &module->symbols;

	if (module->image.symtab.table.size > 0)
		return symbol_index_add(table, &module->bytes, &module->image.symtab, err);
	if (module->debug_image.bytes &&
	    symbol_index_add(table, &module->debug_bytes, &module->debug_image.symtab, err) == 0)
		return 0;
	if (add_unpacked(module, err) < 0)
		(void)snprintf(module->trouble, sizeof(module->trouble), "%s", err->message);
	return symbol_index_add(table, &module->bytes, &module->image.dynsym, err);
}

size_t module_symbol_bytes(const struct module *module)
{
	return symbol_index_bytes(&module->symbols) + module->unpacked.size;
}

void module_drop_symbols(struct module *module)
{
	symbol_index_fini(&module->symbols);
	code_bytes_fini(&module->unpacked);
	if (module->symbols_state == MODULE_SYMBOLS_READ)
		module->symbols_state = MODULE_SYMBOLS_UNREAD;
}

static void read_symbols(struct module *module)
{
	struct error err = { 0 };

	symbol_index_init(&module->symbols, module->image.base);
	module->symbols_state = MODULE_SYMBOLS_NONE;
	if (add_symbols(module, &err) < 0)
		(void)snprintf(module->trouble, sizeof(module->trouble), "%s", err.message);
	if (module_symbol_bytes(module) > module->cache->symbol_limit) {
		(void)snprintf(module->trouble, sizeof(module->trouble),
		               "symbols of %zu bytes, and all may take %zu",
		               module_symbol_bytes(module), module->cache->symbol_limit);
		module_drop_symbols(module);
	}
	if (module->symbols.count == 0) {
		module_drop_symbols(module);
		return;
	}
	symbol_index_sort(&module->symbols);
	module->symbols_state = MODULE_SYMBOLS_READ;
	module_cache_grow(module, module_symbol_bytes(module));
}

struct str module_symbol(struct module *module, uint64_t address, char *to, uint64_t *out_start)
{
	const struct symbol *symbol;

	if (module->symbols_state == MODULE_SYMBOLS_UNREAD)
		read_symbols(module);
	if (module->symbols_state == MODULE_SYMBOLS_NONE)
		return STR("");
	module_cache_touch(module);
	symbol = symbol_index_find(&module->symbols, address);
	if (!symbol)
		return STR("");
	*out_start = module->symbols.base + symbol->start;
	return symbol_index_name(&module->symbols, symbol, to);
}

const char *module_trouble(const struct module *module)
{
	return module->trouble;
}
