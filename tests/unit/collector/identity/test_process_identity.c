/*
 * The nine rules of a service's name, in their order, and every label.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/identity/process_identity.h"

#define ID "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"

/* What is known; a test empties it piece by piece. */
struct known {
	struct process_sight sight;
	struct container_facts container;
	struct pod_facts pod;
	bool has_pod;
};

/* A process in a pod of which all is known. */
static struct known know_all(void)
{
	return (struct known){
		.sight = { .comm = { "pt_main_thread" },
		           .own_name = { "till" },
		           .program = { "train.py" },
		           .cgroup = { .runtime = RUNTIME_CONTAINERD,
		                       .container_id = ID,
		                       .pod_container_id = ID,
		                       .unit = { "trainer" },
		                       .slurm_job = "4711" } },
		.container = { .container = { "train" },
		               .pod = { "llm-7d4b9c-x2x5z" },
		               .pod_namespace = { "prod" } },
		.pod = { .name = { "llm-7d4b9c-x2x5z" },
		         .pod_namespace = { "prod" },
		         .app = { "llama" },
		         .owner_kind = { "Deployment" },
		         .owner_name = { "llm" },
		         .container = { "train" } },
		.has_pod = true,
	};
}

static struct process_identity make(const struct known *known)
{
	struct process_identity identity = { .is_late = false };

	memset(identity.labels, 0xee, sizeof(identity.labels));
	process_identity_make(
		&(struct identity_clues){
			.sight = &known->sight,
			.container = &known->container,
			.pod_container = &known->container,
			.pod = known->has_pod ? &known->pod : NULL,
			.node = "aks-gpu-0",
			.user = STR("ada"),
		},
		&identity);
	return identity;
}

static void assert_service(const struct known *known, const char *name)
{
	assert_string_equal(make(known).service_name.text, name);
}

static void the_rules_count_in_their_order(void **state)
{
	struct known known = know_all();

	(void)state;
	assert_service(&known, "till"); /* 1 and 2: its environment */
	known.sight.own_name.text[0] = '\0';
	assert_service(&known, "llama"); /* 3: a label of its pod */
	known.pod.app.text[0] = '\0';
	assert_service(&known, "llm"); /* 4: who owns the pod */
	known.pod.owner_name.text[0] = '\0';
	assert_service(&known, "train"); /* 5: its container */
	known.container.container.text[0] = '\0';
	known.pod.container.text[0] = '\0';
	assert_service(&known, "trainer"); /* 6: its unit */
	known.sight.cgroup.unit.text[0] = '\0';
	assert_service(&known, "train.py"); /* 7 and 8: its script, or program */
	known.sight.program.text[0] = '\0';
	assert_service(&known, "pt_main_thread"); /* 9 */
}

static void names_that_say_nothing_are_passed_over(void **state)
{
	struct known known = know_all();

	(void)state;
	known.sight.own_name.text[0] = known.pod.app.text[0] = '\0';
	/* of a static pod */
	known.pod.owner_kind = (struct label_text){ "Node" };
	known.pod.owner_name = (struct label_text){ "aks-gpu-0" };
	assert_service(&known, "train");
	assert_string_equal(make(&known).labels[IDENTITY_OWNER_NAME].text, "aks-gpu-0");
	/* of a login */
	known.container.container.text[0] = known.pod.container.text[0] = '\0';
	known.sight.cgroup.unit = (struct label_text){ "session-3" };
	known.sight.cgroup.is_login = true;
	assert_service(&known, "train.py");
	/* an engine's name is a container's name; its id is none */
	known.container.name = (struct label_text){ "brave_turing" };
	assert_service(&known, "brave_turing");
}

static void every_label_has_its_value(void **state)
{
	static const char *const values[IDENTITY_LABEL_COUNT] = {
		[IDENTITY_NAMESPACE] = "prod",
		[IDENTITY_POD] = "llm-7d4b9c-x2x5z",
		[IDENTITY_CONTAINER] = "train",
		[IDENTITY_NODE] = "aks-gpu-0",
		[IDENTITY_OWNER_KIND] = "Deployment",
		[IDENTITY_OWNER_NAME] = "llm",
		[IDENTITY_RUNTIME_CONTAINER] = "train",
		[IDENTITY_CONTAINER_ID] = "a1b2c3d4e5f6",
		[IDENTITY_SLURM_JOB] = "4711",
		[IDENTITY_UNIT] = "trainer",
		[IDENTITY_USER] = "ada",
	};
	const struct known known = know_all();
	const struct process_identity identity = make(&known);

	(void)state;
	for (size_t i = 0; i < IDENTITY_LABEL_COUNT; i++)
		assert_string_equal(identity.labels[i].text, values[i]);
	assert_string_equal(identity.comm.text, "pt_main_thread");
}

/* A series would be another one after each login. */
static void a_login_is_no_unit(void **state)
{
	struct known known = know_all();

	(void)state;
	known.sight.cgroup.is_login = true;
	assert_string_equal(make(&known).labels[IDENTITY_UNIT].text, "");
}

