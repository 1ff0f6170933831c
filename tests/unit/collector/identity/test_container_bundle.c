/*
 * The names that container engines give, as they write them down.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/identity/container_bundle.h"

#define UID "9d6c1c5e-7a0b-4f3e-8c21-0f1e2d3c4b5a"

static void assert_facts(const struct container_facts *facts,
                         const struct container_facts *expected)
{
	assert_string_equal(facts->name.text, expected->name.text);
	assert_string_equal(facts->container.text, expected->container.text);
	assert_string_equal(facts->pod.text, expected->pod.text);
	assert_string_equal(facts->pod_namespace.text, expected->pod_namespace.text);
	assert_string_equal(facts->pod_uid, expected->pod_uid);
}

static void bundles_of_each_runtime_are_read(void **state)
{
	static const struct {
		const char *json;
		struct container_facts facts;
	} cases[] = {
		/* containerd */
		{ "{\"ociVersion\":\"1.1.0\",\"process\":{\"args\":[\"x\"]},\"annotations\":{"
		  "\"io.kubernetes.cri.container-name\":\"train\","
		  "\"io.kubernetes.cri.container-type\":\"container\","
		  "\"io.kubernetes.cri.image-name\":\"r.example/llm:1\","
		  "\"io.kubernetes.cri.sandbox-id\":\"ab\","
		  "\"io.kubernetes.cri.sandbox-name\":\"llm-0\","
		  "\"io.kubernetes.cri.sandbox-namespace\":\"prod\","
		  "\"io.kubernetes.cri.sandbox-uid\":\"" UID "\"}}",
		  { .container = { "train" },
		    .pod = { "llm-0" },
		    .pod_namespace = { "prod" },
		    .pod_uid = UID } },
		/* CRI-O */
		{ "{\"annotations\":{\"io.kubernetes.container.name\":\"train\","
		  "\"io.kubernetes.pod.name\":\"llm-0\",\"io.kubernetes.pod.namespace\":\"prod\","
		  "\"io.kubernetes.pod.uid\":\"" UID "\",\"io.kubernetes.cri-o.Name\":\"k8s_x\"}}",
		  { .container = { "train" },
		    .pod = { "llm-0" },
		    .pod_namespace = { "prod" },
		    .pod_uid = UID } },
		/* a static pod's */
		{ "{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"proxy-n\","
		  "\"io.kubernetes.cri.sandbox-namespace\":\"kube-system\","
		  "\"io.kubernetes.cri.sandbox-uid\":\"8f14e45fceea167a5a36dedd4bea2543\"}}",
		  { .pod = { "proxy-n" },
		    .pod_namespace = { "kube-system" },
		    .pod_uid = "8f14e45fceea167a5a36dedd4bea2543" } },
		{ "{\"annotations\":{\"nerdctl/name\":\"ollama\",\"nerdctl/namespace\":\"default\"}}",
		  { .name = { "ollama" } } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct container_facts facts;

		memset(&facts, 0xee, sizeof(facts));
		assert_true(container_bundle_read(str_of(cases[i].json), &facts));
		assert_facts(&facts, &cases[i].facts);
	}
}

static void bundles_that_say_nothing_are_passed_over(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"null",
		"{\"annotations\":[]}",
		"{\"annotations\":{}}",
		"{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":7}}",
		/* no namespace: it could be anybody's */
		("{\"annotations\":{\"io.kubernetes.cri.sandbox-name\":\"llm-0\","
		 "\"io.kubernetes.cri.container-name\":\"train\"}}"),
		"{\"annotations\":{\"io.kubernetes.cri.sandbox-namespace\":\"prod\"}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct container_facts facts;

		assert_false(container_bundle_read(str_of(texts[i]), &facts));
		assert_facts(&facts, &(struct container_facts){ .pod_uid = "" });
	}
}

static void a_uid_is_what_one_is_made_of(void **state)
{
	static const char *const uids[] = { "A",   "a b", "..",
		                            "a/b", "",    "0123456789012345678901234567890123456" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(uids); i++) {
		struct container_facts facts;
		char json[512];

		(void)snprintf(json, sizeof(json),
		               "{\"annotations\":{\"io.kubernetes.pod.name\":\"a\",\"io.kubernetes."
		               "pod.namespace\":\"b\",\"io.kubernetes.pod.uid\":\"%s\"}}",
		               uids[i]);
		assert_true(container_bundle_read(str_of(json), &facts));
		assert_string_equal(facts.pod_uid, "");
	}
}

static void docker_has_names_and_labels(void **state)
{
	struct container_facts facts;

	(void)state;
	assert_true(container_bundle_read_docker(
		STR("{\"ID\":\"a1\",\"Name\":\"/brave_turing\",\"Config\":{\"Labels\":{}}}"),
		&facts));
	assert_facts(&facts, &(struct container_facts){ .name = { "brave_turing" } });
	/* its shim for Kubernetes */
	assert_true(container_bundle_read_docker(
		STR("{\"Name\":\"/k8s_train_llm-0_prod_" UID "_0\",\"Config\":{\"Labels\":{"
	            "\"io.kubernetes.container.name\":\"train\",\"io.kubernetes.pod.name\":\"llm-0\","
	            "\"io.kubernetes.pod.namespace\":\"prod\",\"io.kubernetes.pod.uid\":\"" UID
	            "\"}}}"),
		&facts));
	assert_facts(&facts,
	             &(struct container_facts){ .name = { "k8s_train_llm-0_prod_" UID "_0" },
	                                        .container = { "train" },
	                                        .pod = { "llm-0" },
	                                        .pod_namespace = { "prod" },
	                                        .pod_uid = UID });
	assert_false(container_bundle_read_docker(STR("{\"Name\":\"/\"}"), &facts));
	assert_false(container_bundle_read_docker(STR("Name"), &facts));
}

static void podman_lists_its_containers(void **state)
{
	static const struct str list = STR(
		"[{\"id\":\"a1\",\"names\":[\"first\"]},{\"id\":\"b2\",\"names\":[\"second\",\"x\"]},"
		"{\"id\":\"c3\"},7]");
	struct container_facts facts;

	(void)state;
	assert_true(container_bundle_read_podman(list, "b2", &facts));
	assert_facts(&facts, &(struct container_facts){ .name = { "second" } });
	assert_false(container_bundle_read_podman(list, "c3", &facts));
	assert_false(container_bundle_read_podman(list, "d4", &facts));
	assert_false(container_bundle_read_podman(STR("{}"), "a1", &facts));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bundles_of_each_runtime_are_read),
		cmocka_unit_test(bundles_that_say_nothing_are_passed_over),
		cmocka_unit_test(a_uid_is_what_one_is_made_of),
		cmocka_unit_test(docker_has_names_and_labels),
		cmocka_unit_test(podman_lists_its_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
