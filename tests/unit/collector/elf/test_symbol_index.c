/* Symbols, compared with those that readelf prints of real files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/elf/symbol_index.h"
#include "tests/unit/collector/elf/elf_files.h"

#define FILE_BYTES_MAX ((size_t)8 << 20)

struct printed {
	uint64_t start;
	uint64_t size;
	char name[512];
};

struct printed_list {
	struct printed *items;
	size_t count;
};

static int compare_printed(const void *a, const void *b)
{
	const struct printed *first = a;
	const struct printed *second = b;

	return (first->start > second->start) - (first->start < second->start);
}

/* The functions with a size that readelf says a file defines. */
static struct printed_list read_printed(const char *path, const char *options)
{
	struct printed_list list = { 0 };
	size_t capacity = 0;
	char command[4200];
	char line[4096];
	FILE *pipe;

	(void)snprintf(command, sizeof(command), "readelf -W %s '%s' 2>/dev/null", options, path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	while (fgets(line, sizeof(line), pipe)) {
		unsigned long long start;
		char size[32];
		char type[32];
		char section[32];
		char name[512];

		/* NOLINTNEXTLINE(cert-err34-c): numbers as readelf prints them */
		if (sscanf(line, " %*d: %llx %31s %31s %*s %*s %31s %511s", &start, size, type,
		           section, name) != 5 ||
		    (strcmp(type, "FUNC") != 0 && strcmp(type, "IFUNC") != 0) ||
		    strcmp(section, "UND") == 0 || strtoull(size, NULL, 0) == 0)
			continue;
		if (list.count == capacity) {
			capacity = capacity ? 2 * capacity : 1024;
			list.items = mem_resize(list.items, capacity, sizeof(*list.items));
		}
		name[strcspn(name, "@")] = '\0'; /* versions that readelf adds */
		list.items[list.count].start = start;
		list.items[list.count].size = strtoull(size, NULL, 0);
		memcpy(list.items[list.count++].name, name, sizeof(name));
	}
	(void)pclose(pipe);
	if (list.count > 1)
		qsort(list.items, list.count, sizeof(*list.items), compare_printed);
	return list;
}

/* The same of the file that holds a stripped one's symbols, where the machine has it. */
static struct printed_list read_all_printed(const struct module *module)
{
	const struct str id = module_build_id(module);
	char path[256];

	(void)snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id.data,
	               id.data + 2);
	if (module_image(module)->symtab.table.size == 0 && id.length > 2 &&
	    access(path, R_OK) == 0)
		return read_printed(path, "-s");
	return read_printed(module_path(module).data, "-s");
}

static struct str without_version(struct str name)
{
	const ptrdiff_t at = str_index(name, '@');

	return at > 0 ? str_first(name, (size_t)at) : name;
}

/* Whether readelf has a function of that name that begins at `start` and covers `address`. */
static bool is_printed(const struct printed_list *list, struct str name, uint64_t start,
                       uint64_t address)
{
	size_t low = 0;
	size_t high = list->count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (list->items[middle].start < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < list->count && list->items[low].start == start; low++)
		if (str_equals(without_version(name), list->items[low].name) &&
		    address - start < list->items[low].size)
			return true;
	return false;
}

static bool is_covered(const struct printed_list *list, uint64_t address)
{
	for (size_t i = 0; i < list->count && list->items[i].start <= address; i++)
		if (address - list->items[i].start < list->items[i].size)
			return true;
	return false;
}

static void compare_module(struct module *module, struct printed_list list, size_t at_least)
{
	char text[SYMBOL_NAME_MAX + 1];
	uint64_t start;

	assert_true(list.count >= at_least);
	for (size_t i = 0; i < list.count; i++) {
		const struct printed *printed = &list.items[i];
		const uint64_t address = printed->start + printed->size - 1;
		const struct str name = module_symbol(module, address, text, &start);

		assert_true(name.length > 0);
		assert_true(is_printed(&list, name, start, address));
	}
	for (size_t i = 0; i < list.count; i += 7) {
		const uint64_t behind = list.items[i].start + list.items[i].size;

		if (!is_covered(&list, behind))
			assert_int_equal(module_symbol(module, behind, text, &start).length, 0);
	}
	assert_string_equal(module_trouble(module), "");
	free(list.items);
}

static void compare_file(const char *path, size_t at_least)
{
	CLEANUP(module_cache_freep)
	struct module_cache *cache = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	struct module *module = open_path(cache, path);

	assert_non_null(module);
	compare_module(module, read_all_printed(module), at_least);
	module_unref(module);
}

static void functions_of_this_program_are_those_of_readelf(void **state)
{
	(void)state;
	compare_file(own_path(), 300);
}

static void functions_of_the_c_library_are_those_of_readelf(void **state)
{
	(void)state;
	compare_file(libc_path(), 1000);
}

/* Bytes have no separate file of symbols. */
static void exported_functions_are_those_of_readelf(void **state)
{
	CLEANUP(module_cache_freep)
	struct module_cache *cache = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	CLEANUP(mem_freep) char *bytes = mem_zalloc(1, FILE_BYTES_MAX);
	FILE *file = fopen(libc_path(), "re");
	struct module *module;
	struct error err;
	size_t length;

	(void)state;
	assert_non_null(file);
	length = fread(bytes, 1, FILE_BYTES_MAX, file);
	(void)fclose(file);
	assert_int_equal(module_cache_open_bytes(cache, str_make(bytes, length), STR("libc"),
	                                         &module, &err),
	                 0);
	if (module_image(module)->symtab.table.size == 0)
		compare_module(module, read_printed(libc_path(), "--dyn-syms"), 1000);
	module_unref(module);
}

