#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/hash.h"

/* XXH3 with seed 0, as `xxhsum -H3` and `xxhsum -H2` print them. */
static void hashes_are_those_of_xxhsum(void **state)
{
	const struct hash128 empty = hash128_str(0, STR(""));
	const struct hash128 text = hash128_str(0, STR("vramscope"));

	(void)state;
	assert_true(hash64(0, "", 0) == UINT64_C(0x2d06800538d394c2));
	assert_true(empty.high == UINT64_C(0x99aa06d3014798d8));
	assert_true(empty.low == UINT64_C(0x6001c324468d497f));
	assert_true(hash64(0, "vramscope", 9) == UINT64_C(0x9c0680850ce12df5));
	assert_true(text.high == UINT64_C(0xc64f2411a06dee4f));
	assert_true(text.low == UINT64_C(0x39b3a97c961b08a4));
}

static void a_key_changes_every_hash(void **state)
{
	(void)state;
	assert_true(hash64(1, "x", 1) != hash64(2, "x", 1));
	assert_false(hash128_equal(hash128_str(1, STR("x")), hash128_str(2, STR("x"))));
	assert_true(hash128_equal(hash128_str(1, STR("x")), hash128(1, "x", 1)));
}

static void nothing_has_a_hash_too(void **state)
{
	(void)state;
	assert_true(hash64(7, NULL, 0) == hash64(7, "", 0));
	assert_true(hash128_equal(hash128(7, NULL, 0), hash128_str(7, STR(""))));
	assert_true(hash128_is_zero((struct hash128){ 0, 0 }));
	assert_false(hash128_is_zero((struct hash128){ 0, 1 }));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hashes_are_those_of_xxhsum),
		cmocka_unit_test(a_key_changes_every_hash),
		cmocka_unit_test(nothing_has_a_hash_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
