/* Modules: what a file exports, where its parts lie, and files that lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/elf/module_skeleton.h"
#include "collector/elf/symbol_index.h"
#include "tests/unit/collector/elf/elf_files.h"

static struct module_cache *new_cache(void)
{
	return module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
}

/* Something with initialised data that this program exports. */
extern const char exported_text[32];
__attribute__((visibility("default"))) const char exported_text[32] = "initialised, and exported";

static void exports_are_where_the_loader_puts_them(void **state)
{
	static const char *const names[] = { "gnu_get_libc_version", "getppid", "nice" };
	CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();
	struct module *module = open_path(cache, libc_path());
	uint64_t first;
	uint64_t address;

	(void)state;
	assert_non_null(module);
	assert_true(module_export(module, names[0], &first));
	for (size_t i = 1; i < 3; i++) {
		assert_true(module_export(module, names[i], &address));
		assert_int_equal(address - first, (uintptr_t)dlsym(RTLD_DEFAULT, names[i]) -
		                                          (uintptr_t)dlsym(RTLD_DEFAULT, names[0]));
	}
	assert_false(module_export(module, "no_such_function_anywhere", &address));
	assert_false(module_export(module, "", &address));
	module_unref(module);
}

static void data_and_sections_are_read_from_the_file(void **state)
{
	CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();
	struct module *module = open_path(cache, own_path());
	struct elf_section section;
	Dl_info info;
	char text[sizeof(exported_text)];
	uint64_t address;
	uint64_t offset;

	(void)state;
	assert_int_not_equal(dladdr(exported_text, &info), 0);
	address = (uintptr_t)exported_text - (uintptr_t)info.dli_fbase + module_image(module)->base;
	assert_int_equal(module_read(module, address, text, sizeof(text)), sizeof(text));
	assert_memory_equal(text, exported_text, sizeof(text));
	assert_true(module_section(module, ".text", &section));
	assert_true(module_offset(module, section.address, &offset));
	assert_int_equal(offset, section.offset);
	assert_false(module_section(module, ".no_such_section", &section));
	assert_int_equal(module_read(module, UINT64_MAX - 3, text, sizeof(text)), 0);
	module_unref(module);
}

/* Every executable mapping of this process: its bias is where the loader has put the file. */
static int compare_bias(struct dl_phdr_info *info, size_t size, void *context)
{
	const char *path = *info->dlpi_name ? info->dlpi_name : own_path();
	struct module *module = *path == '/' ? open_path(context, path) : NULL;

	(void)size;
	for (int i = 0; module && i < info->dlpi_phnum; i++) {
		const Elf64_Phdr *header = &info->dlpi_phdr[i];
		const uint64_t page = header->p_vaddr & ~(PAGE_BYTES - 1);
		uint64_t bias;

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_X))
			continue;
		assert_true(module_bias(module, info->dlpi_addr + page,
		                        header->p_offset & ~(PAGE_BYTES - 1), &bias));
		assert_int_equal(bias, info->dlpi_addr);
	}
	module_unref(module);
	return 0;
}

static void a_bias_is_what_the_loader_adds(void **state)
{
	CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();

	(void)state;
	(void)dl_iterate_phdr(compare_bias, cache);
}

static void a_file_is_one_module(void **state)
{
	CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();
	struct module *first = open_path(cache, libc_path());
	struct module *second = open_path(cache, libc_path());
	struct module *other = open_path(cache, own_path());
	struct module_cache_sizes sizes;

	(void)state;
	assert_ptr_equal(first, second);
	assert_ptr_not_equal(first, other);
	assert_int_not_equal(module_number(first), module_number(other));
	module_cache_sizes(cache, &sizes);
	assert_int_equal(sizes.modules, 2);
	assert_int_equal(module_build_id(first).length % 2, 0);
	module_unref(first);
	module_unref(second);
	module_unref(other);
}

