/*
 * Files of a machine, as engines lay them out, below a folder that stands for its root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/identity/container_bundle.h"
#include "collector/identity/container_lookup.h"
#include "tests/unit/collector/identity/machine_folder.h"

#define ID    "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define OTHER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID   "9d6c1c5e-7a0b-4f3e-8c21-0f1e2d3c4b5a"
#define TASKS "/run/containerd/io.containerd.runtime.v2.task"
#define CRI(pod)                                                                                \
	"{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"" pod "\",\"io.kubernetes.cri." \
	"sandbox-namespace\":\"prod\",\"io.kubernetes.cri.container-name\":\"train\"}}"

struct fixture {
	char root[64];
	struct host_files files;
	struct container_lookup *lookup;
	int64_t now_ns;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct error err = { 0 };

	(void)snprintf(fixture->root, sizeof(fixture->root), "/tmp/host_root.XXXXXX");
	if (!mkdtemp(fixture->root) || host_files_open(fixture->root, &fixture->files, &err) < 0)
		return -1;
	fixture->lookup = container_lookup_new(&fixture->files);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	container_lookup_free(fixture->lookup);
	host_files_close(&fixture->files);
	host_files_close(&fixture->files);
	machine_remove(fixture->root);
	free(fixture);
	return 0;
}

static struct container_facts find(struct fixture *fixture, const char *id, const char *pod_uid)
{
	struct container_facts facts;

	memset(&facts, 0xee, sizeof(facts));
	container_lookup_find(fixture->lookup, id, pod_uid, fixture->now_ns, &facts);
	return facts;
}

static void each_place_is_looked_at(void **state)
{
	static const struct {
		const char *path;
		const char *text;
		const char *pod;
		const char *name;
	} places[] = {
		{ TASKS "/k8s.io/" ID "/config.json", CRI("llm-0"), "llm-0", "" },
		{ "/run/k3s/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		  CRI("llm-1"), "llm-1", "" },
		{ "/run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		  "{\"annotations\":{\"io.kubernetes.pod.name\":\"llm-2\","
		  "\"io.kubernetes.pod.namespace\":\"prod\",\"io.kubernetes.container.name\":\"train\"}}",
		  "llm-2", "" },
		{ TASKS "/default/" ID "/config.json", "{\"annotations\":{\"nerdctl/name\":\"n\"}}",
		  "", "n" },
		{ "/var/lib/docker/containers/" ID "/config.v2.json", "{\"Name\":\"/d\"}", "",
		  "d" },
		{ "/var/lib/containers/storage/overlay-containers/containers.json",
		  "[{\"id\":\"" ID "\",\"names\":[\"p\"]}]", "", "p" },
		{ "/var/log/containers/llm-3_prod_train-" ID ".log", "", "llm-3", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(places); i++) {
		struct fixture *fixture;
		struct container_facts facts;

		assert_int_equal(set_up((void **)&fixture), 0);
		machine_put_file(fixture->root, places[i].path, places[i].text);
		facts = find(fixture, ID, "");
		assert_string_equal(facts.pod.text, places[i].pod);
		assert_string_equal(facts.pod_namespace.text, places[i].pod[0] ? "prod" : "");
		assert_string_equal(facts.container.text, places[i].pod[0] ? "train" : "");
		assert_string_equal(facts.name.text, places[i].name);
		assert_string_equal(find(fixture, OTHER, "").name.text, "");
		assert_string_equal(find(fixture, OTHER, "").pod.text, "");
		(void)tear_down((void **)&fixture);
	}
}

static void a_bundle_goes_before_a_log(void **state)
{
	struct fixture *fixture = *state;

	machine_put_file(fixture->root, "/var/log/containers/old_prod_train-" ID ".log", "");
	machine_put_file(fixture->root, TASKS "/k8s.io/" ID "/config.json", CRI("new"));
	assert_string_equal(find(fixture, ID, "").pod.text, "new");
}

static void an_answer_is_kept_and_none_is_asked_for_again(void **state)
{
	struct fixture *fixture = *state;
	char path[MACHINE_PATH_BYTES];

	assert_string_equal(find(fixture, ID, "").pod.text, "");
	machine_put_file(fixture->root, TASKS "/k8s.io/" ID "/config.json", CRI("llm-0"));
	fixture->now_ns += CONTAINER_LOOKUP_AGAIN_NS - 1;
	assert_string_equal(find(fixture, ID, "").pod.text, "");
	fixture->now_ns++;
	assert_string_equal(find(fixture, ID, "").pod.text, "llm-0");
	/* the container ends; its last process is seen */
	machine_make_way(fixture->root, TASKS "/k8s.io/" ID "/config.json", path);
	assert_int_equal(unlink(path), 0);
	fixture->now_ns += 1000 * CONTAINER_LOOKUP_AGAIN_NS;
	assert_string_equal(find(fixture, ID, "").pod.text, "llm-0");
}

