#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "web/embed/page_assets.h"
#include "web/embed/page_type.h"

#define ARENA_BYTES ((size_t)64 << 20)

static void each_file_is_found_by_its_path_alone(void **state)
{
	(void)state;
	assert_true(page_asset_count >= 3); /* a page, a script, a style sheet */
	for (size_t i = 0; i < page_asset_count; i++)
		assert_ptr_equal(page_assets_find(str_of(page_assets[i].path)), &page_assets[i]);
	assert_non_null(page_assets_find(STR("index.html")));
	assert_null(page_assets_find(STR("")));
	assert_null(page_assets_find(STR("index.htm")));
	assert_null(page_assets_find(STR("index.html\0")));
	assert_null(page_assets_find(STR("zzz")));
}

static void packed_bytes_are_the_file_that_the_row_tells_of(void **state)
{
	(void)state;
	for (size_t i = 0; i < page_asset_count; i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct page_asset *asset = &page_assets[i];
		struct error err = { 0 };
		struct str bytes;

		assert_int_equal(gzip_inflate(page_asset_packed(asset), asset->size, arena, &bytes,
		                              &err),
		                 0);
		assert_int_equal(bytes.length, asset->size);
		assert_true(hash128_equal(hash128_str(0, bytes), asset->hash));
		/* RFC 1952: the time in the head is nobody's, so that a build can be repeated */
		assert_memory_equal(asset->packed + 4, "\0\0\0\0", 4);
		assert_string_equal(asset->type, page_type_of(str_of(asset->path)));
	}
}

static void types_are_by_the_ending(void **state)
{
	(void)state;
	assert_string_equal(page_type_of(STR("assets/a.b.js")), "text/javascript; charset=utf-8");
	assert_string_equal(page_type_of(STR("icon.svg")), "image/svg+xml");
	assert_null(page_type_of(STR("a.exe")));
	assert_null(page_type_of(STR("html")));
	assert_null(page_type_of(STR("")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_file_is_found_by_its_path_alone),
		cmocka_unit_test(packed_bytes_are_the_file_that_the_row_tells_of),
		cmocka_unit_test(types_are_by_the_ending),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
