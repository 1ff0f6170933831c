/*
 * Reads a recording to its end; every record lies within the bytes of a block.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/replay/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(recording_reader_freep) struct recording_reader *reader = NULL;
	struct recording_record record;
	struct error err = { 0 };
	unsigned sum = 0;
	int more;

	if (recording_open_bytes(str_make(data, size), &reader, &err) < 0) {
		assert(err.code == ERROR_CORRUPT);
		return 0;
	}
	while ((more = recording_next(reader, &record, &err)) == 1) {
		assert(record.kind >= 1 && record.kind < RECORDING_KIND_COUNT);
		for (size_t i = 0; i < record.bytes.length; i++)
			sum += (unsigned char)record.bytes.data[i];
	}
	assert(more == 0 || err.code != ERROR_NONE);
	(void)sum;
	return 0;
}
