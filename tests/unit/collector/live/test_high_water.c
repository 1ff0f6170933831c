#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/live/gpu_account.h"
#include "tests/unit/collector/live/live_fixture.h"

#define FIRST_STACK 1000 /* below are those of lost calls */
#define STACKS      24
#define ADDRESSES   60
#define STEPS       4000
#define SEEDS       40

/*
 * The naive way beside it: after each call all stacks are copied when more is live than
 * ever before in the window.
 */
struct model {
	uint64_t live[STACKS];
	uint64_t held[STACKS]; /* at the highest point */
	uint64_t highest;
	uint64_t block_bytes[ADDRESSES]; /* 0: free */
	unsigned block_stack[ADDRESSES];
	uint64_t allocated[STACKS]; /* since the last tick */
	uint64_t live_pinned;
	uint64_t pinned_bytes[ADDRESSES];
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t live_of(const struct model *model)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < STACKS; i++)
		sum += model->live[i];
	return sum;
}

static void look(struct model *model)
{
	if (live_of(model) <= model->highest)
		return;
	model->highest = live_of(model);
	memcpy(model->held, model->live, sizeof(model->held));
}

static void begin_window(struct model *model, struct gpu_account *account)
{
	model->highest = live_of(model);
	memcpy(model->held, model->live, sizeof(model->held));
	high_water_begin(&account->sums.high, account->gpu_live_bytes, 0);
}

static void toggle_block(struct model *model, struct gpu_account *account, uint64_t random)
{
	const unsigned at = (unsigned)(random % ADDRESSES);
	const unsigned stack = (unsigned)(random >> 8) % STACKS;
	const uint64_t address = (uint64_t)(at + 1) << 12;
	/* now and then a block that is a multiple of all others */
	const uint64_t bytes = (random >> 16) % 7 == 0 ? 100000 : 1 + (random >> 20) % 1000;
	struct cuda_event event = free_event(address);

	if (model->block_bytes[at] == 0) {
		event = alloc_event(address, bytes);
		gpu_account_book(account, &event, FIRST_STACK + stack);
		model->block_bytes[at] = bytes;
		model->block_stack[at] = stack;
		model->live[stack] += bytes;
		model->allocated[stack] += bytes;
		look(model);
		return;
	}
	gpu_account_book(account, &event, 0);
	if ((random >> 32) % 8 == 0) { /* but it fails: the block is live as if nothing was */
		event = undone_event(address, 700);
		gpu_account_book(account, &event, 0);
		return;
	}
	model->live[model->block_stack[at]] -= model->block_bytes[at];
	model->block_bytes[at] = 0;
}

/* Memory of the host has no part in it, also where a stack has both. */
static void toggle_pinned(struct model *model, struct gpu_account *account, uint64_t random)
{
	const unsigned at = (unsigned)(random % ADDRESSES);
	const uint64_t address = (uint64_t)(at + 1) << 40;
	struct cuda_event event = free_event(address);

	if (model->pinned_bytes[at] == 0) {
		event = alloc_event(address, 1 << 20);
		event.function = CU_MEM_HOST_ALLOC;
		gpu_account_book(account, &event, FIRST_STACK + (unsigned)(random >> 8) % STACKS);
		model->pinned_bytes[at] = 1 << 20;
	} else {
		event.function = CU_MEM_FREE_HOST;
		gpu_account_book(account, &event, 0);
		model->pinned_bytes[at] = 0;
	}
	model->live_pinned = 0;
	for (unsigned i = 0; i < ADDRESSES; i++)
		model->live_pinned += model->pinned_bytes[i];
}

static void compare(const struct model *model, const struct gpu_account *account)
{
	uint64_t held[STACKS] = { 0 };
	uint64_t live[STACKS] = { 0 };
	uint64_t allocated[STACKS] = { 0 };

	gpu_account_check(account);
	assert_true(account->sums.high.bytes == model->highest);
	assert_true(account->gpu_live_bytes == live_of(model));
	assert_true(account->books[CUDA_CLASS_PINNED].live_bytes == model->live_pinned);
	for (uint32_t i = 0; i < memory_sums_count(&account->sums); i++) {
		const struct memory_sum *sum = memory_sums_at(&account->sums, i);
		const uint64_t high = (uint64_t)high_water_of(&account->sums.high, sum);

		if (sum->stack < FIRST_STACK) {
			assert_true(sum->live_bytes == 0 && high == 0);
			continue;
		}
		held[sum->stack - FIRST_STACK] += high;
		if (sum->memory_class != CUDA_CLASS_DEVICE)
			continue;
		live[sum->stack - FIRST_STACK] += (uint64_t)sum->live_bytes;
		allocated[sum->stack - FIRST_STACK] += (uint64_t)sum->alloc_bytes;
	}
	assert_memory_equal(held, model->held, sizeof(held));
	assert_memory_equal(live, model->live, sizeof(live));
	assert_memory_equal(allocated, model->allocated, sizeof(allocated));
}

