#include "collector/live/device_groups.h"

#include <string.h>

/* The group of a label, made if there is none. */
static struct device_group *group_of(struct device_groups *groups, const char *gpu)
{
	for (size_t i = 0; i < groups->count; i++)
		if (strcmp(groups->groups[i].gpu, gpu) == 0)
			return &groups->groups[i];
	groups->groups[groups->count] = (struct device_group){ .gpu = gpu };
	return &groups->groups[groups->count++];
}

void device_groups_of(const struct gpu_process *process, struct device_groups *out)
{
	out->count = 0;
	for (uint16_t i = 0; i <= process->account.device_count; i++)
		if (i == 0 || process->account.ledgers[i - 1])
			group_of(out, gpu_process_device(process, i))->devices |= UINT64_C(1) << i;
}

static void add(struct class_books *to, const struct class_books *from)
{
	to->alloc_bytes += from->alloc_bytes;
	to->free_bytes += from->free_bytes;
	to->implicit_bytes += from->implicit_bytes;
	to->live_bytes += from->live_bytes;
	to->alloc_calls += from->alloc_calls;
	to->free_calls += from->free_calls;
	to->implicit_calls += from->implicit_calls;
	to->live_blocks += from->live_blocks;
}

static void take_off(struct class_books *from, const struct class_books *what)
{
	from->alloc_bytes -= what->alloc_bytes;
	from->free_bytes -= what->free_bytes;
	from->implicit_bytes -= what->implicit_bytes;
	from->live_bytes -= what->live_bytes;
	from->alloc_calls -= what->alloc_calls;
	from->free_calls -= what->free_calls;
	from->implicit_calls -= what->implicit_calls;
	from->live_blocks -= what->live_blocks;
}

struct class_books device_group_books(const struct gpu_account *account,
                                      const struct device_group *group,
                                      enum cuda_class memory_class)
{
	/* on no device that is known is what is in no ledger */
	const bool has_rest = device_group_has(group, 0);
	struct class_books sum = { 0 };

	if (has_rest)
		sum = account->books[memory_class];
	for (uint16_t i = 1; i <= account->device_count; i++) {
		const struct device_ledger *ledger = account->ledgers[i - 1];

		if (!ledger || device_group_has(group, i) == has_rest)
			continue;
		if (has_rest)
			take_off(&sum, &ledger->books[memory_class]);
		else
			add(&sum, &ledger->books[memory_class]);
	}
	return sum;
}

wide_sum device_group_live(const struct gpu_account *account, const struct device_group *group)
{
	wide_sum live = 0;

	for (int i = 0; i < CUDA_CLASS_COUNT; i++)
		if (cuda_class_is_gpu((enum cuda_class)i))
			live += device_group_books(account, group, (enum cuda_class)i).live_bytes;
	return live;
}