/* A table of our own in the form that a file has. */
struct made {
	struct code_bytes bytes;
	struct elf_symbols symbols;
	struct symbol_index table;
};

static void make_table(struct made *made, const Elf64_Sym *symbols, size_t count, struct str names)
{
	const size_t size = count * sizeof(*symbols);
	uint8_t *file = mem_zalloc(1, size + names.length);
	struct error err = { 0 };

	memcpy(file, symbols, size);
	memcpy(file + size, names.data, names.length);
	code_bytes_init_memory(&made->bytes, file, size + names.length);
	made->symbols = (struct elf_symbols){
		.table = { .size = size },
		.names = { .offset = size, .size = names.length },
	};
	symbol_index_init(&made->table, 0x1000);
	assert_int_equal(symbol_index_add(&made->table, &made->bytes, &made->symbols, &err), 0);
	symbol_index_sort(&made->table);
}

static void free_table(struct made *made)
{
	symbol_index_fini(&made->table);
	code_bytes_fini(&made->bytes);
}

#define FUNCTION(binding) ELF64_ST_INFO(binding, STT_FUNC)

static void of_several_names_the_best_is_taken(void **state)
{
	static const char names[] = "\0__libc_malloc\0malloc\0_alias\0weak_one\0zz\0inner";
	const Elf64_Sym symbols[] = {
		{ .st_name = 1,
		  .st_info = FUNCTION(STB_GLOBAL),
		  .st_shndx = 1,
		  .st_value = 0x1100,
		  .st_size = 0x40 },
		{ .st_name = 15,
		  .st_info = FUNCTION(STB_GLOBAL),
		  .st_shndx = 1,
		  .st_value = 0x1100,
		  .st_size = 0x40 },
		{ .st_name = 22,
		  .st_info = FUNCTION(STB_GLOBAL),
		  .st_shndx = 1,
		  .st_value = 0x1100,
		  .st_size = 0x40 },
		{ .st_name = 29,
		  .st_info = FUNCTION(STB_WEAK),
		  .st_shndx = 1,
		  .st_value = 0x1200,
		  .st_size = 0x10 },
		{ .st_name = 38,
		  .st_info = FUNCTION(STB_LOCAL),
		  .st_shndx = 1,
		  .st_value = 0x1200,
		  .st_size = 0x10 },
		{ .st_name = 41,
		  .st_info = FUNCTION(STB_LOCAL),
		  .st_shndx = 1,
		  .st_value = 0x1110,
		  .st_size = 0x8 },
		/* of no use: data, undefined, without a size */
		{ .st_name = 1,
		  .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		  .st_shndx = 1,
		  .st_value = 0x1300,
		  .st_size = 8 },
		{ .st_name = 1, .st_info = FUNCTION(STB_GLOBAL), .st_value = 0x1400, .st_size = 8 },
		{ .st_name = 1,
		  .st_info = FUNCTION(STB_GLOBAL),
		  .st_shndx = 1,
		  .st_value = 0x1500 },
	};
	static const struct {
		uint64_t address;
		const char *name;
	} cases[] = {
		{ 0x10ff, NULL },       { 0x1100, "malloc" }, { 0x1113, "inner" },
		{ 0x1118, "malloc" },   { 0x113f, "malloc" }, { 0x1140, NULL },
		{ 0x1205, "weak_one" }, { 0x1210, NULL },     { 0x1300, NULL },
		{ 0x1400, NULL },       { 0x1500, NULL },     { 0, NULL },
	};
	struct made made;
	char text[SYMBOL_NAME_MAX + 1];

	(void)state;
	make_table(&made, symbols, ARRAY_LENGTH(symbols), str_make(names, sizeof(names)));
	assert_int_equal(made.table.count, 6);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct symbol *symbol = symbol_index_find(&made.table, cases[i].address);

		assert_int_equal(symbol != NULL, cases[i].name != NULL);
		if (symbol)
			assert_string_equal(symbol_index_name(&made.table, symbol, text).data,
			                    cases[i].name);
	}
	free_table(&made);
}

static void names_outside_of_their_table_are_empty(void **state)
{
	const Elf64_Sym symbols[] = {
		{ .st_name = 400,
		  .st_info = FUNCTION(STB_GLOBAL),
		  .st_shndx = 1,
		  .st_value = 0x1100,
		  .st_size = 0x40 },
		{ .st_name = UINT32_MAX,
		  .st_info = FUNCTION(STB_GLOBAL),
		  .st_shndx = 1,
		  .st_value = 0x1100,
		  .st_size = 0x40 },
	};
	const struct symbol *symbol;
	struct made made;
	char text[SYMBOL_NAME_MAX + 1];

	(void)state;
	make_table(&made, symbols, ARRAY_LENGTH(symbols), str_make("\0a", 3));
	symbol = symbol_index_find(&made.table, 0x1100);
	assert_true(!symbol || symbol_index_name(&made.table, symbol, text).length == 0);
	free_table(&made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_this_program_are_those_of_readelf),
		cmocka_unit_test(functions_of_the_c_library_are_those_of_readelf),
		cmocka_unit_test(exported_functions_are_those_of_readelf),
		cmocka_unit_test(of_several_names_the_best_is_taken),
		cmocka_unit_test(names_outside_of_their_table_are_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
