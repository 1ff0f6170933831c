#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/live/cuda_error.h"
#include "collector/live/gpu_account.h"
#include "tests/unit/collector/live/live_fixture.h"

#define STACK_A 1000 /* numbers of stacks: the account does not ask what they are */
#define STACK_B 1001

struct fixture {
	struct budget budget;
	struct gpu_account account;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	budget_init(&fixture->budget, 64 << 20);
	gpu_account_init(&fixture->account, &fixture->budget);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	int leaked;

	gpu_account_fini(&fixture->account);
	leaked = budget_used(&fixture->budget) != 0;
	free(fixture);
	return leaked;
}

static void book(struct gpu_account *account, struct cuda_event event, uint32_t stack)
{
	gpu_account_book(account, &event, stack);
	gpu_account_check(account);
}

static const struct memory_sum *sum_of(struct gpu_account *account, uint32_t stack)
{
	return memory_sums_at(
		&account->sums,
		memory_sums_find(&account->sums,
	                         &(struct memory_place){ stack, CUDA_CLASS_DEVICE, 0 }));
}

static void a_block_lives_from_alloc_to_free(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	const struct class_books *books = &account->books[CUDA_CLASS_DEVICE];

	book(account, alloc_event(0x1000, 100), STACK_A);
	book(account, alloc_event(0x2000, 30), STACK_A);
	book(account, alloc_event(0x3000, 7), STACK_B);
	assert_true(sum_of(account, STACK_A)->live_bytes == 130);
	assert_true(sum_of(account, STACK_A)->alloc_objects == 2);
	assert_true(account->gpu_live_bytes == 137);
	book(account, free_event(0x1000), 0);
	assert_true(sum_of(account, STACK_A)->live_bytes == 30);
	assert_true(sum_of(account, STACK_A)->alloc_bytes == 130);
	assert_true(books->free_bytes == 100 && books->free_calls == 1);
	assert_true(account->gpu_live_bytes == 37);
	assert_true(account->gpu_peak_bytes == 137);
}

static void a_free_that_failed_is_undone(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	struct cuda_event other = free_event(0x2000);

	book(account, alloc_event(0x1000, 100), STACK_A);
	book(account, alloc_event(0x2000, 50), STACK_B);
	book(account, free_event(0x1000), 0);
	other.tid = 101; /* between the free and its failure another thread frees */
	book(account, other, 0);
	book(account, undone_event(0x1000, 700), 0);
	assert_true(sum_of(account, STACK_A)->live_bytes == 100);
	assert_true(account->books[CUDA_CLASS_DEVICE].free_bytes == 50);
	assert_int_equal(account->oddities.failed_calls, 1);
	assert_int_equal(account->failure_count, 1);
	assert_int_equal(account->failures[0].result, 700);
	assert_true(account->failures[0].requested_bytes == 0);
	/* and can be freed again */
	book(account, free_event(0x1000), 0);
	assert_true(account->gpu_live_bytes == 0);
}

static void an_undone_free_that_is_none_changes_nothing(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;

	book(account, undone_event(0x1000, 1), 0);
	book(account, alloc_event(0x1000, 100), STACK_A);
	book(account, undone_event(0x1000, 1), 0);
	assert_true(account->gpu_live_bytes == 100);
	/* given out again before the failure came: no driver does that, a liar may */
	book(account, free_event(0x1000), 0);
	book(account, alloc_event(0x1000, 30), STACK_B);
	book(account, undone_event(0x1000, 1), 0);
	assert_true(account->gpu_live_bytes == 30);
}

static void a_free_of_nothing_known_is_counted(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;

	book(account, free_event(0x5000), 0);
	assert_int_equal(account->oddities.unknown_frees, 1);
	book(account, free_event(0), 0); /* legal, and does nothing */
	assert_int_equal(account->oddities.unknown_frees, 1);
	assert_true(account->books[CUDA_CLASS_DEVICE].free_bytes == 0);
}

