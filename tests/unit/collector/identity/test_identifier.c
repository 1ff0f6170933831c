/*
 * All sources together: a process in a folder that stands for /proc, files in one that stands
 * for the machine's root, and an API server.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "collector/identity/identifier.h"
#include "tests/unit/collector/identity/fake_server.h"
#include "tests/unit/collector/identity/machine_folder.h"

#define GIVE_UP_NS (50 * NS_PER_S)
#define ID         "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define UID        "9d6c1c5e-7a0b-4f3e-8c21-0f1e2d3c4b5a"
#define UID_       "9d6c1c5e_7a0b_4f3e_8c21_0f1e2d3c4b5a"
#define POD_GROUP  "0::/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID ".scope\n"
#define BUNDLE     "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json"
#define ANNOTATIONS                                                                          \
	"{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"llm-7d-x\",\"io.kubernetes." \
	"cri.sandbox-namespace\":\"prod\",\"io.kubernetes.cri.container-name\":\"train\"}}"
#define METADATA                                                                            \
	"\"metadata\":{\"name\":\"llm-7d-x\",\"namespace\":\"prod\",\"uid\":\"" UID         \
	"\",\"resourceVersion\":\"8\",\"labels\":{\"app\":\"llama\",\"pod-template-hash\":" \
	"\"7d\"},\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"llm-7d\"}]}"
#define POD "{" METADATA "}"
#define POD_WITH_CONTAINER                                                                      \
	"{" METADATA ",\"status\":{\"containerStatuses\":[{\"name\":\"train\",\"containerID\":" \
	"\"containerd://" ID "\"}]}}"

struct fixture {
	char folder[64];
	char proc[80];
	char root[80];
	struct identifier *identifier;
	struct process_namer namer;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	(void)snprintf(fixture->folder, sizeof(fixture->folder), "/tmp/identifier.XXXXXX");
	if (!mkdtemp(fixture->folder))
		return -1;
	(void)snprintf(fixture->proc, sizeof(fixture->proc), "%s/proc", fixture->folder);
	(void)snprintf(fixture->root, sizeof(fixture->root), "%s/root", fixture->folder);
	*state = fixture;
	return mkdir(fixture->proc, 0700) < 0 || mkdir(fixture->root, 0700) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	identifier_close(fixture->identifier);
	machine_remove(fixture->folder);
	free(fixture);
	return 0;
}

static void open_identifier(struct fixture *fixture, const char *node,
                            const struct kubernetes_access *access)
{
	struct error err = { 0 };

	if (identifier_open(&(struct identifier_options){ .proc = fixture->proc,
	                                                  .host_root = fixture->root,
	                                                  .node = node,
	                                                  .access = access },
	                    &fixture->identifier, &err) < 0)
		fail_msg("%s", err.message);
	fixture->namer = identifier_namer(fixture->identifier);
}

static struct process_identity identify(const struct fixture *fixture)
{
	struct process_identity identity;

	fixture->namer.identify(fixture->namer.context, 42, "python3", &identity);
	return identity;
}

static bool settle(const struct fixture *fixture, struct process_identity *identity)
{
	return fixture->namer.settle(fixture->namer.context, 42, identity);
}

#define WAIT_FOR(condition)                                            \
	do {                                                           \
		const struct timespec pause_ = { 0, 2000000 };         \
		const int64_t give_up_ = clock_mono_ns() + GIVE_UP_NS; \
		while (!(condition)) {                                 \
			assert_true(clock_mono_ns() < give_up_);       \
			nanosleep(&pause_, NULL);                      \
		}                                                      \
	} while (0)

static void assert_label(const struct process_identity *identity, enum identity_label label,
                         const char *value)
{
	assert_string_equal(identity->labels[label].text, value);
}

static size_t pods(const struct fixture *fixture)
{
	return identifier_counts(fixture->identifier).table.pods;
}

/* ---- without Kubernetes ---- */

#define STORAGE "/users/ada/.local/share/containers/storage/overlay-containers/containers.json"
#define STATUS  "Name:\tpython3\nUid:\t1000\t0\t0\t0\nGid:\t1000\t1\t1\t1\n"
#define USERS   "root:x:0:0::/root:/bin/sh\nada:x:1000:1000::/users/ada:/bin/sh\n"

