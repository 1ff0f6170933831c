#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/identity/user_account.h"

#define PASSWD                                         \
	"root:x:0:0:root:/root:/bin/bash\n"            \
	"# a comment\n"                                \
	"+::::::\n"                                    \
	"ada:x:1000:1000:Ada,,,:/users/ada:/bin/zsh\n" \
	"twin:x:1000:1000::/users/twin:/bin/sh\n"      \
	"broken:x:1001:1001:five fields\n"             \
	":x:1002:1002::/:/bin/sh\n"                    \
	"minus:x:-3:1::/:/bin/sh\nlong:x:4294967296:1::/:/bin/sh\nlast:x:1003:1::/l:/s"

static void the_first_line_of_a_uid_counts(void **state)
{
	struct user_account account;

	(void)state;
	assert_true(user_account_find(STR(PASSWD), 0, &account));
	assert_true(str_equals(account.name, "root") && str_equals(account.home, "/root"));
	assert_true(user_account_find(STR(PASSWD), 1000, &account));
	assert_true(str_equals(account.name, "ada") && str_equals(account.home, "/users/ada"));
	assert_true(user_account_find(STR(PASSWD), 1003, &account));
	assert_true(str_equals(account.name, "last"));
}

static void lines_that_are_none_are_nobody(void **state)
{
	static const uint32_t uids[] = { 1001, 1002, 1004, 4294967293U };
	struct user_account account;

	(void)state;
	for (size_t i = 0; i < sizeof(uids) / sizeof(uids[0]); i++)
		assert_false(user_account_find(STR(PASSWD), uids[i], &account));
	assert_false(user_account_find(STR(""), 0, &account));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_line_of_a_uid_counts),
		cmocka_unit_test(lines_that_are_none_are_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