static void an_address_given_out_twice_was_freed_between(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	const struct class_books *books = &account->books[CUDA_CLASS_DEVICE];

	book(account, alloc_event(0x1000, 100), STACK_A);
	book(account, alloc_event(0x1000, 60), STACK_B);
	assert_int_equal(account->oddities.missed_frees, 1);
	assert_true(sum_of(account, STACK_A)->live_bytes == 0);
	assert_true(sum_of(account, STACK_B)->live_bytes == 60);
	assert_true(books->alloc_bytes == 160 && books->free_bytes == 100);
}

static void what_has_no_address_never_lives(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	const struct class_books *books = &account->books[CUDA_CLASS_DEVICE];
	struct cuda_event event = alloc_event(0, 100);

	event.flags = CUDA_EVENT_NO_ADDRESS;
	book(account, event, STACK_A);
	assert_true(sum_of(account, STACK_A)->alloc_bytes == 100);
	assert_true(books->implicit_bytes == 100 && books->live_bytes == 0);
	assert_int_equal(account->oddities.untracked_calls, 1);
}

static void without_memory_for_a_block_bytes_stay_exact(void **state)
{
	struct budget budget;
	struct gpu_account account;

	(void)state;
	budget_init(&budget, 64 * sizeof(struct live_block));
	gpu_account_init(&account, &budget);
	for (uint64_t i = 1; i <= 100; i++)
		book(&account, alloc_event(i << 12, 10), STACK_A);
	assert_true(account.books[CUDA_CLASS_DEVICE].alloc_bytes == 1000);
	assert_true(account.books[CUDA_CLASS_DEVICE].live_bytes == 480);
	assert_int_equal(account.oddities.untracked_calls, 52);
	gpu_account_fini(&account);
}

static void the_end_frees_everything(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	const struct class_books *books = &account->books[CUDA_CLASS_DEVICE];

	book(account, alloc_event(0x1000, 100), STACK_A);
	book(account, alloc_event(0x2000, 50), STACK_B);
	book(account, free_event(0x1000), 0);
	gpu_account_close(account);
	gpu_account_check(account);
	assert_true(books->implicit_bytes == 50 && books->implicit_calls == 1);
	assert_true(books->live_bytes == 0 && account->gpu_live_bytes == 0);
	assert_true(account->gpu_peak_bytes == 150);
	assert_true(sum_of(account, STACK_B)->alloc_bytes == 50); /* still to be sent */
}

static void what_was_there_before_is_in_no_book(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	const struct class_books *books = &account->books[CUDA_CLASS_DEVICE];

	book(account, alloc_event(0x1000, 100), STACK_A);
	gpu_account_set_earlier(account, 50);
	gpu_account_check(account);
	assert_true(account->gpu_live_bytes == 150 && account->gpu_peak_bytes == 150);
	assert_true(gpu_account_told_bytes(account) == 100);
	assert_true(sum_of(account, STACK_EARLIER)->alloc_bytes == 0);
	assert_true(books->alloc_bytes == 100 && books->live_bytes == 100);
	/* the highest point stays, by stack, when it shrinks */
	gpu_account_set_earlier(account, 20);
	gpu_account_check(account);
	assert_true(high_water_of(&account->sums.high, sum_of(account, STACK_EARLIER)) == 50);
	assert_true(account->gpu_live_bytes == 120);
	/* the end takes it away, and frees what was allocated */
	gpu_account_close(account);
	gpu_account_check(account);
	assert_true(account->gpu_live_bytes == 0 && account->earlier_bytes == 0);
	assert_true(books->implicit_bytes == 100 && books->implicit_calls == 1);
}

static void the_least_that_lived_is_kept_from_when_it_is_watched(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;

	book(account, alloc_event(0x1000, 100), STACK_A);
	book(account, alloc_event(0x2000, 7), STACK_B);
	gpu_account_watch_least(account);
	book(account, free_event(0x1000), 0);
	book(account, alloc_event(0x1000, 500), STACK_A);
	gpu_account_set_earlier(account, 1000);
	assert_true(account->least_live_bytes == 7);
	gpu_account_watch_least(account);
	assert_true(account->least_live_bytes == 507);
}