/* As the published dashboard asks for them: profiles and metrics differ in one letter. */
static void labels_are_named_as_dashboards_ask_for_them(void **state)
{
	static const char *const names[IDENTITY_LABEL_COUNT][2] = {
		[IDENTITY_NAMESPACE] = { "k8s_namespace", "k8s_namespace" },
		[IDENTITY_POD] = { "k8s_podName", "k8s_podname" },
		[IDENTITY_CONTAINER] = { "k8s_containerName", "k8s_containername" },
		[IDENTITY_NODE] = { "k8s_node", "k8s_node" },
		[IDENTITY_OWNER_KIND] = { "k8s_owner_kind", "" },
		[IDENTITY_OWNER_NAME] = { "k8s_owner_name", "" },
		[IDENTITY_RUNTIME_CONTAINER] = { "runtime_containerName", "" },
		[IDENTITY_CONTAINER_ID] = { "container_id", "" },
		[IDENTITY_SLURM_JOB] = { "slurm_job_id", "" },
		[IDENTITY_UNIT] = { "systemd_unit", "" },
		[IDENTITY_USER] = { "user", "" },
	};

	(void)state;
	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++) {
		assert_string_equal(identity_label_on_profiles((enum identity_label)i),
		                    names[i][0]);
		assert_string_equal(identity_label_on_metrics((enum identity_label)i), names[i][1]);
	}
}

static void each_source_of_a_pod_will_do(void **state)
{
	struct known known = know_all();
	struct process_identity identity;

	(void)state;
	/* the server alone */
	known.container = (struct container_facts){ .pod_uid = "" };
	identity = make(&known);
	assert_string_equal(identity.labels[IDENTITY_POD].text, "llm-7d4b9c-x2x5z");
	assert_string_equal(identity.labels[IDENTITY_NAMESPACE].text, "prod");
	assert_string_equal(identity.labels[IDENTITY_CONTAINER].text, "train");
	/* what the pod shows to the process */
	known.has_pod = false;
	known.sight.pod = (struct label_text){ "llm-1" };
	known.sight.pod_namespace = (struct label_text){ "dev" };
	identity = make(&known);
	assert_string_equal(identity.labels[IDENTITY_POD].text, "llm-1");
	assert_string_equal(identity.labels[IDENTITY_NAMESPACE].text, "dev");
	assert_string_equal(identity.labels[IDENTITY_CONTAINER].text, "");
	assert_string_equal(identity.labels[IDENTITY_OWNER_KIND].text, "");
}

static void a_container_is_called_as_its_engine_calls_it(void **state)
{
	struct known known = { .sight = { .comm = { "x" } } };

	(void)state;
	/* no name is known: its id, as engines show it */
	memcpy(known.sight.cgroup.container_id, ID, sizeof(ID));
	assert_string_equal(make(&known).labels[IDENTITY_RUNTIME_CONTAINER].text, "a1b2c3d4e5f6");
	assert_service(&known, "x");
	known.container.name = (struct label_text){ "brave_turing" };
	assert_string_equal(make(&known).labels[IDENTITY_RUNTIME_CONTAINER].text, "brave_turing");
	assert_string_equal(make(&known).labels[IDENTITY_CONTAINER_ID].text, "a1b2c3d4e5f6");
	assert_string_equal(make(&known).labels[IDENTITY_CONTAINER].text, "");
	/* a machine has a name and no id */
	known = (struct known){ .sight = { .comm = { "x" },
		                           .cgroup = { .container_name = { "gpu-box" } } } };
	assert_string_equal(make(&known).labels[IDENTITY_RUNTIME_CONTAINER].text, "gpu-box");
	assert_string_equal(make(&known).labels[IDENTITY_CONTAINER_ID].text, "");
	assert_service(&known, "gpu-box");
}

static void of_nested_containers_the_inner_names_and_the_outer_has_the_pod(void **state)
{
	struct known known = know_all();
	const struct container_facts inner = { .name = { "builder" } };
	struct process_identity identity = { .is_late = false };

	(void)state;
	known.sight.own_name.text[0] = known.pod.app.text[0] = known.pod.owner_name.text[0] = '\0';
	process_identity_make(
		&(struct identity_clues){
			.sight = &known.sight,
			.container = &inner,
			.pod_container = &known.container,
			.node = "",
		},
		&identity);
	assert_string_equal(identity.labels[IDENTITY_RUNTIME_CONTAINER].text, "builder");
	assert_string_equal(identity.labels[IDENTITY_CONTAINER].text, "train");
	assert_string_equal(identity.labels[IDENTITY_POD].text, "llm-7d4b9c-x2x5z");
	assert_string_equal(identity.labels[IDENTITY_NODE].text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rules_count_in_their_order),
		cmocka_unit_test(names_that_say_nothing_are_passed_over),
		cmocka_unit_test(every_label_has_its_value),
		cmocka_unit_test(a_login_is_no_unit),
		cmocka_unit_test(labels_are_named_as_dashboards_ask_for_them),
		cmocka_unit_test(each_source_of_a_pod_will_do),
		cmocka_unit_test(a_container_is_called_as_its_engine_calls_it),
		cmocka_unit_test(of_nested_containers_the_inner_names_and_the_outer_has_the_pod),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
