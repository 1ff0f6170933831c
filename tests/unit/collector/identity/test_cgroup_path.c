/*
 * Every row of the specification's table of control groups, and what stands around them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/identity/cgroup_path.h"

#define A      "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define B      "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID    "9d6c1c5e-7a0b-4f3e-8c21-0f1e2d3c4b5a"
#define UID_   "9d6c1c5e_7a0b_4f3e_8c21_0f1e2d3c4b5a"
#define STATIC "8f14e45fceea167a5a36dedd4bea2543"
#define PODS   "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_ ".slice"

struct expected {
	const char *path; /* of version 2 */
	enum container_runtime runtime;
	const char *id;
	const char *pod;
};

static struct cgroup_path read_text(const char *text)
{
	struct cgroup_path path;

	memset(&path, 0xee, sizeof(path));
	cgroup_path_read(str_of(text), &path);
	return path;
}

static struct cgroup_path read_path(const char *path)
{
	char text[2048];

	assert_true(snprintf(text, sizeof(text), "0::%s\n", path) < (int)sizeof(text));
	return read_text(text);
}

static void assert_read(const struct expected *expected)
{
	const struct cgroup_path path = read_path(expected->path);

	assert_int_equal(path.runtime, expected->runtime);
	assert_string_equal(path.container_id, expected->id);
	assert_string_equal(path.pod_uid, expected->pod);
	assert_string_equal(path.pod_container_id, expected->pod[0] ? expected->id : "");
	assert_string_equal(path.unit.text, "");
	assert_string_equal(path.container_name.text, "");
	assert_string_equal(path.slurm_job, "");
}

