#include "collector/live/device_contexts.h"

#include <stdlib.h>

#include "base/mem.h"
#include "collector/cuda_function.h"

void device_contexts_fini(struct device_contexts *contexts)
{
	free(contexts->threads);
	*contexts = (struct device_contexts){ 0 };
}

/* ---- threads ---- */

uint16_t device_contexts_current(const struct device_contexts *contexts, uint32_t tid)
{
	const struct context_thread *thread;

	if (!contexts->threads)
		return 0;
	thread = &contexts->threads[tid % CONTEXT_THREADS_MAX];
	return thread->tid == tid ? thread->number : 0;
}

static void make_current(struct device_contexts *contexts, uint32_t tid, uint16_t number)
{
	if (!contexts->threads)
		contexts->threads = mem_zalloc(CONTEXT_THREADS_MAX, sizeof(*contexts->threads));
	contexts->threads[tid % CONTEXT_THREADS_MAX] = (struct context_thread){ tid, number };
}

static void forget_current(struct device_contexts *contexts, uint16_t number)
{
	for (uint32_t i = 0; contexts->threads && i < CONTEXT_THREADS_MAX; i++)
		if (contexts->threads[i].number == number)
			contexts->threads[i].number = 0;
}

/* ---- contexts ---- */

static void note_device(struct device_contexts *contexts, uint16_t device)
{
	if (device == 0)
		return;
	contexts->has_many_devices |= contexts->device != 0 && contexts->device != device;
	contexts->device = device;
}

static void add(struct device_contexts *contexts, const struct device_context *context)
{
	note_device(contexts, context->device);
	if (contexts->count < CONTEXTS_MAX)
		contexts->contexts[contexts->count++] = *context;
	else
		contexts->has_unseen = true;
}

static void remove_at(struct device_contexts *contexts, uint32_t place)
{
	contexts->contexts[place] = contexts->contexts[--contexts->count];
}

static struct device_context *find_primary(struct device_contexts *contexts, uint16_t device)
{
	for (uint32_t i = 0; i < contexts->count; i++)
		if (contexts->contexts[i].number == 0 && contexts->contexts[i].device == device)
			return &contexts->contexts[i];
	return NULL;
}

static void make(struct device_contexts *contexts, const struct cuda_event *event)
{
	const uint16_t number = (uint16_t)(contexts->last_number + 1);

	if (number == 0) { /* so many that numbers would be used again */
		contexts->has_unseen = true;
		return;
	}
	contexts->last_number = number;
	add(contexts, &(struct device_context){ .handle = event->address,
	                                        .device = event->device,
	                                        .number = number });
	make_current(contexts, event->tid, number);
}

static void retain(struct device_contexts *contexts, const struct cuda_event *event)
{
	struct device_context *primary = find_primary(contexts, event->device);

	if (primary)
		primary->references++;
	else
		add(contexts, &(struct device_context){ .handle = event->address,
		                                        .device = event->device,
		                                        .references = 1 });
}

/* Blocks of no number can be of no other context than the one that has ended. */
static bool is_alone(const struct device_contexts *contexts)
{
	return contexts->count == 0 && !contexts->has_unseen && !contexts->has_many_devices;
}

static bool end(struct device_contexts *contexts, const struct cuda_event *event,
                struct context_end *out)
{
	for (uint32_t i = 0; i < contexts->count; i++) {
		const struct device_context context = contexts->contexts[i];

		if (context.handle != event->address || context.number == 0)
			continue;
		remove_at(contexts, i);
		forget_current(contexts, context.number);
		*out = (struct context_end){ context.number, is_alone(contexts) };
		return true;
	}
	return false; /* made before we looked: what is in it is not known either */
}

/* As often as it was retained; a runtime may have done so unseen. */
static bool release(struct device_contexts *contexts, const struct cuda_event *event,
                    struct context_end *out)
{
	struct device_context *primary = find_primary(contexts, event->device);

	if (!primary || --primary->references > 0)
		return false;
	remove_at(contexts, (uint32_t)(primary - contexts->contexts));
	*out = (struct context_end){ 0, is_alone(contexts) };
	return true;
}

/* Whoever has retained it: a primary context ends, also one that nobody told. */
static bool reset(struct device_contexts *contexts, const struct cuda_event *event,
                  struct context_end *out)
{
	const struct device_context *primary = find_primary(contexts, event->device);

	note_device(contexts, event->device);
	if (primary)
		remove_at(contexts, (uint32_t)(primary - contexts->contexts));
	*out = (struct context_end){ 0, contexts->count == 0 && !contexts->has_many_devices };
	return true;
}

bool device_contexts_book(struct device_contexts *contexts, const struct cuda_event *event,
                          struct context_end *out)
{
	switch (cuda_function(event->function)->role) {
	case CUDA_ROLE_CONTEXT:
		make(contexts, event);
		return false;
	case CUDA_ROLE_CONTEXT_END:
		return end(contexts, event, out);
	case CUDA_ROLE_PRIMARY:
		retain(contexts, event);
		return false;
	case CUDA_ROLE_PRIMARY_RELEASE:
		return release(contexts, event, out);
	case CUDA_ROLE_PRIMARY_RESET:
		return reset(contexts, event, out);
	case CUDA_ROLE_DEVICE_COUNT:
		contexts->has_many_devices |= event->address > 1;
		return false;
	case CUDA_ROLE_PRIVATE_TABLE:
		contexts->has_unseen = true;
		return false;
	default:
		return false;
	}
}