static void a_process_of_a_user_has_the_users_name(void **state)
{
	struct fixture *fixture = *state;
	struct process_identity identity;

	machine_put_file(fixture->proc, "/42/cgroup",
	                 "0::/user.slice/user-1000.slice/session-3.scope\n");
	machine_put_file(fixture->proc, "/42/status", STATUS);
	open_identifier(fixture, "", NULL);
	identity = identify(fixture);
	assert_label(&identity, IDENTITY_USER, "1000"); /* no such account */
	machine_put_file(fixture->root, "/etc/passwd", USERS);
	identity = identify(fixture);
	assert_label(&identity, IDENTITY_USER, "ada");
	machine_put_file(fixture->root, "/etc/passwd", "bob:x:1000:1000::/users/bob:/bin/sh\n");
	identity = identify(fixture);
	assert_label(&identity, IDENTITY_USER, "bob"); /* it has changed */
	assert_label(&identity, IDENTITY_UNIT, "");
}

/* Root of the container is the user; the name stands in the user's home. */
static void a_rootless_container_has_its_users_names(void **state)
{
	struct fixture *fixture = *state;
	struct process_identity identity;

	machine_put_file(fixture->proc, "/42/cgroup",
	                 "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
	                 ".scope/container\n");
	machine_put_file(fixture->proc, "/42/status", STATUS);
	machine_put_file(fixture->proc, "/1/mounts", "/dev/sda1 / ext4 rw 0 0\n");
	machine_put_file(fixture->root, "/etc/passwd", USERS);
	machine_put_file(fixture->root, STORAGE, "[{\"id\":\"" ID "\",\"names\":[\"llm\"]}]");
	open_identifier(fixture, "", NULL);
	identity = identify(fixture);
	assert_string_equal(identity.service_name.text, "llm");
	assert_label(&identity, IDENTITY_RUNTIME_CONTAINER, "llm");
	assert_label(&identity, IDENTITY_USER, "ada");
}

static void a_process_of_a_pod_is_no_users(void **state)
{
	struct fixture *fixture = *state;
	struct process_identity identity;

	machine_put_file(fixture->proc, "/42/cgroup", POD_GROUP);
	machine_put_file(fixture->proc, "/42/status", STATUS);
	machine_put_file(fixture->root, "/etc/passwd", USERS);
	machine_put_file(fixture->root, BUNDLE, ANNOTATIONS);
	open_identifier(fixture, "", NULL);
	identity = identify(fixture);
	assert_label(&identity, IDENTITY_POD, "llm-7d-x");
	assert_label(&identity, IDENTITY_USER, "");
}

static void a_process_in_no_container_has_no_labels_but_its_unit(void **state)
{
	struct fixture *fixture = *state;
	struct process_identity identity;

	machine_put_file(fixture->proc, "/42/cgroup", "0::/system.slice/ollama.service\n");
	open_identifier(fixture, "", NULL);
	identity = identify(fixture);
	assert_false(identity.is_late);
	assert_string_equal(identity.service_name.text, "ollama");
	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++)
		assert_label(&identity, (enum identity_label)i, i == IDENTITY_UNIT ? "ollama" : "");
	assert_false(identifier_counts(fixture->identifier).has_watch);
}

static void a_container_of_docker_has_its_name(void **state)
{
	struct fixture *fixture = *state;
	struct process_identity identity;

	machine_put_file(fixture->proc, "/42/cgroup", "0::/system.slice/docker-" ID ".scope\n");
	machine_put_file(fixture->root, "/var/lib/docker/containers/" ID "/config.v2.json",
	                 "{\"Name\":\"/brave_turing\"}");
	open_identifier(fixture, "", NULL);
	identity = identify(fixture);
	assert_false(identity.is_late);
	assert_string_equal(identity.service_name.text, "brave_turing");
	assert_label(&identity, IDENTITY_RUNTIME_CONTAINER, "brave_turing");
	assert_label(&identity, IDENTITY_CONTAINER_ID, "a1b2c3d4e5f6");
	assert_label(&identity, IDENTITY_POD, "");
	assert_label(&identity, IDENTITY_NODE, "");
}