static void each_runtime_is_told_by_its_pattern(void **state)
{
	static const struct expected cases[] = {
		/* containerd, systemd's driver */
		{ PODS "/cri-containerd-" A ".scope", RUNTIME_CONTAINERD, A, UID },
		/* plain folders: containerd, CRI-O and Docker look alike */
		{ "/kubepods/burstable/pod" UID "/" A, RUNTIME_UNKNOWN, A, UID },
		{ "/kubepods/pod" UID "/" A, RUNTIME_UNKNOWN, A, UID },
		/* containerd with mixed drivers */
		{ "/system.slice/containerd.service/kubepods-besteffort-pod" UID_
		  ".slice:cri-containerd:" A,
		  RUNTIME_CONTAINERD, A, UID },
		{ "/kubepods-pod" UID_ ".slice:cri-containerd:" A, RUNTIME_CONTAINERD, A, UID },
		/* CRI-O */
		{ PODS "/crio-" A ".scope", RUNTIME_CRIO, A, UID },
		{ "/kubepods/besteffort/pod" UID "/crio-" A, RUNTIME_CRIO, A, UID },
		{ PODS "/crio-conmon-" A ".scope", RUNTIME_NONE, "", UID },
		/* Docker */
		{ "/system.slice/docker-" A ".scope", RUNTIME_DOCKER, A, "" },
		{ "/docker/" A, RUNTIME_DOCKER, A, "" },
		{ PODS "/docker-" A ".scope", RUNTIME_DOCKER, A, UID },
		/* Podman */
		{ "/machine.slice/libpod-" A ".scope", RUNTIME_PODMAN, A, "" },
		{ "/machine.slice/libpod-" A ".scope/container", RUNTIME_PODMAN, A, "" },
		{ "/libpod_parent/libpod-" A "/container", RUNTIME_PODMAN, A, "" },
		{ "/machine.slice/libpod-conmon-" A ".scope", RUNTIME_NONE, "", "" },
		/* nerdctl */
		{ "/system.slice/nerdctl-" A ".scope", RUNTIME_NERDCTL, A, "" },
		{ "/default/" A, RUNTIME_NERDCTL, A, "" },
		/* somebody's */
		{ "/ci-jobs/" A, RUNTIME_UNKNOWN, A, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_read(&cases[i]);
}

static void pods_are_told_in_each_of_their_forms(void **state)
{
	static const struct expected cases[] = {
		{ "/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" A ".scope",
		  RUNTIME_CONTAINERD, A, UID },
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		  ".slice/cri-containerd-" A ".scope",
		  RUNTIME_CONTAINERD, A, UID },
		/* a node that is a container itself (kind), and its prefix */
		{ "/docker/" B "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable."
		  "slice/kubelet-kubepods-burstable-pod" UID_ ".slice/cri-containerd-" A ".scope",
		  RUNTIME_CONTAINERD, A, UID },
		/* static pods */
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
		  ".slice/cri-containerd-" A ".scope",
		  RUNTIME_CONTAINERD, A, STATIC },
		{ "/kubepods/burstable/pod" STATIC "/" A, RUNTIME_UNKNOWN, A, STATIC },
		/* not those */
		{ "/kubepods/burstable/pod" UID_ "/" A, RUNTIME_UNKNOWN, A, "" },
		{ "/kubepods/burstable/podman/" A, RUNTIME_UNKNOWN, A, "" },
		{ "/kubepods/burstable/pod/" A, RUNTIME_UNKNOWN, A, "" },
		{ "/system-pod" UID_ ".slice/crio-" A ".scope", RUNTIME_CRIO, A, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_read(&cases[i]);
}

static void what_only_looks_like_an_id_is_none(void **state)
{
	static const char *const paths[] = {
		"/docker/a1b2c3d4e5f6",
		("/docker/" A "0"),
		("/system.slice/docker-" A "0.scope"),
		"/docker/A1B2C3D4E5F60718293A4B5C6D7E8F90A1B2C3D4E5F60718293A4B5C6D7E8F90",
		"/x:cri-containerd:a1b2",
		("/x:cri-containerd:" A ":y"),
		("/x:containerd:" A),
		"/",
		"",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(paths); i++)
		assert_read(&(struct expected){ paths[i], RUNTIME_NONE, "", "" });
}

/* The path begins where our own namespace's group stands. */
static void paths_of_another_cgroup_namespace_are_read_from_their_end(void **state)
{
	static const struct expected cases[] = {
		{ "/../../kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		  ".slice/cri-containerd-" A ".scope",
		  RUNTIME_CONTAINERD, A, UID },
		{ "/../kubepods-burstable-pod" UID_ ".slice/crio-" A ".scope", RUNTIME_CRIO, A,
		  UID },
		{ "/../../pod" UID "/" A, RUNTIME_UNKNOWN, A, UID },
		{ "/../docker-" A ".scope", RUNTIME_DOCKER, A, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_read(&cases[i]);
}

static void the_innermost_container_and_the_outermost_pod_count(void **state)
{
	struct cgroup_path path;

	(void)state;
	/* Docker in a pod */
	path = read_path(PODS "/cri-containerd-" A ".scope/docker/" B);
	assert_int_equal(path.runtime, RUNTIME_DOCKER);
	assert_string_equal(path.container_id, B);
	assert_string_equal(path.pod_uid, UID);
	assert_string_equal(path.pod_container_id, A);

	/* a cluster in a pod of a cluster */
	path = read_path(PODS "/cri-containerd-" A ".scope/kubelet.slice/kubelet-kubepods.slice/"
	                      "kubelet-kubepods-pod11111111_2222_3333_4444_555555555555.slice/"
	                      "cri-containerd-" B ".scope");
	assert_string_equal(path.container_id, B);
	assert_string_equal(path.pod_uid, UID);
	assert_string_equal(path.pod_container_id, A);

	/* Docker in a machine, and a machine in Docker */
	path = read_path("/lxc.payload.build/system.slice/docker-" A ".scope");
	assert_int_equal(path.runtime, RUNTIME_DOCKER);
	assert_string_equal(path.container_id, A);
	assert_string_equal(path.container_name.text, "");
	path = read_path("/docker/" A "/machine.slice/machine-deb.scope");
	assert_int_equal(path.runtime, RUNTIME_NSPAWN);
	assert_string_equal(path.container_id, "");
	assert_string_equal(path.container_name.text, "deb");
}

static void machines_have_names(void **state)
{
	struct cgroup_path path;

	(void)state;
	path = read_path("/lxc.payload.gpu-box");
	assert_int_equal(path.runtime, RUNTIME_LXC);
	assert_string_equal(path.container_name.text, "gpu-box");
	path = read_path("/machine.slice/machine-my\\x2dbox.scope/payload");
	assert_int_equal(path.runtime, RUNTIME_NSPAWN);
	assert_string_equal(path.container_name.text, "my-box");
	assert_string_equal(path.unit.text, "");
}

static void units_are_told_by_the_last_component_that_names_one(void **state)
{
	static const struct {
		const char *path;
		const char *unit;
		bool is_login;
	} cases[] = {
		{ "/system.slice/ollama.service", "ollama", false },
		{ "/system.slice/system-trainer.slice/trainer@7.service", "trainer@7", false },
		{ "/system.slice/my\\x2dapp.service", "my-app", false },
		{ "/system.slice/trainer.service/worker/0", "trainer", false },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-jupyter.scope",
		  "app-jupyter", false },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/lab.service", "lab",
		  false },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/tmux-spawn-1.scope",
		  "user@1000", true },
		{ "/user.slice/user-0.slice/session-3.scope", "session-3", true },
		{ "/system.slice/docker-" A ".scope/system.slice/ollama.service", "ollama", false },
		/* not of the process: of whoever runs its container */
		{ "/system.slice/containerd.service/default/" A, "", false },
		{ "/system.slice/init.scope", "", false },
		{ "/system.slice", "", false },
		{ "/.service", "", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct cgroup_path path = read_path(cases[i].path);

		assert_string_equal(path.unit.text, cases[i].unit);
		assert_int_equal(path.is_login, cases[i].is_login);
	}
}

static void the_outermost_slice_of_a_user_says_whose_it_is(void **state)
{
	static const struct {
		const char *path;
		bool has_owner;
		uint32_t owner;
	} cases[] = {
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" A ".scope",
		  true, 1000 },
		/* what lies in it is the user's: a name that claims another one is none */
		{ "/user.slice/user-1000.slice/user@1000.service/user-0.slice/libpod-" A ".scope",
		  true, 1000 },
		{ "/system.slice/docker-" A ".scope", false, 0 },
		{ "/user.slice/user-.slice/x", false, 0 },
		{ "/user.slice/user-4294967296.slice/x", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct cgroup_path path = read_path(cases[i].path);

		assert_int_equal(path.has_owner, cases[i].has_owner);
		assert_int_equal(path.owner, cases[i].owner);
	}
}

static void jobs_of_slurm_are_told(void **state)
{
	static const struct {
		const char *path;
		const char *job;
		const char *unit;
	} cases[] = {
		{ "/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0", "4711", "" },
		{ "/system.slice/slurmd.service/slurm/uid_1000/job_12/step_batch", "12", "" },
		{ "/slurm_node7/uid_1000/job_18446744073709551615", "18446744073709551615", "" },
		{ "/job_", "", "" },
		{ "/job_12a", "", "" },
		{ "/job_184467440737095516150", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct cgroup_path path = read_path(cases[i].path);

		assert_string_equal(path.slurm_job, cases[i].job);
		assert_string_equal(path.unit.text, cases[i].unit);
	}
}

static void of_version_1_the_longest_of_three_counts(void **state)
{
	static const struct {
		const char *text;
		const char *id;
	} cases[] = {
		{ "12:memory:/docker/" A "\n11:cpu,cpuacct:/docker/" B "\n1:name=systemd:/\n", A },
		{ "3:pids:/docker/" A "\n2:memory:/\n1:name=systemd:/init.scope\n0::/\n", A },
		{ "9:cpu:/docker/" B "\n1:name=systemd:/docker/" A "\n", A },
		{ "9:freezer:/docker/" B "\n7:hugetlb,memory:/docker/" A "\n", A },
		{ "9:freezer:/docker/" B "\n", "" },
		/* no such hierarchies */
		{ "0:cpu:/docker/" A "\n", "" },
		{ "5::/docker/" A "\n", "" },
		{ "0:/docker/" A "\n", "" },
		{ "0::/docker/" A, A },
		{ "0::/docker/" A " (deleted)\n", A },
		{ "", "" },
		{ "\n\n:\n::\n:::\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_string_equal(read_text(cases[i].text).container_id, cases[i].id);
}

static void strange_bytes_become_text(void **state)
{
	struct cgroup_path path;
	char text[2000];

	(void)state;
	path = read_path("/system.slice/a\xff\\x01b\\xff.service");
	assert_string_equal(path.unit.text, "a\xef\xbf\xbd b\xef\xbf\xbd");
	(void)snprintf(text, sizeof(text), "0::/%01500d.service\n", 0);
	path = read_text(text);
	assert_int_equal(strlen(path.unit.text), LABEL_TEXT_BYTES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_runtime_is_told_by_its_pattern),
		cmocka_unit_test(pods_are_told_in_each_of_their_forms),
		cmocka_unit_test(what_only_looks_like_an_id_is_none),
		cmocka_unit_test(paths_of_another_cgroup_namespace_are_read_from_their_end),
		cmocka_unit_test(the_innermost_container_and_the_outermost_pod_count),
		cmocka_unit_test(machines_have_names),
		cmocka_unit_test(units_are_told_by_the_last_component_that_names_one),
		cmocka_unit_test(the_outermost_slice_of_a_user_says_whose_it_is),
		cmocka_unit_test(jobs_of_slurm_are_told),
		cmocka_unit_test(of_version_1_the_longest_of_three_counts),
		cmocka_unit_test(strange_bytes_become_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
