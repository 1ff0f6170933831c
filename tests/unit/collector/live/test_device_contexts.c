#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collector/live/device_contexts.h"
#include "collector/live/gpu_account.h"
#include "tests/unit/collector/live/live_fixture.h"

#define DEVICE_0 1 /* as events have it */
#define DEVICE_1 2
#define ALICE    11 /* threads */
#define BOB      12

static struct cuda_event done_event(enum cuda_function_id function, uint64_t address,
                                    uint16_t device, uint32_t tid)
{
	struct cuda_event event = alloc_event(address, 0);

	event.kind = CUDA_EVENT_DONE;
	event.function = (uint16_t)function;
	event.device = device;
	event.tid = tid;
	return event;
}

static bool book(struct device_contexts *contexts, struct cuda_event event, struct context_end *out)
{
	return device_contexts_book(contexts, &event, out);
}

static void with_a_context_go_the_blocks_of_its_number(void **state)
{
	struct device_contexts contexts = { 0 };
	struct context_end end;
	uint16_t first;

	(void)state;
	assert_false(book(&contexts, done_event(CU_CTX_CREATE_V4, 0xa, DEVICE_0, ALICE), &end));
	assert_false(book(&contexts, done_event(CU_CTX_CREATE_V2, 0xb, DEVICE_0, BOB), &end));
	first = device_contexts_current(&contexts, ALICE);
	assert_true(first != 0 && device_contexts_current(&contexts, BOB) != 0);
	assert_true(first != device_contexts_current(&contexts, BOB));
	assert_int_equal(device_contexts_current(&contexts, ALICE + BOB), 0);
	assert_true(book(&contexts, done_event(CU_CTX_DESTROY_V2, 0xa, 0, BOB), &end));
	assert_int_equal(end.number, first);
	assert_false(end.takes_rest); /* there is another one */
	assert_int_equal(device_contexts_current(&contexts, ALICE), 0);
	assert_false(book(&contexts, done_event(CU_CTX_DESTROY_V2, 0xa, 0, BOB), &end));
	assert_true(book(&contexts, done_event(CU_CTX_DESTROY, 0xb, 0, BOB), &end));
	assert_true(end.takes_rest);
	device_contexts_fini(&contexts);
}

static void a_primary_context_ends_with_its_last_reference(void **state)
{
	struct device_contexts contexts = { 0 };
	struct context_end end;

	(void)state;
	assert_false(book(&contexts, done_event(CU_PRIMARY_RELEASE_V2, 0, DEVICE_0, 1), &end));
	assert_false(book(&contexts, done_event(CU_PRIMARY_RETAIN, 0xa, DEVICE_0, 1), &end));
	assert_false(book(&contexts, done_event(CU_PRIMARY_RETAIN, 0xa, DEVICE_0, 2), &end));
	assert_int_equal(device_contexts_current(&contexts, 1), 0);
	assert_false(book(&contexts, done_event(CU_PRIMARY_RELEASE_V2, 0, DEVICE_0, 1), &end));
	assert_true(book(&contexts, done_event(CU_PRIMARY_RELEASE, 0, DEVICE_0, 1), &end));
	assert_int_equal(end.number, 0);
	assert_true(end.takes_rest);
	device_contexts_fini(&contexts);
}

static void what_may_belong_elsewhere_stays(void **state)
{
	struct context_end end;

	(void)state;
	{ /* two devices were spoken of */
		struct device_contexts contexts = { 0 };

		assert_false(
			book(&contexts, done_event(CU_PRIMARY_RETAIN, 0xa, DEVICE_0, 1), &end));
		assert_false(
			book(&contexts, done_event(CU_PRIMARY_RETAIN, 0xb, DEVICE_1, 1), &end));
		assert_true(book(&contexts, done_event(CU_PRIMARY_RESET, 0, DEVICE_1, 1), &end));
		assert_false(end.takes_rest);
		assert_true(book(&contexts, done_event(CU_PRIMARY_RESET_V2, 0, DEVICE_0, 1), &end));
		assert_false(end.takes_rest);
		device_contexts_fini(&contexts);
	}
	{ /* there are two, as the driver says */
		struct device_contexts contexts = { 0 };

		assert_false(book(&contexts, done_event(CU_DEVICE_COUNT, 2, 0, 1), &end));
		assert_false(book(&contexts, done_event(CU_CTX_CREATE, 0xa, DEVICE_0, 1), &end));
		assert_true(book(&contexts, done_event(CU_CTX_DESTROY, 0xa, 0, 1), &end));
		assert_false(end.takes_rest);
		device_contexts_fini(&contexts);
	}
	{ /* a runtime may have made a primary one; who resets that ends it */
		struct device_contexts contexts = { 0 };

		assert_false(book(&contexts, done_event(CU_EXPORT_TABLE, 0, 0, 1), &end));
		assert_false(book(&contexts, done_event(CU_CTX_CREATE, 0xa, DEVICE_0, 1), &end));
		assert_true(book(&contexts, done_event(CU_CTX_DESTROY, 0xa, 0, 1), &end));
		assert_false(end.takes_rest);
		assert_true(book(&contexts, done_event(CU_PRIMARY_RESET_V2, 0, DEVICE_0, 1), &end));
		assert_true(end.takes_rest);
		device_contexts_fini(&contexts);
	}
}

