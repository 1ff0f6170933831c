#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/utf8.h"
#include "collector/identity/process_identity.h"

/* A /proc of one process, 42. */
struct fixture {
	char proc[64];
};

static void path_of(const struct fixture *fixture, const char *name, char path[128])
{
	assert_true(snprintf(path, 128, "%s/42%s%s", fixture->proc, *name ? "/" : "", name) < 128);
}

static void put_file(const struct fixture *fixture, const char *name, struct str text)
{
	char path[128];
	FILE *file;

	path_of(fixture, name, path);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
	assert_int_equal(fclose(file), 0);
}

static void put_link(const struct fixture *fixture, const char *name, const char *target)
{
	char path[128];

	path_of(fixture, name, path);
	assert_int_equal(symlink(target, path), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char path[128];

	(void)snprintf(fixture->proc, sizeof(fixture->proc), "/tmp/identity.XXXXXX");
	if (!mkdtemp(fixture->proc))
		return -1;
	path_of(fixture, "", path);
	*state = fixture;
	return mkdir(path, 0700);
}

static int tear_down(void **state)
{
	static const char *const names[] = { "comm", "environ", "cgroup", "cmdline", "exe", "" };
	struct fixture *fixture = *state;
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path_of(fixture, names[i], path);
		(void)remove(path);
	}
	(void)remove(fixture->proc);
	free(fixture);
	return 0;
}

static void assert_service(const struct fixture *fixture, const char *name)
{
	struct process_identity identity;

	process_identity_read(fixture->proc, 42, "thread", &identity);
	assert_string_equal(identity.service_name, name);
}

static void rules_count_in_their_order(void **state)
{
	const struct fixture *fixture = *state;
	struct process_identity identity;

	/* the process has gone: what its last event said */
	process_identity_read(fixture->proc, 42, "thread", &identity);
	assert_string_equal(identity.comm, "thread");
	assert_string_equal(identity.service_name, "thread");
	put_file(fixture, "comm", STR("pt_main_thread\n"));
	assert_service(fixture, "pt_main_thread");
	put_link(fixture, "exe", "/usr/bin/python3.11 (deleted)");
	assert_service(fixture, "python3.11");
	put_file(fixture, "cmdline", STR("python\0-u\0/srv/train.py\0"));
	assert_service(fixture, "train.py");
	put_file(fixture, "cgroup", STR("0::/system.slice/trainer.service\n"));
	assert_service(fixture, "trainer");
	put_file(fixture, "environ", STR("A=b\0PYROSCOPE_APPLICATION_NAME=shop\0"));
	assert_service(fixture, "shop");
	put_file(fixture, "environ",
	         STR("PYROSCOPE_APPLICATION_NAME=shop\0"
	             "OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=pay%20in\0"));
	assert_service(fixture, "pay in");
	put_file(fixture, "environ",
	         STR("OTEL_RESOURCE_ATTRIBUTES=service.name=pay\0OTEL_SERVICE_NAME=till\0"));
	process_identity_read(fixture->proc, 42, "thread", &identity);
	assert_string_equal(identity.service_name, "till");
	assert_string_equal(identity.comm, "pt_main_thread");
}

static void variables_that_only_look_alike_say_nothing(void **state)
{
	static const struct str environments[] = {
		STR(""),
		STR("\0\0\0"),
		STR("OTEL_SERVICE_NAME"),
		STR("OTEL_SERVICE_NAME=\0"),
		STR("OTEL_SERVICE_NAME=  \0"),
		STR("XOTEL_SERVICE_NAME=x\0"),
		STR("OTEL_RESOURCE_ATTRIBUTES=service.name\0"),
		STR("OTEL_RESOURCE_ATTRIBUTES=service.names=x,=y\0"),
	};
	char out[IDENTITY_TEXT_MAX + 1];

	(void)state;
	for (size_t i = 0; i < sizeof(environments) / sizeof(environments[0]); i++)
		assert_false(process_identity_of_environment(environments[i], out));
}

static void units_are_told_by_the_last_component(void **state)
{
	static const struct {
		const char *text;
		const char *unit;
	} cases[] = {
		{ "0::/system.slice/ollama.service\n", "ollama" },
		{ "0::/user.slice/user-1000.slice/user@1000.service/app.slice/app-jupyter.scope\n",
		  "app-jupyter" },
		{ "0::/system.slice/my\\x2dapp.service\n", "my-app" },
		{ "12:cpu:/x\n1:name=systemd:/system.slice/a.service\n", "a" },
		{ "0::/user.slice/user-0.slice/session-3.scope\n", "" },
		{ "0::/user.slice/user-1000.slice/user@1000.service\n", "" },
		{ "0::/\n", "" },
		{ "0::/system.slice/docker-0123.scope\n", "" },
		{ "", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char out[IDENTITY_TEXT_MAX + 1] = "";

		assert_int_equal(process_identity_of_cgroup(str_of(cases[i].text), out),
		                 cases[i].unit[0] != '\0');
		assert_string_equal(out, cases[i].unit);
	}
}

static void names_are_made_fit_for_labels(void **state)
{
	const struct fixture *fixture = *state;
	char longer[2000];
	struct process_identity identity;

	memset(longer, 0xe2, sizeof(longer)); /* never a whole character */
	memcpy(longer, "OTEL_SERVICE_NAME=", 18);
	put_file(fixture, "environ", str_make(longer, sizeof(longer)));
	put_file(fixture, "comm", STR("a\x1b[31m\xff"));
	process_identity_read(fixture->proc, 42, "", &identity);
	assert_string_equal(identity.comm, "a [31m\xef\xbf\xbd");
	assert_true(utf8_is_valid(str_of(identity.service_name)));
	assert_int_equal(strlen(identity.service_name), IDENTITY_TEXT_MAX / 3 * 3);
}

static void our_own_process_has_a_name(void **state)
{
	struct process_identity identity;

	(void)state;
	process_identity_read("/proc", (uint32_t)getpid(), "", &identity);
	assert_string_equal(identity.comm, "test_process_id"); /* 15 bytes, as the kernel has it */
	assert_true(identity.service_name[0] != '\0');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(rules_count_in_their_order, set_up, tear_down),
		cmocka_unit_test(variables_that_only_look_alike_say_nothing),
		cmocka_unit_test(units_are_told_by_the_last_component),
		cmocka_unit_test_setup_teardown(names_are_made_fit_for_labels, set_up, tear_down),
		cmocka_unit_test(our_own_process_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
