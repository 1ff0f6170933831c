/*
 * The text of a perf map, in two pieces as its writer adds to it: what is found after both is
 * what is found when all is read at once.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collector/elf/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct perf_map *make(int *out_descriptor)
{
	*out_descriptor = memfd_create("perf", MFD_CLOEXEC);
	assert(*out_descriptor >= 0);
	return perf_map_new(*out_descriptor);
}

static void add(struct perf_map *map, int descriptor, const uint8_t *data, size_t size)
{
	struct error err;

	assert(write(descriptor, data, size) == (ssize_t)size);
	(void)perf_map_refresh(map, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int descriptors[2];
	CLEANUP(perf_map_freep) struct perf_map *whole = make(&descriptors[0]);
	CLEANUP(perf_map_freep) struct perf_map *grown = make(&descriptors[1]);
	char texts[2][PERF_MAP_NAME_MAX + 1];
	uint64_t starts[2] = { 0, 0 };

	add(whole, descriptors[0], data, size);
	add(grown, descriptors[1], data, size / 3);
	add(grown, descriptors[1], data + size / 3, size - size / 3);
	assert(perf_map_lines(whole) == perf_map_lines(grown));
	for (uint64_t address = 0; address < 0x2000; address += 7) {
		const struct str name = perf_map_find(whole, address, texts[0], &starts[0]);

		assert(str_equal(name, perf_map_find(grown, address, texts[1], &starts[1])));
		assert(starts[0] == starts[1] && (name.length == 0 || starts[0] <= address));
	}
	return 0;
}
