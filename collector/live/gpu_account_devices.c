/*
 * On which device of the process what is allocated lies, and the books of each.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "collector/live/gpu_account_parts.h"

/* Whether memory of that class lies on one device, from its allocation to its end. */
static bool stays_on_device(enum cuda_class memory_class)
{
	return memory_class == CUDA_CLASS_GRAPH ||
	       (cuda_class_is_gpu(memory_class) && memory_class != CUDA_CLASS_MANAGED);
}

static bool open_ledger(struct gpu_account *account, uint16_t device)
{
	struct device_ledger **ledger = &account->ledgers[device - 1];

	if (*ledger)
		return true;
	if (!budget_take(account->sums.budget, sizeof(**ledger)))
		return false;
	*ledger = mem_zalloc(1, sizeof(**ledger));
	if (device > account->device_count)
		account->device_count = device;
	return true;
}

/* What the call says, or its pool or stream does; else the context that it is made in. */
static uint16_t find_device(struct gpu_account *account, const struct cuda_event *event)
{
	uint16_t device = event->device;

	if (device != 0 ||
	    (gpu_account_class_of(event) == CUDA_CLASS_POOL &&
	     device_handles_find(&account->handles, &account->contexts, event->other, &device)))
		return device;
	return device_contexts_current(&account->contexts, event).device;
}

uint16_t gpu_account_device_of(struct gpu_account *account, const struct cuda_event *event)
{
	uint16_t device;

	if (!stays_on_device(gpu_account_class_of(event)))
		return 0;
	device = find_device(account, event);
	return device > 0 && device <= DEVICES_MAX && open_ledger(account, device) ? device : 0;
}

void account_forget_devices(struct gpu_account *account)
{
	for (size_t i = 0; i < account->device_count; i++) {
		if (!account->ledgers[i])
			continue;
		budget_give(account->sums.budget, sizeof(*account->ledgers[i]));
		free(account->ledgers[i]);
	}
}