static void a_pod_of_which_only_the_folder_is_there_is_known_in_part(void **state)
{
	struct fixture *fixture = *state;

	machine_put_file(fixture->root, "/var/log/pods/prod_llm-0_" UID "/train/0.log", "");
	assert_string_equal(find(fixture, ID, UID).pod.text, "llm-0");
	assert_string_equal(find(fixture, ID, UID).container.text, "");
	machine_put_file(fixture->root, "/var/log/containers/llm-0_prod_train-" ID ".log", "");
	fixture->now_ns += CONTAINER_LOOKUP_AGAIN_NS;
	assert_string_equal(find(fixture, ID, UID).container.text, "train");
}

static void answers_have_a_bound(void **state)
{
	struct fixture *fixture = *state;

	machine_put_file(fixture->root, TASKS "/k8s.io/" ID "/config.json", CRI("llm-0"));
	for (int i = 0; i < 3 * CONTAINER_LOOKUP_MAX; i++) {
		char id[CONTAINER_ID_LENGTH + 1];

		(void)snprintf(id, sizeof(id), "%064x", (unsigned)i);
		assert_string_equal(find(fixture, id, "").pod.text, "");
	}
	assert_string_equal(find(fixture, ID, "").pod.text, "llm-0");
}

/* A link of the machine is followed within it: it leads to the machine's root, not to ours. */
static void links_lead_nowhere_out_of_the_root(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(strbuf_fini) struct strbuf text;
	char path[MACHINE_PATH_BYTES];

	strbuf_init(&text, 1000);
	machine_put_file(fixture->root, "/data/docker/containers/" ID "/config.v2.json",
	                 "{\"Name\":\"/d\"}");
	machine_make_way(fixture->root, "/var/lib/docker", path);
	assert_int_equal(symlink("/data/docker", path), 0);
	assert_string_equal(find(fixture, ID, "").name.text, "d");
	machine_make_way(fixture->root, "/etc/passwd", path);
	assert_int_equal(symlink("/../../../../../../../../etc/passwd", path), 0);
	assert_false(host_files_read(&fixture->files, "/etc/passwd", &text));
}

/* None of them may hold us up, or be read to an end that it does not have. */
static void files_that_are_none_are_not_read(void **state)
{
	struct fixture *fixture = *state;
	CLEANUP(strbuf_fini) struct strbuf text;
	char path[MACHINE_PATH_BYTES];

	strbuf_init(&text, 4);
	machine_make_way(fixture->root, "/a/pipe", path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_false(host_files_read(&fixture->files, "/a/pipe", &text));
	assert_false(host_files_read(&fixture->files, "/a", &text));
	assert_false(host_files_read(&fixture->files, "/nothing", &text));
	machine_put_file(fixture->root, "/a/file", "four");
	assert_true(host_files_read(&fixture->files, "/a/file", &text));
	assert_string_equal(text.data, "four");
	strbuf_reset(&text);
	machine_put_file(fixture->root, "/a/file", "fives");
	assert_false(host_files_read(&fixture->files, "/a/file", &text));
}

static bool count_name(void *context, struct str name)
{
	assert_true(name.length > 0 && name.data[0] != '.');
	return ++*(size_t *)context == 3;
}

static void of_a_folder_as_many_names_are_read_as_are_wanted(void **state)
{
	struct fixture *fixture = *state;
	size_t seen = 0;

	machine_put_file(fixture->root, "/logs/a", "");
	machine_put_file(fixture->root, "/logs/b", "");
	assert_false(host_files_each(&fixture->files, "/logs", 100, count_name, &seen));
	assert_int_equal(seen, 2);
	machine_put_file(fixture->root, "/logs/c", "");
	seen = 0;
	assert_true(host_files_each(&fixture->files, "/logs", 100, count_name, &seen));
	assert_int_equal(seen, 3);
	seen = 0;
	assert_false(host_files_each(&fixture->files, "/logs", 2, count_name, &seen));
	assert_true(seen <= 2);
	assert_false(host_files_each(&fixture->files, "/logs/a", 100, count_name, &seen));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_is_looked_at),
		cmocka_unit_test_setup_teardown(a_bundle_goes_before_a_log, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_is_kept_and_none_is_asked_for_again,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_pod_of_which_only_the_folder_is_there_is_known_in_part, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(answers_have_a_bound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(links_lead_nowhere_out_of_the_root, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(files_that_are_none_are_not_read, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(of_a_folder_as_many_names_are_read_as_are_wanted,
		                                set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