static void failures_are_kept_by_stack_and_result(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;

	book(account, failed_event(1 << 20, CUDA_ERROR_OUT_OF_MEMORY), STACK_A);
	book(account, failed_event(1 << 20, CUDA_ERROR_OUT_OF_MEMORY), STACK_A);
	book(account, failed_event(1 << 20, 1), STACK_A);
	assert_int_equal(account->failure_count, 2);
	assert_true(account->failures[0].requested_bytes == 2 << 20);
	assert_int_equal(account->failures[0].failures, 2);
	assert_true(account->failures[1].requested_bytes == 0);
	assert_true(account->books[CUDA_CLASS_DEVICE].alloc_bytes == 0);
	for (int32_t i = 0; i < 3000; i++)
		book(account, failed_event(1, 5000 + i), 2000 + (uint32_t)i);
	assert_in_range(account->failure_count, FAILURES_MAX, 3 * FAILURES_MAX);
	assert_int_equal(account->oddities.failed_calls, 3003);
}

static void absurd_sizes_come_and_go(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;

	for (uint64_t i = 1; i <= 10; i++)
		book(account, alloc_event(i, UINT64_MAX - i), STACK_A);
	assert_true(wide_sum_value(account->gpu_live_bytes) == INT64_MAX);
	for (uint64_t i = 1; i <= 10; i++)
		book(account, free_event(i), 0);
	assert_true(account->gpu_live_bytes == 0);
}

static struct kernel_counters counters(uint64_t bytes, uint64_t calls, uint64_t frees,
                                       uint64_t failures)
{
	return (struct kernel_counters){ bytes, calls, frees, failures };
}

static void what_only_the_kernel_counted_is_lost_at_the_second_look(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	const struct class_books *books = &account->books[CUDA_CLASS_DEVICE];
	struct kernel_counters seen = counters(1100, 11, 0, 0);

	book(account, alloc_event(0x1000, 100), STACK_A);
	gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &seen, RECONCILE_RUNNING);
	assert_int_equal(account->oddities.lost_calls, 0); /* it may be under way */
	/* one of the ten comes after all, and another call */
	book(account, alloc_event(0x2000, 100), STACK_A);
	book(account, alloc_event(0x3000, 5), STACK_B);
	seen = counters(1105, 12, 0, 0);
	gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &seen, RECONCILE_RUNNING);
	gpu_account_check(account);
	assert_int_equal(account->oddities.lost_calls, 9);
	assert_true(account->oddities.unstacked_bytes == 900);
	assert_true(sum_of(account, STACK_LOST)->alloc_bytes == 900);
	assert_true(books->alloc_bytes == 1105);
	assert_true(books->lost_blocks == 9 && books->live_bytes == 1105);
	gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &seen, RECONCILE_RUNNING);
	assert_int_equal(account->oddities.lost_calls, 9); /* once */
}

static void frees_of_lost_blocks_take_them_off(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	const struct class_books *books = &account->books[CUDA_CLASS_DEVICE];
	struct kernel_counters seen = counters(1000, 3, 0, 0);

	gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &seen, RECONCILE_ENDED);
	assert_true(books->lost_bytes == 1000 && books->lost_blocks == 3);
	book(account, free_event(0x9000), 0); /* its allocation was lost */
	assert_true(books->lost_bytes == 667 && books->lost_blocks == 2);
	seen = counters(1000, 3, 3, 0); /* two more frees were lost */
	gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &seen, RECONCILE_ENDED);
	gpu_account_check(account);
	assert_true(books->lost_bytes == 0 && books->lost_blocks == 0);
	assert_true(books->free_bytes == 1000 && books->free_calls == 3);
}

static void events_ahead_of_the_counters_are_no_loss(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	const struct kernel_counters seen = counters(0, 0, 0, 0);

	book(account, alloc_event(0x1000, 100), STACK_A);
	for (int i = 0; i < 3; i++)
		gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &seen, RECONCILE_RUNNING);
	gpu_account_check(account);
	assert_int_equal(account->oddities.lost_calls, 0);
}

/* ---- random sequences against a model that is plain ---- */

