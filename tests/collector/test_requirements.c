/*
 * What the table says of this machine, beside what the machine itself says; and that it says
 * it without rights.
 */
#include <linux/capability.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/bpf/probe_link.h"
#include "collector/watch/requirements.h"
#include "collector/watch/self_test.h"
#include "tests/collector/permission.h"

static void all_required_ones_hold_where_programs_may_be_loaded(void **state)
{
	struct requirement requirements[REQUIREMENT_COUNT];

	(void)state;
	if (permission_missing())
		skip();
	requirements_check(requirements);
	for (size_t i = 0; i < REQUIREMENT_COUNT; i++) {
		assert_true(strlen(requirements[i].name) > 0);
		assert_true(strlen(requirements[i].why) > 0);
		assert_true(strlen(requirements[i].detail) > 0);
		assert_true(strlen(requirements[i].remedy) > 0);
		assert_null(strchr(requirements[i].detail, '\n'));
		if (requirements[i].level == REQUIREMENT_LEVEL_REQUIRED && !requirements[i].holds)
			fail_msg("%s: %s", requirements[i].name, requirements[i].detail);
	}
	assert_null(requirements_missing(requirements));
	assert_int_equal(requirements[REQUIREMENT_MULTI_LINK].holds, probe_link_has_multi());
	assert_int_equal(requirements[REQUIREMENT_DRIVER].holds,
	                 access("/proc/driver/nvidia/version", R_OK) == 0);
}

static void the_self_test_sees_a_call_and_a_sandbox(void **state)
{
	struct self_test_result result = { .method = PROBE_METHOD_BEST };
	struct error err = { 0 };

	(void)state;
	if (permission_missing())
		skip();
	if (self_test_run(&result, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(result.method,
	                 probe_link_has_multi() ? PROBE_METHOD_MULTI : PROBE_METHOD_PERF);
	assert_int_not_equal(result.sandbox, SELF_TEST_SANDBOX_KILLED);
}

/* In a process without any capability. Its exit status says which promise was broken. */
static int check_without_rights(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	struct requirement requirements[REQUIREMENT_COUNT];

	if (syscall(SYS_capset, &header, none) < 0)
		return 10;
	requirements_check(requirements);
	if (requirements[REQUIREMENT_CAPABILITIES].holds)
		return 11;
	if (requirements[REQUIREMENT_SELF_TEST].holds)
		return 12;
	if (requirements[REQUIREMENT_OTHER_USERS].holds || requirements[REQUIREMENT_FILES].holds ||
	    requirements[REQUIREMENT_MAPPED_FILES].holds)
		return 13;
	if (!requirements_missing(requirements))
		return 14;
	if (strlen(requirements[REQUIREMENT_SELF_TEST].detail) == 0)
		return 15;
	/* of what only rights keep from showing nobody is told to change the kernel */
	if (!requirements[REQUIREMENT_RING_BUFFER].holds &&
	    !requirements[REQUIREMENT_RING_BUFFER].is_unknown)
		return 16;
	if (!requirements[REQUIREMENT_MULTI_LINK].holds &&
	    strcmp(requirements[REQUIREMENT_MULTI_LINK].detail, "not tried: needs CAP_BPF") != 0)
		return 17;
	if (requirements_missing(requirements) != &requirements[REQUIREMENT_CAPABILITIES])
		return 18;
	return 0;
}

static void without_rights_it_says_what_is_missing(void **state)
{
	const pid_t child = fork();
	int status;

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(check_without_rights());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_required_ones_hold_where_programs_may_be_loaded),
		cmocka_unit_test(the_self_test_sees_a_call_and_a_sandbox),
		cmocka_unit_test(without_rights_it_says_what_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
