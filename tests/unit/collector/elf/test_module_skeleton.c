/* A skeleton unwinds and names as its file does, without the file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "collector/elf/module_skeleton.h"
#include "collector/elf/symbol_index.h"
#include "tests/unit/collector/elf/elf_files.h"
#include "tests/unit/skip.h"

struct pair {
	struct module_cache *caches[2];
	struct module *file;
	struct module *copy;
	struct strbuf skeleton;
};

static void make_pair(struct pair *pair, const char *path)
{
	struct error err = { 0 };

	for (int i = 0; i < 2; i++)
		pair->caches[i] = module_cache_new(MODULE_SYMBOL_BYTES_USUAL);
	pair->file = open_path(pair->caches[0], path);
	assert_non_null(pair->file);
	strbuf_init(&pair->skeleton, (size_t)64 << 20);
	assert_int_equal(module_skeleton_write(pair->file, &pair->skeleton, &err), 0);
	assert_int_equal(module_cache_open_skeleton(pair->caches[1], strbuf_view(&pair->skeleton),
	                                            &pair->copy, &err),
	                 0);
}

static void free_pair(struct pair *pair)
{
	module_unref(pair->file);
	module_unref(pair->copy);
	strbuf_fini(&pair->skeleton);
	module_cache_free(pair->caches[0]);
	module_cache_free(pair->caches[1]);
}

static void compare(const struct pair *pair, uint64_t address)
{
	const struct unwind_row *first = module_row(pair->file, address);
	const struct unwind_row *second = module_row(pair->copy, address);
	char texts[2][SYMBOL_NAME_MAX + 1];
	uint64_t starts[2];
	struct str name;

	assert_int_equal(first != NULL, second != NULL);
	if (first)
		assert_memory_equal(first, second, sizeof(*first));
	name = module_symbol(pair->file, address, texts[0], &starts[0]);
	assert_true(str_equal(name, module_symbol(pair->copy, address, texts[1], &starts[1])));
}

static void a_skeleton_answers_as_its_file(void **state)
{
	const struct elf_image *image;
	struct pair pair;
	uint64_t bias[2];
	size_t size = 0;

	(void)state;
	make_pair(&pair, own_path());
	image = module_image(pair.file);
	assert_string_equal(module_path(pair.copy).data, own_path());
	assert_true(str_equal(module_build_id(pair.copy), module_build_id(pair.file)));
	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		size += segment->file_size;
		assert_true(module_bias(pair.file, 0x700000000000, segment->offset, &bias[0]));
		assert_true(module_bias(pair.copy, 0x700000000000, segment->offset, &bias[1]));
		assert_int_equal(bias[0], bias[1]);
		for (uint64_t at = 0; (segment->flags & PF_X) && at < segment->file_size; at += 11)
			compare(&pair, segment->address + at);
	}
	assert_true(pair.skeleton.length < size);
	assert_int_equal(module_image(pair.copy)->bytes->size, image->bytes->size);
	free_pair(&pair);
}

/* Where the C library's symbols lie in a separate file, its skeleton has them too. */
static void a_skeleton_has_the_symbols_of_the_separate_file(void **state)
{
	const struct elf_image *image;
	struct pair pair;

	(void)state;
	make_pair(&pair, libc_path());
	image = module_image(pair.file);
	assert_int_equal(module_debug_image(pair.file) != NULL,
	                 module_debug_image(pair.copy) != NULL);
	for (uint32_t i = 0; i < image->segment_count; i++)
		for (uint64_t at = 0; at < image->segments[i].file_size; at += 1009)
			compare(&pair, image->segments[i].address + at);
	free_pair(&pair);
}

static void a_skeleton_keeps_what_an_interpreter_says_of_itself(void **state)
{
	const char *path = python_path();
	uint8_t first[512];
	uint8_t second[512];
	uint64_t addresses[2];
	struct pair pair;

	(void)state;
	if (!path) {
		SKIP_BECAUSE("no python3");
	}
	make_pair(&pair, path);
	assert_true(module_export(pair.file, "_PyRuntime", &addresses[0]));
	assert_true(module_export(pair.copy, "_PyRuntime", &addresses[1]));
	assert_int_equal(addresses[0], addresses[1]);
	assert_int_equal(module_read(pair.file, addresses[0], first, sizeof(first)),
	                 module_read(pair.copy, addresses[1], second, sizeof(second)));
	if (module_image(pair.file)->bytes->size > 0 &&
	    module_read(pair.file, addresses[0], first, sizeof(first)) == sizeof(first))
		assert_memory_equal(first, second, sizeof(first));
	free_pair(&pair);
}

static void what_is_no_skeleton_is_refused(void **state)
{
	struct module_skeleton parts;
	struct error err = { 0 };
	struct pair pair;

	(void)state;
	assert_int_equal(module_skeleton_read(STR(""), &parts, &err), -1);
	assert_int_equal(module_skeleton_read(STR("VSKL\x02"), &parts, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	make_pair(&pair, own_path());
	for (size_t cut = 0; cut < pair.skeleton.length; cut += 1 + cut / 5)
		assert_int_equal(
			module_skeleton_read(str_make(pair.skeleton.data, cut), &parts, &err), -1);
	pair.skeleton.data[pair.skeleton.length / 2] ^= 0x10; /* zstd's checksum sees it */
	assert_int_equal(module_skeleton_read(strbuf_view(&pair.skeleton), &parts, &err), -1);
	free_pair(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_skeleton_answers_as_its_file),
		cmocka_unit_test(a_skeleton_has_the_symbols_of_the_separate_file),
		cmocka_unit_test(a_skeleton_keeps_what_an_interpreter_says_of_itself),
		cmocka_unit_test(what_is_no_skeleton_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