#define MODEL_ADDRESSES 200
#define MODEL_STACKS    20
#define MODEL_THREADS   8

struct model {
	bool is_live[MODEL_ADDRESSES];
	uint64_t bytes[MODEL_ADDRESSES];
	uint32_t stack[MODEL_ADDRESSES];
	int pending[MODEL_THREADS]; /* the address whose free may fail, or -1 */
	uint64_t allocated;
	uint64_t by_stack[MODEL_STACKS]; /* allocated since the last tick */
	uint64_t sent_by_stack[MODEL_STACKS];
	uint64_t peak;
	struct kernel_counters kernel;
};

static uint64_t model_live(const struct model *model)
{
	uint64_t live = 0;

	for (int i = 0; i < MODEL_ADDRESSES; i++)
		live += model->is_live[i] ? model->bytes[i] : 0;
	return live;
}

static uint64_t model_live_of(const struct model *model, uint32_t stack)
{
	uint64_t live = 0;

	for (int i = 0; i < MODEL_ADDRESSES; i++)
		live += model->is_live[i] && model->stack[i] == stack ? model->bytes[i] : 0;
	return live;
}

/* A driver keeps an address whose free has not returned: nobody gets it meanwhile. */
static bool is_pending(const struct model *model, int address)
{
	for (int i = 0; i < MODEL_THREADS; i++)
		if (model->pending[i] == address)
			return true;
	return false;
}

static void step(struct model *model, struct gpu_account *account)
{
	const int address = rand() % MODEL_ADDRESSES;               /* NOLINT */
	const uint32_t thread = (uint32_t)(rand() % MODEL_THREADS); /* NOLINT */
	const uint32_t stack = (uint32_t)(rand() % MODEL_STACKS);   /* NOLINT */
	struct cuda_event event;

	if (model->pending[thread] >= 0) {
		const int freed = model->pending[thread];

		model->pending[thread] = -1;
		if (rand() % 4 != 0) /* NOLINT: it worked */
			return;
		event = undone_event((uint64_t)(freed + 1) << 12, 1);
		event.tid = thread;
		gpu_account_book(account, &event, 0);
		model->is_live[freed] = true;
	} else if (!model->is_live[address] && !is_pending(model, address)) {
		event = alloc_event((uint64_t)(address + 1) << 12,
		                    (uint64_t)rand() % 5000); /* NOLINT */
		event.tid = thread;
		gpu_account_book(account, &event, 2000 + stack);
		model->is_live[address] = true;
		model->bytes[address] = event.bytes;
		model->stack[address] = stack;
		model->by_stack[stack] += event.bytes;
		model->allocated += event.bytes;
	} else if (model->is_live[address]) {
		event = free_event((uint64_t)(address + 1) << 12);
		event.tid = thread;
		gpu_account_book(account, &event, 0);
		model->is_live[address] = false;
		model->pending[thread] = address;
	}
	if (model_live(model) > model->peak)
		model->peak = model_live(model);
}

static void compare(const struct model *model, struct gpu_account *account)
{
	const struct class_books *books = &account->books[CUDA_CLASS_DEVICE];

	gpu_account_check(account);
	assert_true(books->alloc_bytes == model->allocated);
	assert_true(books->live_bytes == model_live(model));
	assert_true(account->gpu_peak_bytes == model->peak);
	for (uint32_t i = 0; i < MODEL_STACKS; i++) {
		assert_true(sum_of(account, 2000 + i)->alloc_bytes == model->by_stack[i]);
		assert_true(sum_of(account, 2000 + i)->live_bytes == model_live_of(model, i));
	}
}

