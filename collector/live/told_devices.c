#include "collector/live/told_devices.h"

#include <string.h>

#include "collector/cuda_function.h"

/* The bytes are those of two words of the event. */
static void take_uuid(struct told_devices *told, const struct cuda_event *event)
{
	const uint64_t words[] = { event->address, event->bytes };
	const uint16_t number = (uint16_t)(event->device - 1);

	_Static_assert(sizeof(words) == DEVICE_UUID_BYTES, "a UUID");
	if (event->device == 0 || number >= DEVICES_MAX)
		return;
	memcpy(told->uuids[number], words, sizeof(words));
	told->has_uuid |= UINT32_C(1) << number;
}

void told_devices_book(struct told_devices *told, const struct cuda_event *event)
{
	const enum cuda_role role = cuda_function(event->function)->role;

	if (role == CUDA_ROLE_DEVICE_COUNT)
		told->count = event->address;
	else if (role == CUDA_ROLE_DEVICE_UUID)
		take_uuid(told, event);
}

const uint8_t *told_devices_uuid(const struct told_devices *told, uint64_t number)
{
	if (number >= DEVICES_MAX || !(told->has_uuid >> number & 1))
		return NULL;
	return told->uuids[number];
}
