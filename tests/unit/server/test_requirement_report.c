#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/command/requirement_report.h"

static const struct terminal plain = { .width = SIZE_MAX, .height = SIZE_MAX };

static const struct requirement kernel = {
	.name = "kernel",
	.level = REQUIREMENT_LEVEL_REQUIRED,
	.holds = true,
	.why = "a kernel",
	.detail = "Linux 6.18",
	.remedy = "another kernel",
};
static const struct requirement btf = {
	.name = "btf",
	.level = REQUIREMENT_LEVEL_REQUIRED,
	.why = "offsets",
	.detail = "no \x1b[1mfile",
	.remedy = "build it in",
};
static const struct requirement ring = {
	.name = "ring buffer",
	.level = REQUIREMENT_LEVEL_REQUIRED,
	.is_unknown = true,
	.why = "rings",
	.detail = "not tried: needs CAP_BPF",
	.remedy = "run a newer kernel",
};
static const struct requirement driver = {
	.name = "driver",
	.level = REQUIREMENT_LEVEL_OPTIONAL,
	.why = "a GPU",
	.detail = "none",
	.remedy = "install it",
};

static void each_requirement_is_told_with_its_remedy(void **state)
{
	const struct requirement all[] = { driver, kernel, btf, ring };
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
	                    "  ?    ring buffer              not tried: needs CAP_BPF\n"
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