static void random_calls_keep_the_books_of_a_plain_model(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	struct model model = { 0 };
	uint64_t sent = 0;

	srand(7); /* NOLINT: the same sequence each time */
	for (int i = 0; i < MODEL_THREADS; i++)
		model.pending[i] = -1;
	for (int i = 0; i < 50000; i++) {
		step(&model, account);
		if (i % 500 != 0)
			continue;
		compare(&model, account);
		for (uint32_t j = 0; j < MODEL_STACKS; j++) {
			sent += model.by_stack[j];
			model.by_stack[j] = 0;
		}
		gpu_account_sent(account);
		gpu_account_rebuild(account, NULL);
	}
	for (uint32_t j = 0; j < MODEL_STACKS; j++)
		sent += (uint64_t)sum_of(account, 2000 + j)->alloc_bytes;
	assert_int_equal(sent, model.allocated);
	gpu_account_close(account);
	gpu_account_check(account);
	assert_true(account->gpu_live_bytes == 0);
}

/* Some events are lost; what is sent is what the kernel counted all the same. */
static void with_lost_events_the_sum_is_the_kernels(void **state)
{
	struct gpu_account *account = &((struct fixture *)*state)->account;
	struct kernel_counters kernel = { 0 };
	wide_sum sent = 0;

	srand(11); /* NOLINT */
	for (int i = 0; i < 50000; i++) {
		const uint64_t address = (uint64_t)(rand() % 300 + 1) << 12; /* NOLINT */
		struct cuda_event event = free_event(address);
		const bool is_lost = rand() % 5 == 0; /* NOLINT */

		if (rand() % 2) {                                              /* NOLINT */
			event = alloc_event(address, (uint64_t)rand() % 5000); /* NOLINT */
			kernel.alloc_bytes += event.bytes;
			kernel.alloc_calls++;
		} else {
			kernel.free_calls++;
		}
		if (!is_lost)
			gpu_account_book(account, &event, STACK_A);
		if (i % 1000 != 0)
			continue;
		gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &kernel, RECONCILE_RUNNING);
		gpu_account_check(account);
		for (uint32_t j = 0; j < memory_sums_count(&account->sums); j++)
			sent += memory_sums_at(&account->sums, j)->alloc_bytes;
		gpu_account_sent(account);
	}
	gpu_account_close(account);
	gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &kernel, RECONCILE_ENDED);
	gpu_account_close(account);
	gpu_account_check(account);
	for (uint32_t j = 0; j < memory_sums_count(&account->sums); j++)
		sent += memory_sums_at(&account->sums, j)->alloc_bytes;
	assert_true(sent == kernel.alloc_bytes);
	assert_true(account->books[CUDA_CLASS_DEVICE].alloc_calls == kernel.alloc_calls);
	assert_true(account->gpu_live_bytes == 0);
	assert_true(account->oddities.lost_calls > 4000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_lives_from_alloc_to_free),
		cmocka_unit_test(a_free_that_failed_is_undone),
		cmocka_unit_test(an_undone_free_that_is_none_changes_nothing),
		cmocka_unit_test(a_free_of_nothing_known_is_counted),
		cmocka_unit_test(an_address_given_out_twice_was_freed_between),
		cmocka_unit_test(what_has_no_address_never_lives),
		cmocka_unit_test(without_memory_for_a_block_bytes_stay_exact),
		cmocka_unit_test(the_end_frees_everything),
		cmocka_unit_test(what_was_there_before_is_in_no_book),
		cmocka_unit_test(the_least_that_lived_is_kept_from_when_it_is_watched),
		cmocka_unit_test(failures_are_kept_by_stack_and_result),
		cmocka_unit_test(absurd_sizes_come_and_go),
		cmocka_unit_test(what_only_the_kernel_counted_is_lost_at_the_second_look),
		cmocka_unit_test(frees_of_lost_blocks_take_them_off),
		cmocka_unit_test(events_ahead_of_the_counters_are_no_loss),
		cmocka_unit_test(random_calls_keep_the_books_of_a_plain_model),
		cmocka_unit_test(with_lost_events_the_sum_is_the_kernels),
	};

	/* each test on an account of its own */
	struct CMUnitTest fixed[ARRAY_LENGTH(tests)];

	for (size_t i = 0; i < ARRAY_LENGTH(tests); i++) {
		fixed[i] = tests[i];
		fixed[i].setup_func = set_up;
		fixed[i].teardown_func = tear_down;
	}
	return cmocka_run_group_tests(fixed, NULL, NULL);
}