static void contexts_without_end_are_bounded(void **state)
{
	struct device_contexts contexts = { 0 };
	struct context_end end;

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		assert_false(
			book(&contexts, done_event(CU_CTX_CREATE_V3, i + 1, DEVICE_0, i), &end));
	assert_int_equal(contexts.count, CONTEXTS_MAX);
	assert_true(book(&contexts, done_event(CU_CTX_DESTROY_V2, 1, 0, 1), &end));
	assert_false(end.takes_rest);
	device_contexts_fini(&contexts);
}

/* ---- in the books ---- */

static void take(struct gpu_account *account, enum cuda_function_id function, uint64_t address,
                 uint64_t bytes, uint32_t tid)
{
	struct cuda_event event = alloc_event(address, bytes);

	event.function = (uint16_t)function;
	event.tid = tid;
	gpu_account_book(account, &event, 1000);
	gpu_account_check(account);
}

static void tell(struct gpu_account *account, struct cuda_event event)
{
	gpu_account_book(account, &event, 0);
	gpu_account_check(account);
}

static void the_end_of_a_context_is_an_implicit_free(void **state)
{
	struct budget budget;
	struct gpu_account account;

	(void)state;
	budget_init(&budget, 1 << 20);
	gpu_account_init(&account, &budget);
	tell(&account, done_event(CU_CTX_CREATE_V4, 0xa, DEVICE_0, ALICE));
	tell(&account, done_event(CU_CTX_CREATE_V4, 0xb, DEVICE_0, BOB));
	take(&account, CU_MEM_ALLOC_V2, 0x1000, 100, ALICE);
	take(&account, CU_MEM_ALLOC_V2, 0x2000, 20, BOB);
	take(&account, CU_MEM_HOST_ALLOC, 0x3000, 7, ALICE);
	take(&account, CU_MEM_CREATE, 0x4000, 3000, ALICE);
	take(&account, CU_ARRAY_CREATE_V2, 0x1000, 500, ALICE); /* not the block of that address */
	tell(&account, done_event(CU_CTX_DESTROY_V2, 0xa, 0, ALICE));
	assert_true(account.books[CUDA_CLASS_DEVICE].live_bytes == 20);
	assert_true(account.books[CUDA_CLASS_DEVICE].implicit_bytes == 100);
	assert_true(account.books[CUDA_CLASS_ARRAY].implicit_bytes == 500);
	assert_true(account.books[CUDA_CLASS_PINNED].live_bytes == 7);
	tell(&account, done_event(CU_CTX_DESTROY_V2, 0xb, 0, BOB));
	assert_true(account.books[CUDA_CLASS_DEVICE].live_bytes == 0);
	assert_true(account.books[CUDA_CLASS_PINNED].implicit_bytes == 7);
	/* physical memory is of no context */
	assert_true(account.books[CUDA_CLASS_VMM].live_bytes == 3000);
	gpu_account_close(&account);
	gpu_account_check(&account);
	assert_true(account.books[CUDA_CLASS_VMM].implicit_bytes == 3000);
	gpu_account_fini(&account);
	assert_int_equal(budget_used(&budget), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_a_context_go_the_blocks_of_its_number),
		cmocka_unit_test(a_primary_context_ends_with_its_last_reference),
		cmocka_unit_test(what_may_belong_elsewhere_stays),
		cmocka_unit_test(contexts_without_end_are_bounded),
		cmocka_unit_test(the_end_of_a_context_is_an_implicit_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