static void step(struct model *model, struct gpu_account *account, uint64_t random)
{
	switch (random >> 59) {
	case 0: /* a tick, which drops what is not needed */
		gpu_account_sent(account);
		gpu_account_rebuild(account, NULL);
		memset(model->allocated, 0, sizeof(model->allocated));
		break;
	case 1:
		begin_window(model, account);
		break;
	case 2:
	case 3:
		toggle_pinned(model, account, random);
		break;
	default:
		toggle_block(model, account, random);
		break;
	}
}

static void any_sequence_of_calls_has_the_highest_point_of_a_naive_copy(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct model model = { 0 };
		uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct gpu_account account;
		struct budget budget;

		budget_init(&budget, 64 << 20);
		gpu_account_init(&account, &budget);
		for (unsigned i = 0; i < STEPS; i++) {
			step(&model, &account, next_random(&random));
			compare(&model, &account);
		}
		gpu_account_close(&account);
		memset(model.live, 0, sizeof(model.live));
		model.live_pinned = 0;
		compare(&model, &account); /* the end does not take the highest point away */
		gpu_account_fini(&account);
		assert_int_equal(budget_used(&budget), 0);
	}
}

static void sums_that_were_part_of_it_stay_until_it_is_told(void **state)
{
	struct gpu_account account;
	struct budget budget;
	struct cuda_event event;
	wide_sum high = 0;

	(void)state;
	budget_init(&budget, 64 << 20);
	gpu_account_init(&account, &budget);
	for (uint32_t i = 0; i < 1000; i++) {
		event = alloc_event((uint64_t)(i + 1) << 12, 1 + i);
		gpu_account_book(&account, &event, FIRST_STACK + i);
	}
	for (uint32_t i = 0; i < 1000; i++) {
		event = free_event((uint64_t)(i + 1) << 12);
		gpu_account_book(&account, &event, 0);
	}
	gpu_account_sent(&account);
	gpu_account_rebuild(&account, NULL);
	assert_int_equal(memory_sums_count(&account.sums), CUDA_CLASS_COUNT + 1000);
	for (uint32_t i = 0; i < memory_sums_count(&account.sums); i++)
		high += high_water_of(&account.sums.high, memory_sums_at(&account.sums, i));
	assert_true(high == 1000 * 1001 / 2);
	high_water_begin(&account.sums.high, account.gpu_live_bytes, 0);
	gpu_account_rebuild(&account, NULL);
	assert_int_equal(memory_sums_count(&account.sums), CUDA_CLASS_COUNT);
	gpu_account_fini(&account);
}

static void the_first_of_equal_points_stays(void **state)
{
	struct gpu_account account;
	struct budget budget;
	struct cuda_event event = alloc_event(0x1000, 100);

	(void)state;
	budget_init(&budget, 64 << 20);
	gpu_account_init(&account, &budget);
	gpu_account_book(&account, &event, FIRST_STACK);
	account.sums.high.unix_ns = 77;
	event = free_event(0x1000);
	gpu_account_book(&account, &event, 0);
	event = alloc_event(0x2000, 100);
	gpu_account_book(&account, &event, FIRST_STACK + 1);
	assert_int_equal(account.sums.high.unix_ns, 77);
	event = alloc_event(0x3000, 1);
	gpu_account_book(&account, &event, FIRST_STACK + 1);
	assert_int_equal(account.sums.high.unix_ns, 0); /* a new one: nobody has said when */
	assert_true(account.sums.high.bytes == 101);
	gpu_account_fini(&account);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_sequence_of_calls_has_the_highest_point_of_a_naive_copy),
		cmocka_unit_test(sums_that_were_part_of_it_stay_until_it_is_told),
		cmocka_unit_test(the_first_of_equal_points_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
