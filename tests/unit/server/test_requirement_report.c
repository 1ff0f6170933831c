#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/command/requirement_report.h"

static const struct terminal plain = { .width = SIZE_MAX, .height = SIZE_MAX };

static const struct requirement kernel = {
	"kernel", REQUIREMENT_LEVEL_REQUIRED, true, "a kernel", "Linux 6.18", "another kernel",
};
static const struct requirement btf = {
	"btf", REQUIREMENT_LEVEL_REQUIRED, false, "offsets", "no \x1b[1mfile", "build it in",
};
static const struct requirement driver = {
	"driver", REQUIREMENT_LEVEL_OPTIONAL, false, "a GPU", "none", "install it",
};

static void each_requirement_is_told_with_its_remedy(void **state)
{
	const struct requirement all[] = { driver, kernel, btf };
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 65536);
	assert_int_equal(requirement_report(&plain, all, ARRAY_LENGTH(all), &out), 1);
	assert_string_equal(out.data,
	                    "required\n"
	                    "  ok   kernel                   Linux 6.18\n"
	                    "  NO   btf                      no \\x1b[1mfile\n"
	                    "       offsets\n"
	                    "       build it in\n"
	                    "optional\n"
	                    "  no   driver                   none\n"
	                    "       a GPU\n"
	                    "       install it\n"
	                    "\n"
	                    "GPU memory cannot be watched on this machine: 1 required thing is "
	                    "missing.\n");
	strbuf_fini(&out);
}

static void what_is_optional_may_be_missing(void **state)
{
	const struct requirement all[] = { kernel, driver };
	struct strbuf out;

	(void)state;
	strbuf_init(&out, 65536);
	assert_int_equal(requirement_report(&plain, all, ARRAY_LENGTH(all), &out), 0);
	assert_true(str_ends_with(strbuf_view(&out),
	                          STR("\nGPU memory can be watched on this machine.\n")));
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_requirement_is_told_with_its_remedy),
		cmocka_unit_test(what_is_optional_may_be_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