static void a_node_is_told_or_is_what_the_machine_is_called(void **state)
{
	struct fixture *fixture = *state;
	struct process_identity identity;
	char host[256] = "";

	assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
	machine_put_file(fixture->proc, "/42/cgroup", POD_GROUP);
	machine_put_file(fixture->proc, "/43/cgroup", "0::/\n");
	machine_put_file(fixture->root, BUNDLE, ANNOTATIONS);
	open_identifier(fixture, "", NULL);
	identity = identify(fixture);
	assert_label(&identity, IDENTITY_NODE, host);
	assert_label(&identity, IDENTITY_POD, "llm-7d-x");
	assert_string_equal(identity.service_name.text, "train");
	identifier_close(fixture->identifier);
	open_identifier(fixture, "aks-gpu-0", NULL);
	identity = identify(fixture);
	assert_label(&identity, IDENTITY_NODE, "aks-gpu-0");
	/* the machine's own processes run there, too */
	fixture->namer.identify(fixture->namer.context, 43, "", &identity);
	assert_label(&identity, IDENTITY_NODE, "aks-gpu-0");
	assert_label(&identity, IDENTITY_POD, "");
}

static void where_nobody_knows_a_pod_it_is_asked_itself(void **state)
{
	struct fixture *fixture = *state;
	struct process_identity identity;

	machine_put_file(fixture->proc, "/42/cgroup", POD_GROUP);
	machine_put_file(fixture->proc, "/42/root/etc/hostname", "llm-7d-x\n");
	machine_put_file(fixture->proc,
	                 "/42/root/var/run/secrets/kubernetes.io/serviceaccount/namespace", "prod");
	open_identifier(fixture, "n", NULL);
	identity = identify(fixture);
	assert_false(identity.is_late);
	assert_label(&identity, IDENTITY_POD, "llm-7d-x");
	assert_label(&identity, IDENTITY_NAMESPACE, "prod");
	assert_label(&identity, IDENTITY_CONTAINER, "");
	assert_label(&identity, IDENTITY_CONTAINER_ID, "a1b2c3d4e5f6");
}

/* ---- with an API server ---- */

static void a_pod_that_is_known_is_no_cause_to_wait(void **state)
{
	struct fixture *fixture = *state;
	struct fake_server server;
	struct process_identity identity;

	fake_server_start(&server, "[{\"list\":[" POD "],\"version\":\"7\"}]");
	machine_put_file(fixture->proc, "/42/cgroup", POD_GROUP);
	machine_put_file(fixture->root, BUNDLE, ANNOTATIONS);
	open_identifier(fixture, "aks-gpu-0", &server.access);
	WAIT_FOR(pods(fixture) == 1);
	identity = identify(fixture);
	assert_false(identity.is_late);
	assert_null(identity.sight);
	assert_string_equal(identity.service_name.text, "llama");
	assert_label(&identity, IDENTITY_OWNER_KIND, "Deployment");
	assert_label(&identity, IDENTITY_OWNER_NAME, "llm");
	assert_label(&identity, IDENTITY_CONTAINER, "train");
	identifier_close(fixture->identifier);
	fixture->identifier = NULL;
	fake_server_stop(&server);
}

