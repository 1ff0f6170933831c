/*
 * A library writes whatever it likes into the lists that it is given: structs of any size,
 * counts that have nothing to do with them. It stays within the room that it was told of,
 * for structs of 32 bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collector/nvml/nvml_holders.h"

#define ENTRY_BYTES 32
#define MOST_BYTES  1000
#define TGID_BEFORE 77

/* What is left to be said. */
static const uint8_t *said;
static size_t left;

static uint32_t next_number(void)
{
	uint32_t number = 0;
	const size_t size = left < sizeof(number) ? left : sizeof(number);

	memcpy(&number, said, size);
	said += size;
	left -= size;
	return number;
}

static int say(struct nvml_device *device, unsigned int *count, void *infos)
{
	static const int results[] = { NVML_OK, NVML_OK, NVML_INSUFFICIENT_SIZE,
		                       NVML_NO_PERMISSION };
	const uint32_t kind = next_number();
	const uint32_t claim = next_number();
	size_t size = next_number() % 4096;

	(void)device;
	if (size > left)
		size = left;
	if (size > (size_t)*count * ENTRY_BYTES)
		size = (size_t)*count * ENTRY_BYTES;
	memcpy(infos, said, size);
	said += size;
	left -= size;
	*count = kind & 4 ? claim : claim % 64;
	return results[kind % 4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct device_picture picture;
	const struct nvml_calls calls = { .lists = { say, say, say } };
	bool is_told;

	said = data;
	left = size;
	picture.holder_count = 1;
	picture.holders[0] = (struct device_holder){ .tgid = TGID_BEFORE, .device = 3 };
	is_told = nvml_holders_read(&calls, NULL, 4, MOST_BYTES, &picture);
	if (picture.holder_count < 1 || picture.holder_count > PICTURE_HOLDERS_MAX ||
	    (!is_told && picture.holder_count != 1) || picture.holders[0].tgid != TGID_BEFORE ||
	    picture.holders[0].device != 3)
		abort();
	for (size_t i = 1; i < picture.holder_count; i++) {
		const struct device_holder *holder = &picture.holders[i];

		if (holder->tgid == 0 || holder->device != 4 ||
		    (holder->has_bytes && holder->bytes > MOST_BYTES))
			abort();
		for (size_t j = 1; j < i; j++)
			if (picture.holders[j].tgid == holder->tgid)
				abort();
	}
	return 0;
}
