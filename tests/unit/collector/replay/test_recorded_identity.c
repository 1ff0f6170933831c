#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "collector/replay/recorded_identity.h"

static const struct process_identity trainer = {
	.service_name = { "trainer" },
	.comm = { "python3" },
	.labels = { [IDENTITY_NAMESPACE] = { "prod" }, [IDENTITY_POD] = { "a=b" } },
	.is_late = true,
};

static void assert_same(const struct process_identity *a, const struct process_identity *b)
{
	assert_string_equal(a->service_name.text, b->service_name.text);
	assert_string_equal(a->comm.text, b->comm.text);
	assert_int_equal(a->is_late, b->is_late);
	for (size_t i = 0; i < IDENTITY_LABEL_COUNT; i++)
		assert_string_equal(a->labels[i].text, b->labels[i].text);
}

static void an_identity_is_read_as_it_was_written(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf text;
	struct process_identity read;

	(void)state;
	strbuf_init(&text, RECORDED_IDENTITY_MAX);
	recorded_identity_encode(&trainer, &text);
	assert_string_equal(text.data, "trainer");
	assert_string_equal(text.data + 256, "python3");
	assert_int_equal(text.length, 512 + sizeof("k8s_namespace=prod") +
	                                      sizeof("k8s_podName=a=b") + sizeof("?"));
	assert_memory_equal(text.data + 512, "k8s_namespace=prod\0k8s_podName=a=b\0?", 37);
	assert_true(recorded_identity_decode(strbuf_view(&text), &read));
	assert_same(&read, &trainer);
}

/* As recordings were before there were labels: two names, and nothing behind them. */
static void names_alone_are_an_identity(void **state)
{
	char bytes[512] = "trainer";
	struct process_identity read;

	(void)state;
	memcpy(bytes + 256, "python3", sizeof("python3"));
	assert_true(recorded_identity_decode(str_make(bytes, sizeof(bytes)), &read));
	assert_same(&read, &(struct process_identity){ .service_name = { "trainer" },
	                                               .comm = { "python3" } });
}

static void what_is_no_identity_is_refused_and_labels_are_passed_over(void **state)
{
	char bytes[512 + 64];
	struct process_identity read = { .is_late = true };

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	assert_false(recorded_identity_decode(str_make(bytes, 512), &read));
	memset(bytes, 'x', 512); /* names without an end */
	assert_false(recorded_identity_decode(str_make(bytes, 511), &read));
	assert_false(recorded_identity_decode(STR(""), &read));
	assert_true(read.is_late);
	memcpy(bytes + 512, "colour=red\0k8s_node\0k8s_node=n\0=\0\0k8s_node", 43);
	assert_true(recorded_identity_decode(str_make(bytes, 512 + 43), &read));
	assert_int_equal(strlen(read.comm.text), LABEL_TEXT_BYTES);
	assert_string_equal(read.labels[IDENTITY_NODE].text, "n");
	assert_false(read.is_late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_identity_is_read_as_it_was_written),
		cmocka_unit_test(names_alone_are_an_identity),
		cmocka_unit_test(what_is_no_identity_is_refused_and_labels_are_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