static void symbols_stay_within_the_limit(void **state)
{
	CLEANUP(module_cache_freep) struct module_cache *wide = new_cache();
	CLEANUP(module_cache_freep) struct module_cache *narrow = NULL;
	CLEANUP(module_cache_freep) struct module_cache *tiny = module_cache_new(64);
	char text[SYMBOL_NAME_MAX + 1];
	struct module_cache_sizes sizes;
	struct module *modules[2] = { open_path(wide, own_path()), open_path(wide, libc_path()) };
	uint64_t address;
	uint64_t start;
	size_t libc_bytes;
	size_t own_bytes;

	(void)state;
	assert_true(module_export(modules[1], "malloc", &address));
	assert_string_equal(module_symbol(modules[1], address, text, &start).data, "malloc");
	module_cache_sizes(wide, &sizes);
	libc_bytes = sizes.symbol_bytes;
	(void)module_symbol(modules[0], address, text, &start);
	module_cache_sizes(wide, &sizes);
	own_bytes = sizes.symbol_bytes - libc_bytes;
	assert_true(own_bytes > 0);
	/* Room for one of the two at a time. */
	narrow = module_cache_new(sizes.symbol_bytes - 1);
	module_unref(modules[0]);
	module_unref(modules[1]);
	modules[0] = open_path(narrow, own_path());
	modules[1] = open_path(narrow, libc_path());
	for (int i = 0; i < 3; i++) {
		(void)module_symbol(modules[0], address, text, &start);
		module_cache_sizes(narrow, &sizes);
		assert_int_equal(sizes.symbol_bytes, own_bytes);
		assert_string_equal(module_symbol(modules[1], address, text, &start).data,
		                    "malloc");
		module_cache_sizes(narrow, &sizes);
		assert_int_equal(sizes.symbol_bytes, libc_bytes);
	}
	module_unref(modules[0]);
	module_unref(modules[1]);
	modules[1] = open_path(tiny, libc_path());
	assert_int_equal(module_symbol(modules[1], address, text, &start).length, 0);
	assert_non_null(strstr(module_trouble(modules[1]), "all may take 64"));
	module_unref(modules[1]);
}

/* A copy of libc in memory: what it says of itself is libc's. */
static struct module *open_copy(struct module_cache *cache)
{
	const int from = open(libc_path(), O_RDONLY | O_CLOEXEC);
	const int to = memfd_create("copy", MFD_CLOEXEC);
	struct module *module = NULL;
	struct error err = { 0 };
	struct stat status;

	assert_int_equal(fstat(from, &status), 0);
	assert_int_equal(sendfile(to, from, NULL, (size_t)status.st_size), status.st_size);
	assert_int_equal(close(from), 0);
	assert_int_equal(module_cache_open(cache, to, STR("/lib/copy.so"), NULL, &module, &err), 0);
	return module;
}

/* Whoever makes a file with the build id of another's must not name its functions. */
static void a_build_id_alone_makes_no_file_the_same(void **state)
{
	CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();
	struct module *copy = open_copy(cache);
	struct module *libc = open_path(cache, libc_path());

	(void)state;
	assert_true(module_build_id(libc).length > 0);
	assert_true(str_equal(module_build_id(copy), module_build_id(libc)));
	assert_ptr_not_equal(copy, libc);
	module_unref(copy);
	module_unref(libc);
}

