#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/identity/rootless_podman.h"
#include "tests/unit/collector/identity/machine_folder.h"

#define ID      "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define STORAGE "/.local/share/containers/storage/overlay-containers/containers.json"
#define LIST    "[{\"id\":\"other\",\"names\":[\"no\"]},{\"id\":\"" ID "\",\"names\":[\"llm\"]}]"
#define LOCAL   "a / ext4 rw 0 0\n"
#define PASSWD                                                       \
	"ada:x:1000:1::/users/ada:/s\neve:x:1001:1::/users/eve:/s\n" \
	"odd:x:1002:1::/users/../users/ada:/s\nrel:x:1003:1::users/ada:/s\n"

struct fixture {
	char root[32];
	struct host_files files;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct error err;

	(void)snprintf(fixture->root, sizeof(fixture->root), "/tmp/test_podman.XXXXXX");
	if (!mkdtemp(fixture->root) || host_files_open(fixture->root, &fixture->files, &err) < 0)
		return -1;
	machine_put_file(fixture->root, "/users/ada" STORAGE, LIST);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	host_files_close(&fixture->files);
	machine_remove(fixture->root);
	free(fixture);
	return 0;
}

static bool find(const struct fixture *fixture, const char *mounts, uint32_t uid,
                 struct container_facts *out)
{
	*out = (struct container_facts){ 0 };
	return rootless_podman_find(&fixture->files,
	                            &(struct machine_lists){ str_of(mounts), STR(PASSWD) }, uid, ID,
	                            out);
}

static void a_users_container_has_the_name_that_its_user_gave_it(void **state)
{
	struct container_facts facts;

	assert_true(find(*state, LOCAL, 1000, &facts));
	assert_string_equal(facts.name.text, "llm");
	assert_false(find(*state, LOCAL, 1001, &facts)); /* has none */
	assert_false(find(*state, LOCAL, 7, &facts));    /* is nobody */
}

static void a_home_that_may_hang_or_leads_elsewhere_is_not_looked_into(void **state)
{
	const struct fixture *fixture = *state;
	struct container_facts facts;
	char path[MACHINE_PATH_BYTES];

	assert_false(find(fixture, LOCAL "filer:/x /users nfs4 rw 0 0\n", 1000, &facts));
	assert_false(find(fixture, "", 1000, &facts));
	assert_false(find(fixture, LOCAL, 1002, &facts));
	assert_false(find(fixture, LOCAL, 1003, &facts));
	/* a link of the user to a file of another one */
	machine_make_way(fixture->root, "/users/eve" STORAGE, path);
	assert_int_equal(symlink("/users/ada" STORAGE, path), 0);
	assert_false(find(fixture, LOCAL, 1001, &facts));
	/* no regular file: to open it would wait for ever */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(find(fixture, LOCAL, 1001, &facts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_users_container_has_the_name_that_its_user_gave_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_home_that_may_hang_or_leads_elsewhere_is_not_looked_into, set_up,
			tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
