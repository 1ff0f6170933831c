#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/identity/pod_record.h"

#define UID   "9d6c1c5e-7a0b-4f3e-8c21-0f1e2d3c4b5a"
#define HASH  "8f14e45fceea167a5a36dedd4bea2543"
#define ID    "a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90"
#define NAMES "\"name\":\"llm-7d4b9c-x2x5z\",\"namespace\":\"prod\",\"uid\":\"" UID "\""

static int decode(const char *text, struct pod_record *out)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)1 << 20, NULL);
	const struct json *pod;
	struct error err = { 0 };

	if (json_parse(str_of(text), arena, &pod, &err) < 0)
		fail_msg("%s", err.message);
	return pod_record_decode(pod, out, &err);
}

static struct pod_record pod_with(const char *metadata)
{
	struct pod_record record;
	char text[4096];

	(void)snprintf(text, sizeof(text), "{\"metadata\":{" NAMES ",%s}}", metadata);
	assert_int_equal(decode(text, &record), 0);
	assert_string_equal(record.name.text, "llm-7d4b9c-x2x5z");
	assert_string_equal(record.pod_namespace.text, "prod");
	assert_string_equal(record.uid, UID);
	return record;
}

static void the_controller_owns_a_pod(void **state)
{
	static const struct {
		const char *metadata;
		const char *kind;
		const char *name;
	} cases[] = {
		{ "\"ownerReferences\":[{\"kind\":\"StatefulSet\",\"name\":\"llm\",\"controller\":true}]",
		  "StatefulSet", "llm" },
		{ "\"ownerReferences\":[{\"kind\":\"Job\",\"name\":\"train-1\"}]", "Job",
		  "train-1" },
		{ "\"ownerReferences\":[{\"kind\":\"A\",\"name\":\"a\"},"
		  "{\"kind\":\"B\",\"name\":\"b\",\"controller\":true}]",
		  "B", "b" },
		/* of a Deployment: the hash of its template tells */
		{ "\"labels\":{\"pod-template-hash\":\"7d4b9c\"},\"ownerReferences\":[{\"kind\":"
		  "\"ReplicaSet\",\"name\":\"llm-7d4b9c\",\"controller\":true}]",
		  "Deployment", "llm" },
		{ "\"labels\":{\"pod-template-hash\":\"7d4b9c\"},\"ownerReferences\":[{\"kind\":"
		  "\"ReplicaSet\",\"name\":\"my-llm-7d4b9c\"}]",
		  "Deployment", "my-llm" },
		/* one that somebody made by hand */
		{ "\"ownerReferences\":[{\"kind\":\"ReplicaSet\",\"name\":\"llm-7d4b9c\"}]",
		  "ReplicaSet", "llm-7d4b9c" },
		{ "\"labels\":{\"pod-template-hash\":\"aaaa\"},\"ownerReferences\":[{\"kind\":"
		  "\"ReplicaSet\",\"name\":\"llm-7d4b9c\"}]",
		  "ReplicaSet", "llm-7d4b9c" },
		{ "\"labels\":{\"pod-template-hash\":\"7d4b9c\"},\"ownerReferences\":[{\"kind\":"
		  "\"ReplicaSet\",\"name\":\"-7d4b9c\"}]",
		  "ReplicaSet", "-7d4b9c" },
		/* nobody */
		{ "\"ownerReferences\":[]", "", "" },
		{ "\"ownerReferences\":7", "", "" },
		{ "\"labels\":{}", "", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		const struct pod_record record = pod_with(cases[i].metadata);

		assert_string_equal(record.owner_kind.text, cases[i].kind);
		assert_string_equal(record.owner_name.text, cases[i].name);
	}
}

static void one_of_two_labels_names_the_application(void **state)
{
	static const struct {
		const char *metadata;
		const char *app;
	} cases[] = {
		{ "\"labels\":{\"app\":\"b\",\"app.kubernetes.io/name\":\"a\"}", "a" },
		{ "\"labels\":{\"app\":\"b\"}", "b" },
		{ "\"labels\":{\"app\":\"b\",\"app.kubernetes.io/name\":\"\"}", "b" },
		{ "\"labels\":{\"k8s-app\":\"c\"}", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_string_equal(pod_with(cases[i].metadata).app.text, cases[i].app);
}

static void a_static_pod_has_two_uids(void **state)
{
	(void)state;
	assert_string_equal(pod_with("\"annotations\":{\"kubernetes.io/config.mirror\":\"" HASH
	                             "\"}")
	                            .static_uid,
	                    HASH);
	assert_string_equal(pod_with("\"annotations\":{}").static_uid, "");
}

static void containers_of_each_kind_are_known_by_their_ids(void **state)
{
	struct pod_record record;

	(void)state;
	assert_int_equal(
		decode("{\"metadata\":{" NAMES
	               "},\"status\":{\"containerStatuses\":[{\"name\":\"train\","
	               "\"containerID\":\"containerd://" ID "\"},{\"name\":\"waits\"},"
	               "{\"name\":\"odd\",\"containerID\":\"" ID "\"},"
	               "{\"name\":\"odd\",\"containerID\":\"x://" ID "0\"}],"
	               "\"initContainerStatuses\":[{\"name\":\"load\",\"containerID\":\"docker://b2\"}],"
	               "\"ephemeralContainerStatuses\":[{\"name\":\"debug\",\"containerID\":"
	               "\"cri-o://c3\"}]}}",
	               &record),
		0);
	assert_int_equal(record.container_count, 3);
	assert_string_equal(pod_record_container(&record, ID)->name.text, "train");
	assert_string_equal(pod_record_container(&record, "b2")->name.text, "load");
	assert_string_equal(pod_record_container(&record, "c3")->name.text, "debug");
	assert_null(pod_record_container(&record, "d4"));
	assert_null(pod_record_container(&record, ""));
	pod_record_fini(&record);
	pod_record_fini(&record);
}

static void containers_have_a_bound(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf text;
	struct pod_record record;

	(void)state;
	strbuf_init(&text, (size_t)1 << 16);
	strbuf_add_text(&text, "{\"metadata\":{" NAMES "},\"status\":{\"containerStatuses\":[");
	for (int i = 0; i < POD_CONTAINERS_MAX + 10; i++)
		strbuf_printf(&text, "%s{\"name\":\"c\",\"containerID\":\"x://%d\"}", i ? "," : "",
		              i);
	strbuf_add_text(&text, "]}}");
	assert_int_equal(decode(text.data, &record), 0);
	assert_int_equal(record.container_count, POD_CONTAINERS_MAX);
	pod_record_fini(&record);
}

static void what_is_no_pod_is_refused(void **state)
{
	static const char *const texts[] = {
		"{}",
		"[]",
		"7",
		"{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}",
		"{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"namespace\":\"b\",\"uid\":\"u\"}}",
		"{\"metadata\":{\"name\":\"\",\"namespace\":\"b\",\"uid\":\"u\"}}",
		("{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\","
		 "\"uid\":\"0123456789012345678901234567890123456\"}}"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		struct pod_record record;

		assert_int_equal(decode(texts[i], &record), -1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_controller_owns_a_pod),
		cmocka_unit_test(one_of_two_labels_names_the_application),
		cmocka_unit_test(a_static_pod_has_two_uids),
		cmocka_unit_test(containers_of_each_kind_are_known_by_their_ids),
		cmocka_unit_test(containers_have_a_bound),
		cmocka_unit_test(what_is_no_pod_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
