#include "collector/live/device_handles.h"

#include "collector/cuda_function.h"

void device_handles_init(struct device_handles *handles, struct budget *budget)
{
	live_table_init(&handles->streams, budget);
	live_table_init(&handles->pools, budget);
}

void device_handles_fini(struct device_handles *handles)
{
	live_table_fini(&handles->streams);
	live_table_fini(&handles->pools);
}

static void forget(struct live_table *table, uint64_t handle)
{
	struct live_block gone;

	(void)live_table_take(table, handle, &gone);
}

/* In the place of one that has ended unseen. */
static void put(struct live_table *table, const struct live_block *block)
{
	forget(table, block->address);
	if (block->address != 0)
		(void)live_table_put(table, block);
}

void device_handles_book(struct device_handles *handles, struct device_contexts *contexts,
                         const struct cuda_event *event)
{
	struct live_block block = { .address = event->address };

	switch (cuda_function(event->function)->role) {
	case CUDA_ROLE_STREAM:
		block.context = device_contexts_current(contexts, event).number;
		put(&handles->streams, &block);
		break;
	case CUDA_ROLE_STREAM_END:
		forget(&handles->streams, event->address);
		break;
	case CUDA_ROLE_POOL:
		block.sum = event->device;
		put(&handles->pools, &block);
		break;
	case CUDA_ROLE_POOL_END:
		forget(&handles->pools, event->address);
		break;
	default:
		break;
	}
}

bool device_handles_find(const struct device_handles *handles,
                         const struct device_contexts *contexts, uint64_t handle,
                         uint16_t *out_device)
{
	struct live_block block;

	if (live_table_find(&handles->pools, handle, &block)) {
		*out_device = (uint16_t)block.sum;
		return true;
	}
	if (!live_table_find(&handles->streams, handle, &block))
		return false;
	*out_device = device_contexts_device(contexts, block.context);
	return true;
}
