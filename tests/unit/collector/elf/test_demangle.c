/* Names, as c++filt prints them but for what compilers add to a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "collector/elf/demangle.h"

static void names_are_as_people_wrote_them(void **state)
{
	static const struct {
		const char *name;
		const char *expected; /* NULL: it stays */
	} cases[] = {
		{ "main", NULL },
		{ "_start", NULL },
		{ "__libc_start_main", NULL },
		{ "_Z3addii", "add(int, int)" },
		{ "_ZN2at6Tensor3addERKS0_", "at::Tensor::add(at::Tensor const&)" },
		{ "_ZNSt6vectorIiSaIiEE9push_backERKi",
		  "std::vector<int, std::allocator<int> >::push_back(int const&)" },
		{ "_ZN3c104cuda20CUDACachingAllocator6Native12_GLOBAL__N_122DeviceCaching"
		  "Allocator6mallocEamP11CUstream_st",
		  "c10::cuda::CUDACachingAllocator::Native::(anonymous namespace)::DeviceCaching"
		  "Allocator::malloc(signed char, unsigned long, CUstream_st*)" },
		/* hashes of Rust's old form are left out */
		{ "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad" },
		{ "_RNvC6_123foo3bar", "123foo::bar" },
		/* what compilers and linkers add */
		{ "compute.constprop.0.isra.1", "compute" },
		{ "_Z3addii.cold", "add(int, int)" },
		{ "_PyEval_EvalFrameDefault.cold.123", "_PyEval_EvalFrameDefault" },
		{ "lock.lto_priv.0", "lock" },
		{ "malloc@plt", "malloc (plt)" },
		{ "_Z3addii@plt", "add(int, int) (plt)" },
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		/* a dot that nobody added */
		{ "runtime.mallocgc", NULL },
		{ "crypto/tls.(*Conn).Read", NULL },
		{ ".text", NULL },
		{ "", NULL },
		/* not a name, though it begins like one */
		{ "_Zzz", NULL },
		{ "_Z3ad", NULL },
		/* a path that is part of itself: it has no end */
		{ "_RNLB_GOA3ber", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct strbuf out;

		strbuf_init(&out, DEMANGLE_OUTPUT_MAX);
		if (demangle(str_of(cases[i].name), &out) != (cases[i].expected != NULL))
			fail_msg("%s", cases[i].name);
		assert_string_equal(out.data, cases[i].expected ? cases[i].expected : "");
		strbuf_fini(&out);
	}
}

/* Each substitution doubles: 2^30 names in 200 bytes. */
static void names_that_grow_without_end_stay(void **state)
{
	char name[512] = "_Z1fI1a";
	size_t length = strlen(name);
	struct strbuf out;

	(void)state;
	length += (size_t)snprintf(name + length, sizeof(name) - length, "1bIS_S_E");
	for (int i = 0; i < 30; i++)
		length += (size_t)snprintf(name + length, sizeof(name) - length, "1cIS%X_S%X_E",
		                           (unsigned)i, (unsigned)i);
	(void)snprintf(name + length, sizeof(name) - length, "Evv");
	strbuf_init(&out, 4 * DEMANGLE_OUTPUT_MAX);
	strbuf_add_text(&out, "x");
	assert_false(demangle(str_of(name), &out));
	assert_string_equal(out.data, "x");
	strbuf_fini(&out);
}

static void names_that_are_too_long_stay(void **state)
{
	CLEANUP(mem_freep) char *name = mem_zalloc(1, 100001);
	struct strbuf out;

	(void)state;
	memset(name, 'P', 100000);
	memcpy(name, "_Z1f", 4);
	strbuf_init(&out, DEMANGLE_OUTPUT_MAX);
	assert_false(demangle(str_of(name), &out));
	name[DEMANGLE_INPUT_MAX - 1] = 'i';
	name[DEMANGLE_INPUT_MAX] = '\0';
	(void)demangle(str_of(name), &out); /* it nests as deep as a name may: this ends */
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_as_people_wrote_them),
		cmocka_unit_test(names_that_grow_without_end_stay),
		cmocka_unit_test(names_that_are_too_long_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
