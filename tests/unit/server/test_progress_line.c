#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "server/command/progress_line.h"

static const char *text_of(const char *verb, struct str unit, const struct progress_moment *moment)
{
	static char text[1024];
	const struct progress_line line = { .verb = verb, .unit = unit };
	struct strbuf out;

	strbuf_init(&out, sizeof(text) - 1);
	progress_line_format(&line, moment, &out);
	(void)snprintf(text, sizeof(text), "%s", out.data);
	strbuf_fini(&out);
	return text;
}

/* A GiB of four in eight seconds: 128 MiB a second, and three quarters take 24 s. */
static void it_says_how_far_how_fast_and_how_long(void **state)
{
	(void)state;
	assert_string_equal(text_of("verifying", STR("bytes"),
	                            &(struct progress_moment){ "tenants/a/2024-10-04.db",
	                                                       UINT64_C(1) << 30, UINT64_C(4) << 30,
	                                                       8 }),
	                    "verifying 1.00 GiB of 4.00 GiB (25.0%), 128 MiB/s, 24.0 s left: "
	                    "tenants/a/2024-10-04.db");
}

static void other_things_than_bytes_are_counted(void **state)
{
	(void)state;
	assert_string_equal(text_of("deleting profiles:", STR(""),
	                            &(struct progress_moment){ NULL, 1000, 3000, 2 }),
	                    "deleting profiles: 1,000 of 3,000 (33.3%), 500/s, 4.00 s left");
}

static void too_early_a_rate_is_not_told(void **state)
{
	(void)state;
	assert_string_equal(text_of("restoring", STR("bytes"),
	                            &(struct progress_moment){ "a", 0, 2048, 20 }),
	                    "restoring 0 B of 2.00 KiB (0.0%): a");
	assert_string_equal(text_of("restoring", STR("bytes"),
	                            &(struct progress_moment){ NULL, 1024, 2048, 0.1 }),
	                    "restoring 1.00 KiB of 2.00 KiB (50.0%)");
	assert_string_equal(text_of("restoring", STR("bytes"),
	                            &(struct progress_moment){ NULL, 0, 0, 1 }),
	                    "restoring 0 B of 0 B (-)");
}

static void names_are_safe_to_show(void **state)
{
	(void)state;
	assert_string_equal(text_of("verifying", STR("bytes"),
	                            &(struct progress_moment){ "a\x1b[31m", 0, 1024, 0 }),
	                    "verifying 0 B of 1.00 KiB (0.0%): a\\x1b[31m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_says_how_far_how_fast_and_how_long),
		cmocka_unit_test(other_things_than_bytes_are_counted),
		cmocka_unit_test(too_early_a_rate_is_not_told),
		cmocka_unit_test(names_are_safe_to_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
