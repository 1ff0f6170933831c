#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_symbol.h"

static void names_made_at_runtime_become_equal(void **state)
{
	static const struct {
		const char *name;
		const char *head;
		const char *tail;
	} cases[] = {
		{ "jdk/internal/reflect/GeneratedMethodAccessor31",
		  "jdk/internal/reflect/GeneratedMethodAccessor", "_" },
		{ "shop/Main$$Lambda$12/0x000000080101", "shop/Main$$Lambda", "_" },
		{ "shop/Main$$Lambda$65.0x00007f0c1c087588", "shop/Main$$Lambda", "_" },
		{ "shop/Main$$Lambda.0x00007ffa600c4da0", "shop/Main$$Lambda", "_" },
		{ "shop/Main$$Lambda$1/791452441", "shop/Main$$Lambda", "_" },
		{ "shop/Main$$Lambda123", "shop/Main$$Lambda", "_" },
		{ "A$$Lambda$lambda$wrap$2$2630016632.0x00000000000100dd", "A$$Lambda", "_" },
		{ "A$$Lambda$1.B$$Lambda$2/0x08", "A$$Lambda$1.B$$Lambda", "_" },
		{ "shop/Main$$EnhancerBySpringCGLIB$$1f0a2b3c",
		  "shop/Main$$EnhancerBySpringCGLIB$$", "_" },
		{ "libzstd-jni-1.5.2-16931311898282279136.so", "libzstd-jni-_.so", "" },
		{ "/tmp/libzstd-jni-1.5.2-1.so (deleted)", "libzstd-jni-_.so", "" },
		{ "./tmp/libzstd-jni-1.5.2-1.so", "libzstd-jni-_.so", "" },
		{ "./tmp/libamazonCorrettoCryptoProvider109b39cf33c563eb.so",
		  "libamazonCorrettoCryptoProvider_.so", "" },
		{ "/tmp/amazonCorrettoCryptoProviderNativeLibraries.7382c2f79097f415/libcrypto.so",
		  "libamazonCorrettoCryptoProvider_.so", "" },
		{ "/tmp/libasyncProfiler-linux-x64-17b9a1d8156277a98ccc871afa9a8f69215f92.so",
		  "libasyncProfiler-_.so", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct jfr_symbol symbol = jfr_symbol_clean(str_of(cases[i].name));

		assert_true(str_equals(symbol.head, cases[i].head));
		assert_true(str_equals(symbol.tail, cases[i].tail));
	}
}

static void other_names_stay(void **state)
{
	static const char *const names[] = {
		"",
		"$",
		"java/util/HashMap",
		"jdk/internal/reflect/GeneratedMethodAccessor",
		"jdk/internal/reflect/GeneratedMethodAccessor31x",
		"java/lang/reflect/GeneratedMethodAccessor31",
		"Shop$$Lambda",
		"$$Lambda$1/0x08",
		"Shop$$Lambda$1/0x08.run",
		"Shop$$LambdaForm",
		"lambda$main$0",
		"shop/Main$$EnhancerBySpringCGLIB$$",
		"$$EnhancerBySpringCGLIB$$1f",
		"libzstd-jni-1.5-1.so",
		"libzstd-jni-1.5.2-.so",
		"libzstd-jni-1.5.2-1.so.0",
		"/opt/libzstd-jni-1.5.2-1.so",
		"libjvm.so",
		/* what a recorded sender says of another build reads back as it is */
		"libasyncProfiler-linux-x64-505cc169188276c919be50bc1b47e8f236295f.so",
		"libasyncProfiler.so",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct jfr_symbol symbol = jfr_symbol_clean(str_of(names[i]));

		assert_true(str_equals(symbol.head, names[i]));
		assert_int_equal(symbol.tail.length, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_made_at_runtime_become_equal),
		cmocka_unit_test(other_names_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
