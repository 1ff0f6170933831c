#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "collector/identity/process_sight.h"
#include "tests/unit/collector/identity/machine_folder.h"

/* A /proc of one process, 42. */
struct fixture {
	char proc[64];
};

/* The path that leads to one of its files; folders above it are made. */
static void path_of(const struct fixture *fixture, const char *name,
                    char out[static MACHINE_PATH_BYTES])
{
	char path[MACHINE_PATH_BYTES];

	assert_true(snprintf(path, sizeof(path), "/42/%s", name) < (int)sizeof(path));
	machine_make_way(fixture->proc, path, out);
}

static void put_file(const struct fixture *fixture, const char *name, struct str text)
{
	char path[MACHINE_PATH_BYTES];
	FILE *file;

	path_of(fixture, name, path);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
	assert_int_equal(fclose(file), 0);
}

static void put_link(const struct fixture *fixture, const char *name, const char *target)
{
	char path[MACHINE_PATH_BYTES];

	path_of(fixture, name, path);
	assert_int_equal(symlink(target, path), 0);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	(void)snprintf(fixture->proc, sizeof(fixture->proc), "/tmp/identity.XXXXXX");
	*state = fixture;
	return mkdtemp(fixture->proc) ? 0 : -1;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	machine_remove(fixture->proc);
	free(fixture);
	return 0;
}

static struct process_sight look(const struct fixture *fixture, const char *comm)
{
	struct process_sight sight;

	memset(&sight, 0xee, sizeof(sight));
	process_sight_read(fixture->proc, 42, comm, &sight);
	return sight;
}

static void what_is_there_is_seen(void **state)
{
	const struct fixture *fixture = *state;

	/* the process has gone: what its last event said */
	assert_string_equal(look(fixture, "thread").comm.text, "thread");
	assert_string_equal(look(fixture, "").comm.text, "unknown");
	assert_string_equal(look(fixture, "").program.text, "");
	assert_int_equal(look(fixture, "").cgroup.runtime, RUNTIME_NONE);
	put_file(fixture, "comm", STR("pt_main_thread\n"));
	assert_string_equal(look(fixture, "thread").comm.text, "pt_main_thread");
	put_link(fixture, "exe", "/usr/bin/python3.11 (deleted)");
	assert_string_equal(look(fixture, "").program.text, "python3.11");
	put_file(fixture, "cmdline", STR("python\0-u\0/srv/train.py\0"));
	assert_string_equal(look(fixture, "").program.text, "train.py");
	put_file(fixture, "cgroup", STR("0::/system.slice/trainer.service\n"));
	assert_string_equal(look(fixture, "").cgroup.unit.text, "trainer");
}

static void a_process_names_itself_by_its_environment(void **state)
{
	const struct fixture *fixture = *state;

	assert_string_equal(look(fixture, "").own_name.text, "");
	put_file(fixture, "environ", STR("A=b\0PYROSCOPE_APPLICATION_NAME=shop\0"));
	assert_string_equal(look(fixture, "").own_name.text, "shop");
	put_file(fixture, "environ",
	         STR("PYROSCOPE_APPLICATION_NAME=shop\0"
	             "OTEL_RESOURCE_ATTRIBUTES=a=b,service.name=pay%20in\0"));
	assert_string_equal(look(fixture, "").own_name.text, "pay in");
	put_file(fixture, "environ",
	         STR("OTEL_RESOURCE_ATTRIBUTES=service.name=pay\0OTEL_SERVICE_NAME=till\0"));
	assert_string_equal(look(fixture, "").own_name.text, "till");
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
	struct label_text out;

	(void)state;
	for (size_t i = 0; i < sizeof(environments) / sizeof(environments[0]); i++)
		assert_false(process_sight_own_name(environments[i], &out));
}

static void names_are_made_fit_for_labels(void **state)
{
	const struct fixture *fixture = *state;
	struct process_sight sight;
	CLEANUP(strbuf_fini) struct strbuf longer;

	strbuf_init(&longer, 2000);
	strbuf_add_text(&longer, "OTEL_SERVICE_NAME=");
	for (int i = 0; i < 1900; i++)
		strbuf_add_byte(&longer, '\xe2'); /* never a whole character */
	put_file(fixture, "environ", strbuf_view(&longer));
	put_file(fixture, "comm", STR("a\x1b[31m\xff"));
	sight = look(fixture, "");
	assert_string_equal(sight.comm.text, "a [31m\xef\xbf\xbd");
	assert_true(utf8_is_valid(str_of(sight.own_name.text)));
	assert_int_equal(strlen(sight.own_name.text), LABEL_TEXT_BYTES / 3 * 3);
	put_file(fixture, "comm", STR("\x01 a \x7f\x02"));
	assert_string_equal(look(fixture, "").comm.text, "a");
	put_file(fixture, "comm", STR("\x01\x02\n"));
	assert_string_equal(look(fixture, "b").comm.text, "b");
}

static void our_own_process_is_seen(void **state)
{
	struct process_sight sight;

	(void)state;
	process_sight_read("/proc", (uint32_t)getpid(), "", &sight);
	assert_string_equal(sight.comm.text,
	                    "test_process_si"); /* 15 bytes, as the kernel has it */
	assert_string_equal(sight.program.text, "test_process_sight");
}

/* ---- pods ---- */

/* As in an image: /var/run is a link to /run, which is the container's, not ours. */
static void a_pod_is_read_below_the_root_of_its_process(void **state)
{
	const struct fixture *fixture = *state;
	struct process_sight sight = { .pod = { "" } };

	put_link(fixture, "root/var/run", "/run");
	process_sight_pod(fixture->proc, 42, &sight);
	assert_string_equal(sight.pod_namespace.text, "");
	/* a host's name alone is any machine's */
	put_file(fixture, "root/etc/hostname", STR("trainer-0\n"));
	process_sight_pod(fixture->proc, 42, &sight);
	assert_string_equal(sight.pod.text, "");
	put_file(fixture, "root/run/secrets/kubernetes.io/serviceaccount/namespace", STR("prod"));
	process_sight_pod(fixture->proc, 42, &sight);
	assert_string_equal(sight.pod_namespace.text, "prod");
	assert_string_equal(sight.pod.text, "trainer-0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_there_is_seen, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_names_itself_by_its_environment, set_up,
		                                tear_down),
		cmocka_unit_test(variables_that_only_look_alike_say_nothing),
		cmocka_unit_test_setup_teardown(names_are_made_fit_for_labels, set_up, tear_down),
		cmocka_unit_test(our_own_process_is_seen),
		cmocka_unit_test_setup_teardown(a_pod_is_read_below_the_root_of_its_process, set_up,
		                                tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
