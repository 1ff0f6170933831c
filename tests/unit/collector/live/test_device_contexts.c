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

/* A call that is made while a context is current; for certain, or as far as is known. */
static struct cuda_event in_context(struct cuda_event event, uint64_t handle, uint32_t flags)
{
	event.context = handle;
	event.flags |= flags;
	return event;
}

static struct context_place current(struct device_contexts *contexts, uint64_t handle,
                                    uint32_t flags)
{
	const struct cuda_event event = in_context(alloc_event(0x1000, 1), handle, flags);

	return device_contexts_current(contexts, &event);
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
	first = current(&contexts, 0xa, 0).number;
	assert_true(first != 0 && current(&contexts, 0xb, 0).number != 0);
	assert_true(first != current(&contexts, 0xb, 0).number);
	assert_int_equal(current(&contexts, 0, 0).number, 0);
	assert_true(book(&contexts, done_event(CU_CTX_DESTROY_V2, 0xa, 0, BOB), &end));
	assert_int_equal(end.number, first);
	assert_false(end.takes_rest); /* there is another one */
	assert_int_equal(current(&contexts, 0xa, 0).number, 0);
	assert_false(book(&contexts, done_event(CU_CTX_DESTROY_V2, 0xa, 0, BOB), &end));
	assert_true(book(&contexts, done_event(CU_CTX_DESTROY, 0xb, 0, BOB), &end));
	assert_true(end.takes_rest);
}

static void a_device_is_certain_where_all_is_seen(void **state)
{
	struct device_contexts contexts = { 0 };
	struct context_end end;

	(void)state;
	(void)book(&contexts, done_event(CU_CTX_CREATE_V4, 0xa, DEVICE_1, ALICE), &end);
	assert_int_equal(current(&contexts, 0xa, 0).device, 0);
	assert_int_equal(current(&contexts, 0xa, CUDA_EVENT_CONTEXT_SEEN).device, DEVICE_1);
	assert_int_equal(current(&contexts, 0xb, 0).number, 0); /* nobody made it */
	/* another one was current than what was seen: from now on nothing is certain */
	(void)book(&contexts, done_event(CU_CTX_GET, 0xb, 0, ALICE), &end);
	assert_int_equal(current(&contexts, 0xa, CUDA_EVENT_CONTEXT_SEEN).device, 0);
	assert_int_equal(current(&contexts, 0xa, CUDA_EVENT_CONTEXT_SEEN).number, 0);
}

static void a_context_that_is_met_is_known_once_its_device_is_told(void **state)
{
	struct device_contexts contexts = { 0 };
	struct context_place place;
	struct context_end end;

	(void)state;
	place = current(&contexts, 0xa, CUDA_EVENT_CONTEXT_SEEN);
	assert_true(place.number != 0 && place.device == 0);
	assert_false(book(&contexts, done_event(CU_CTX_DEVICE, 0xa, DEVICE_1, ALICE), &end));
	assert_int_equal(current(&contexts, 0xa, CUDA_EVENT_CONTEXT_SEEN).device, DEVICE_1);
	assert_int_equal(device_contexts_device(&contexts, place.number), DEVICE_1);
	/* it is the primary one, which lives on while a runtime holds it */
	assert_false(book(&contexts, done_event(CU_PRIMARY_RETAIN, 0xa, DEVICE_1, ALICE), &end));
	assert_int_equal(current(&contexts, 0xa, CUDA_EVENT_CONTEXT_SEEN).number, place.number);
	assert_false(book(&contexts, done_event(CU_PRIMARY_RELEASE_V2, 0, DEVICE_1, ALICE), &end));
	assert_true(book(&contexts, done_event(CU_PRIMARY_RESET_V2, 0, DEVICE_1, ALICE), &end));
	assert_int_equal(end.number, place.number);
	assert_int_equal(end.device, DEVICE_1);
	assert_int_equal(device_contexts_device(&contexts, place.number), 0);
	/* the same handle again is another one */
	assert_true(current(&contexts, 0xa, CUDA_EVENT_CONTEXT_SEEN).number != place.number);
}

static void a_primary_context_ends_with_its_last_reference(void **state)
{
	struct device_contexts contexts = { 0 };
	struct context_end end;

	(void)state;
	assert_false(book(&contexts, done_event(CU_PRIMARY_RELEASE_V2, 0, DEVICE_0, 1), &end));
	assert_false(book(&contexts, done_event(CU_PRIMARY_RETAIN, 0xa, DEVICE_0, 1), &end));
	assert_false(book(&contexts, done_event(CU_PRIMARY_RETAIN, 0xa, DEVICE_0, 2), &end));
	assert_false(book(&contexts, done_event(CU_PRIMARY_RELEASE_V2, 0, DEVICE_0, 1), &end));
	assert_true(book(&contexts, done_event(CU_PRIMARY_RELEASE, 0, DEVICE_0, 1), &end));
	assert_true(end.takes_rest);
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
	}
	{ /* there are two, as the driver says */
		struct device_contexts contexts = { 0 };

		assert_false(book(&contexts, done_event(CU_DEVICE_COUNT, 2, 0, 1), &end));
		assert_false(book(&contexts, done_event(CU_CTX_CREATE, 0xa, DEVICE_0, 1), &end));
		assert_true(book(&contexts, done_event(CU_CTX_DESTROY, 0xa, 0, 1), &end));
		assert_false(end.takes_rest);
	}
	{ /* a runtime may have made a primary one; who resets that ends it */
		struct device_contexts contexts = { 0 };

		assert_false(book(&contexts, done_event(CU_EXPORT_TABLE, 0, 0, 1), &end));
		assert_false(book(&contexts, done_event(CU_CTX_CREATE, 0xa, DEVICE_0, 1), &end));
		assert_true(book(&contexts, done_event(CU_CTX_DESTROY, 0xa, 0, 1), &end));
		assert_false(end.takes_rest);
		assert_true(book(&contexts, done_event(CU_PRIMARY_RESET_V2, 0, DEVICE_0, 1), &end));
		assert_true(end.takes_rest);
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
}

/* ---- in the books ---- */

static void take(struct gpu_account *account, enum cuda_function_id function, uint64_t address,
                 uint64_t bytes, uint64_t context)
{
	struct cuda_event event = alloc_event(address, bytes);

	event.function = (uint16_t)function;
	event.context = context;
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
	take(&account, CU_MEM_ALLOC_V2, 0x1000, 100, 0xa);
	take(&account, CU_MEM_ALLOC_V2, 0x2000, 20, 0xb);
	take(&account, CU_MEM_HOST_ALLOC, 0x3000, 7, 0xa);
	take(&account, CU_MEM_CREATE, 0x4000, 3000, 0xa);
	take(&account, CU_ARRAY_CREATE_V2, 0x1000, 500, 0xa); /* not the block of that address */
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
		cmocka_unit_test(a_device_is_certain_where_all_is_seen),
		cmocka_unit_test(a_context_that_is_met_is_known_once_its_device_is_told),
		cmocka_unit_test(a_primary_context_ends_with_its_last_reference),
		cmocka_unit_test(what_may_belong_elsewhere_stays),
		cmocka_unit_test(contexts_without_end_are_bounded),
		cmocka_unit_test(the_end_of_a_context_is_an_implicit_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
