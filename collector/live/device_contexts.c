#include "collector/live/device_contexts.h"

#include <stddef.h>

#include "collector/cuda_function.h"

/* ---- contexts ---- */

static struct device_context *find(struct device_contexts *contexts, uint64_t handle)
{
	for (uint32_t i = 0; i < contexts->count; i++)
		if (contexts->contexts[i].handle == handle)
			return &contexts->contexts[i];
	return NULL;
}

static struct device_context *find_primary(struct device_contexts *contexts, uint16_t device)
{
	for (uint32_t i = 0; i < contexts->count; i++)
		if (contexts->contexts[i].origin == CONTEXT_PRIMARY &&
		    contexts->contexts[i].device == device)
			return &contexts->contexts[i];
	return NULL;
}

static void note_device(struct device_contexts *contexts, uint16_t device)
{
	if (device == 0)
		return;
	contexts->has_many_devices |= contexts->device != 0 && contexts->device != device;
	contexts->device = device;
}

/* With the next number; NULL: there are too many, or numbers would be used again. */
static struct device_context *add(struct device_contexts *contexts,
                                  const struct device_context *context)
{
	struct device_context *added = &contexts->contexts[contexts->count];

	note_device(contexts, context->device);
	if (contexts->count == CONTEXTS_MAX || contexts->last_number == UINT16_MAX) {
		contexts->has_unseen = true;
		return NULL;
	}
	*added = *context;
	added->number = ++contexts->last_number;
	contexts->count++;
	return added;
}

static void remove_one(struct device_contexts *contexts, struct device_context *context)
{
	*context = contexts->contexts[--contexts->count];
}

/* Whoever is known by that handle has ended unseen. */
static void make(struct device_contexts *contexts, const struct cuda_event *event)
{
	struct device_context *other = find(contexts, event->address);

	if (other)
		remove_one(contexts, other);
	(void)add(contexts, &(struct device_context){ .handle = event->address,
	                                              .origin = CONTEXT_MADE,
	                                              .device = event->device });
}

static void retain(struct device_contexts *contexts, const struct cuda_event *event)
{
	struct device_context *primary = find_primary(contexts, event->device);

	note_device(contexts, event->device);
	if (!primary) {
		primary = find(contexts, event->address);
		if (!primary)
			primary =
				add(contexts, &(struct device_context){ .handle = event->address });
	}
	if (!primary)
		return;
	primary->handle = event->address;
	primary->origin = CONTEXT_PRIMARY;
	primary->device = event->device;
	primary->references++;
}

/* A context that was met turns out to be on a device: it is the primary one of it. */
static void learn_device(struct device_contexts *contexts, const struct cuda_event *event)
{
	struct device_context *context = find(contexts, event->address);

	note_device(contexts, event->device);
	if (!context)
		context = add(contexts, &(struct device_context){ .handle = event->address,
		                                                  .origin = CONTEXT_MET });
	if (!context || context->device != 0)
		return;
	context->device = event->device;
	if (context->origin == CONTEXT_MET && !find_primary(contexts, event->device))
		context->origin = CONTEXT_PRIMARY;
	contexts->has_unseen = true; /* nobody told that it was made */
}

/* Blocks of no number can be of no other context than the one that has ended. */
static bool is_alone(const struct device_contexts *contexts)
{
	return contexts->count == 0 && !contexts->has_unseen && !contexts->has_many_devices;
}

static bool end(struct device_contexts *contexts, const struct cuda_event *event,
                struct context_end *out)
{
	struct device_context *context = find(contexts, event->address);

	if (!context)
		return false; /* made before we looked: what is in it is not known either */
	out->number = context->number;
	remove_one(contexts, context);
	out->takes_rest = is_alone(contexts);
	return true;
}

/* As often as it was retained; a runtime may have done so unseen, and then it lives on. */
static bool release(struct device_contexts *contexts, const struct cuda_event *event,
                    struct context_end *out)
{
	struct device_context *primary = find_primary(contexts, event->device);

	if (!primary || primary->references == 0 || --primary->references > 0 ||
	    contexts->has_unseen)
		return false;
	*out = (struct context_end){ .number = primary->number, .device = event->device };
	remove_one(contexts, primary);
	out->takes_rest = is_alone(contexts);
	return true;
}

/* Whoever has retained it: a primary context ends, also one that nobody told. */
static bool reset(struct device_contexts *contexts, const struct cuda_event *event,
                  struct context_end *out)
{
	struct device_context *primary = find_primary(contexts, event->device);

	note_device(contexts, event->device);
	*out = (struct context_end){ .device = event->device };
	if (primary) {
		out->number = primary->number;
		remove_one(contexts, primary);
	}
	out->takes_rest = contexts->count == 0 && !contexts->has_many_devices;
	return true;
}

/* ---- all ---- */

bool device_contexts_book(struct device_contexts *contexts, const struct cuda_event *event,
                          struct context_end *out)
{
	*out = (struct context_end){ 0 };
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
	case CUDA_ROLE_CURRENT_DEVICE:
	case CUDA_ROLE_DEVICE_OF:
		learn_device(contexts, event);
		return false;
	case CUDA_ROLE_CURRENT_POP:
	case CUDA_ROLE_CURRENT_TOLD: /* sent only when it was another than what was seen */
		contexts->is_unsure = true;
		return false;
	default:
		return false;
	}
}

struct context_place device_contexts_current(struct device_contexts *contexts,
                                             const struct cuda_event *event)
{
	const bool is_seen = event->flags & CUDA_EVENT_CONTEXT_SEEN;
	struct device_context *context;

	if (event->context == 0 || (is_seen && contexts->is_unsure))
		return (struct context_place){ 0 };
	context = find(contexts, event->context);
	if (!context && is_seen) {
		contexts->has_unseen = true;
		context = add(contexts, &(struct device_context){ .handle = event->context,
		                                                  .origin = CONTEXT_MET });
	}
	if (!context)
		return (struct context_place){ 0 };
	return (struct context_place){ context->number, is_seen ? context->device : 0 };
}

uint16_t device_contexts_device(const struct device_contexts *contexts, uint16_t number)
{
	for (uint32_t i = 0; i < contexts->count; i++)
		if (contexts->contexts[i].number == number)
			return contexts->contexts[i].device;
	return 0;
}
