/*
 * Any sequence of driver calls keeps the books: three bytes a call (what happens, to which
 * function, with which numbers), and one kind of step for each of what happens between calls.
 */
#include <stdint.h>
#include <stdlib.h>

#include "collector/live/gpu_account.h"

#define STEP_BYTES 3

static void step(struct gpu_account *account, const uint8_t bytes[static STEP_BYTES])
{
	/* few addresses, so that they meet; sizes that wrap when they are added */
	static const uint64_t sizes[] = { 0, 1, 4096, UINT64_C(1) << 40, INT64_MAX, UINT64_MAX };
	const uint8_t what = bytes[0];
	const uint8_t which = bytes[2];
	struct cuda_event event = {
		.kind = what % CUDA_EVENT_KIND_COUNT,
		.function = bytes[1] % CUDA_FUNCTION_COUNT,
		.device = which % 3,
		.tid = which % 5,
		.address = (uint64_t)(which % 16) << 12,
		.bytes = sizes[(which >> 4) % 6],
		.other = (uint64_t)(which >> 4) << 12,
		.context = (uint64_t)(which % 4) << 12,
		.result = which % 7,
		.flags = (what >> 5 == 7 ? CUDA_EVENT_NO_ADDRESS : 0U) |
		         (what >> 5 == 5 ? CUDA_EVENT_ON_HOST : 0U) |
		         (bytes[1] >= CUDA_FUNCTION_COUNT ? CUDA_EVENT_CONTEXT_SEEN : 0U),
	};
	struct kernel_counters counters = {
		.alloc_bytes = account->counted[CUDA_CLASS_DEVICE].alloc_bytes + which,
		.alloc_calls = account->counted[CUDA_CLASS_DEVICE].alloc_calls + which % 3,
		.free_calls = which % 4,
		.failures = which,
	};

	switch (what >> 3) {
	case 27:
		high_water_begin(&account->sums.high, account->gpu_live_bytes, which);
		break;
	case 28:
		gpu_account_close(account);
		break;
	case 29:
		gpu_account_reconcile(account, CUDA_CLASS_DEVICE, &counters,
		                      which & 1 ? RECONCILE_ENDED : RECONCILE_RUNNING);
		break;
	case 30:
		gpu_account_sent(account);
		gpu_account_rebuild(account, NULL);
		break;
	default:
		gpu_account_book(account, &event, which % 32);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpu_account account;
	struct budget budget;

	if (size == 0 || size > 4096)
		return 0;
	budget_init(&budget, (size_t)data[0] << 8); /* room for few blocks, or for all */
	gpu_account_init(&account, &budget);
	for (size_t i = 1; i + STEP_BYTES <= size; i += STEP_BYTES)
		step(&account, data + i);
	gpu_account_check(&account);
	gpu_account_close(&account);
	gpu_account_check(&account);
	if (account.gpu_live_bytes != 0)
		abort();
	gpu_account_fini(&account);
	if (budget_used(&budget) != 0)
		abort();
	return 0;
}