/* The server tells of the pod, then of its container, each when the token says so. */
static void what_comes_late_is_waited_for(void **state)
{
	struct fixture *fixture = *state;
	struct fake_server server;
	struct process_identity identity;

	fake_server_start(
		&server,
		"[{\"list\":[],\"version\":\"7\"},{\"token\":\"second\",\"watch\":[{\"type\":"
		"\"ADDED\",\"object\":" POD "}],\"end\":\"close\"},{\"token\":\"third\","
		"\"watch\":[{\"type\":\"MODIFIED\",\"object\":" POD_WITH_CONTAINER
		"}],\"end\":\"hold\"}]");
	machine_put_file(fixture->proc, "/42/cgroup", POD_GROUP);
	open_identifier(fixture, "aks-gpu-0", &server.access);
	WAIT_FOR(identifier_counts(fixture->identifier).watch.lists == 1);
	identity = identify(fixture);
	assert_true(identity.is_late);
	assert_string_equal(identity.service_name.text, "python3");
	assert_label(&identity, IDENTITY_POD, "");
	assert_false(settle(fixture, &identity));

	fake_server_set_token(&server, "second");
	WAIT_FOR(pods(fixture) == 1);
	assert_false(settle(fixture, &identity));
	assert_true(identity.is_late); /* its container has no name yet; the rest is there */
	assert_label(&identity, IDENTITY_POD, "llm-7d-x");
	assert_string_equal(identity.service_name.text, "llama");

	fake_server_set_token(&server, "third");
	WAIT_FOR(settle(fixture, &identity));
	assert_false(identity.is_late);
	assert_null(identity.sight);
	assert_label(&identity, IDENTITY_CONTAINER, "train");
	assert_label(&identity, IDENTITY_RUNTIME_CONTAINER, "train");
	identifier_close(fixture->identifier);
	fixture->identifier = NULL;
	fake_server_stop(&server);
}

static void who_is_in_no_pod_waits_for_none(void **state)
{
	struct fixture *fixture = *state;
	struct fake_server server;
	struct process_identity identity;

	fake_server_start(&server, "[]");
	machine_put_file(fixture->proc, "/42/cgroup", "0::/system.slice/ollama.service\n");
	open_identifier(fixture, "aks-gpu-0", &server.access);
	identity = identify(fixture);
	assert_false(identity.is_late);
	assert_string_equal(identity.service_name.text, "ollama");
	identifier_close(fixture->identifier);
	fixture->identifier = NULL;
	fake_server_stop(&server);
}

/* ---- where the server is ---- */

static void the_environment_of_a_pod_says_where_the_server_is(void **state)
{
	static const struct {
		const char *host;
		const char *port;
		const char *url; /* NULL: nowhere */
	} cases[] = {
		{ "10.0.0.1", "6443", "https://10.0.0.1:6443" },
		{ "10.0.0.1", NULL, "https://10.0.0.1:443" },
		{ "fd00::1", "443", "https://[fd00::1]:443" },
		{ "kubernetes.default.svc", "443", "https://kubernetes.default.svc:443" },
		{ "10.0.0.1/x", "443", NULL },
		{ "a@b", "443", NULL },
		{ "", "443", NULL },
		{ NULL, "443", NULL },
		{ "10.0.0.1", "443/x", "https://10.0.0.1:443" },
	};
	const struct fixture *fixture = *state;
	struct kubernetes_access access;

	machine_put_file(fixture->folder, "/account/token", "t");
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		char credentials[128];

		(void)snprintf(credentials, sizeof(credentials), "%s/account", fixture->folder);
		(void)unsetenv("KUBERNETES_SERVICE_HOST");
		(void)unsetenv("KUBERNETES_SERVICE_PORT");
		if (cases[i].host)
			assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", cases[i].host, 1), 0);
		if (cases[i].port)
			assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", cases[i].port, 1), 0);
		assert_int_equal(kubernetes_access_find(credentials, &access),
		                 cases[i].url != NULL);
		if (cases[i].url)
			assert_string_equal(access.url, cases[i].url);
		/* an account that was not mounted */
		assert_false(kubernetes_access_find(fixture->folder, &access));
	}
	(void)unsetenv("KUBERNETES_SERVICE_HOST");
	(void)unsetenv("KUBERNETES_SERVICE_PORT");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_process_in_no_container_has_no_labels_but_its_unit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_of_a_user_has_the_users_name, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_rootless_container_has_its_users_names, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_process_of_a_pod_is_no_users, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_container_of_docker_has_its_name, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_node_is_told_or_is_what_the_machine_is_called,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(where_nobody_knows_a_pod_it_is_asked_itself, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_pod_that_is_known_is_no_cause_to_wait, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(what_comes_late_is_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_is_in_no_pod_waits_for_none, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_environment_of_a_pod_says_where_the_server_is,
		                                set_up, tear_down),
	};

	if (!fake_server_is_possible())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