/* Each file takes a descriptor; what is not referred to makes room. */
static void files_stay_within_the_limit_of_descriptors(void **state)
{
	struct module *copies[16];
	struct rlimit before;
	struct rlimit few;
	struct module_cache *cache;
	struct module_cache_sizes sizes;
	struct module *module = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ 4 * ARRAY_LENGTH(copies), before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	cache = new_cache();
	for (size_t i = 0; i < ARRAY_LENGTH(copies); i++) {
		assert_int_equal(module_cache_room(cache), ARRAY_LENGTH(copies) - i);
		copies[i] = open_copy(cache);
	}
	assert_int_equal(module_cache_room(cache), 0);
	assert_int_equal(module_cache_open(cache, open(own_path(), O_RDONLY | O_CLOEXEC),
	                                   STR("/own"), NULL, &module, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	module_unref(copies[5]);
	assert_int_equal(module_cache_room(cache), 1);
	copies[5] = open_path(cache, own_path());
	module_cache_sizes(cache, &sizes);
	assert_int_equal(sizes.modules, ARRAY_LENGTH(copies));
	for (size_t i = 0; i < ARRAY_LENGTH(copies); i++)
		module_unref(copies[i]);
	module_cache_free(cache);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
}

static int open_made(struct module_cache *cache, const void *bytes, size_t length, off_t size,
                     struct module **out, struct error *err)
{
	const int descriptor = memfd_create("made", MFD_CLOEXEC);

	assert_true(descriptor >= 0);
	assert_int_equal(write(descriptor, bytes, length), length);
	assert_int_equal(ftruncate(descriptor, size), 0);
	return module_cache_open(cache, descriptor, STR("/lib/made.so"), NULL, out, err);
}

static size_t read_file(const char *path, uint8_t *to, size_t capacity)
{
	FILE *file = fopen(path, "re");
	const size_t length = fread(to, 1, capacity, file);

	(void)fclose(file);
	return length;
}

static void files_that_are_no_code_are_refused(void **state)
{
	static const char other[64] = "\x7f"
				      "ELF\x01\x01\x01";
	CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();
	struct module *module = NULL;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(open_made(cache, "", 0, 0, &module, &err), -1);
	assert_int_equal(err.code, ERROR_INVALID);
	assert_int_equal(open_made(cache, "MZ", 2, (off_t)4 << 30, &module, &err), -1);
	assert_string_equal(err.message, "not an ELF file");
	assert_int_equal(open_made(cache, other, sizeof(other), 64, &module, &err), -1);
	assert_string_equal(err.message, "not an ELF file of x86-64");
	assert_int_equal(module_cache_open(cache, open("/dev/null", O_RDONLY | O_CLOEXEC),
	                                   STR("/dev/null"), NULL, &module, &err),
	                 -1);
	assert_null(module);
}

/* A file of four gigabytes whose tables say that they fill it. */
static void tables_of_gigabytes_are_refused(void **state)
{
	CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();
	CLEANUP(mem_freep) uint8_t *bytes = mem_zalloc(1, (size_t)8 << 20);
	const size_t length = read_file(own_path(), bytes, (size_t)8 << 20);
	const off_t size = (off_t)4 << 30;
	Elf64_Ehdr *file = (Elf64_Ehdr *)(void *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(bytes + file->e_shoff);
	char text[SYMBOL_NAME_MAX + 1];
	struct module *module = NULL;
	struct error err;
	uint64_t start;

	(void)state;
	assert_int_equal(file->e_shoff % 8, 0);
	for (int i = 0; i < file->e_shnum; i++)
		if (sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM ||
		    sections[i].sh_type == SHT_GNU_HASH)
			sections[i].sh_size = (uint64_t)size - sections[i].sh_offset;
	assert_int_equal(open_made(cache, bytes, length, size, &module, &err), 0);
	assert_int_equal(module_symbol(module, file->e_entry, text, &start).length, 0);
	assert_non_null(strstr(module_trouble(module), "more than"));
	(void)module_export(module, "no_such_function", &start);
	assert_non_null(module_row(module, file->e_entry)); /* the rest of it is good */
	module_unref(module);
}

/* A file that its owner cuts while we hold it. */
static void files_that_become_shorter_end_early(void **state)
{
	CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();
	CLEANUP(mem_freep) uint8_t *bytes = mem_zalloc(1, (size_t)8 << 20);
	const size_t length = read_file(own_path(), bytes, (size_t)8 << 20);
	const int descriptor = memfd_create("cut", MFD_CLOEXEC);
	char text[SYMBOL_NAME_MAX + 1];
	struct module *module = NULL;
	struct strbuf skeleton;
	struct error err;
	uint64_t start;

	(void)state;
	assert_int_equal(write(descriptor, bytes, length), length);
	assert_int_equal(
		module_cache_open(cache, dup(descriptor), STR("/cut"), NULL, &module, &err), 0);
	assert_int_equal(ftruncate(descriptor, 4096), 0);
	assert_int_equal(module_symbol(module, 0x2000, text, &start).length, 0);
	assert_string_equal(module_trouble(module), "the symbol table cannot be read");
	assert_null(module_row(module, module_image(module)->base + 0x123456));
	strbuf_init(&skeleton, (size_t)64 << 20);
	assert_int_equal(module_skeleton_write(module, &skeleton, &err), -1);
	strbuf_fini(&skeleton);
	module_unref(module);
	(void)close(descriptor);
}

static void headers_cut_anywhere_are_bounded(void **state)
{
	CLEANUP(mem_freep) uint8_t *bytes = mem_zalloc(1, (size_t)8 << 20);
	const size_t length = read_file(own_path(), bytes, (size_t)8 << 20);
	char text[SYMBOL_NAME_MAX + 1];

	(void)state;
	for (size_t cut = length; cut > 16; cut -= cut / 9 + 1) {
		CLEANUP(module_cache_freep) struct module_cache *cache = new_cache();
		struct module *module = NULL;
		struct error err;
		uint64_t start;

		if (module_cache_open_bytes(cache, str_make(bytes, cut), STR("/x"), &module, &err) <
		    0)
			continue;
		for (uint64_t at = 0; at < length; at += 997) {
			(void)module_row(module, module_image(module)->base + at);
			(void)module_symbol(module, module_image(module)->base + at, text, &start);
		}
		module_unref(module);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exports_are_where_the_loader_puts_them),
		cmocka_unit_test(data_and_sections_are_read_from_the_file),
		cmocka_unit_test(a_bias_is_what_the_loader_adds),
		cmocka_unit_test(a_file_is_one_module),
		cmocka_unit_test(a_build_id_alone_makes_no_file_the_same),
		cmocka_unit_test(files_stay_within_the_limit_of_descriptors),
		cmocka_unit_test(symbols_stay_within_the_limit),
		cmocka_unit_test(files_that_are_no_code_are_refused),
		cmocka_unit_test(tables_of_gigabytes_are_refused),
		cmocka_unit_test(files_that_become_shorter_end_early),
		cmocka_unit_test(headers_cut_anywhere_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
