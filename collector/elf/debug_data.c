#include "collector/elf/debug_data.h"

#include <lzma.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/strbuf.h"

#define STEP_BYTES ((size_t)64 << 10)

static int unpack(lzma_stream *stream, struct strbuf *out, struct error *err)
{
	lzma_ret result;

	do {
		stream->next_out = (uint8_t *)strbuf_reserve(out, STEP_BYTES);
		stream->avail_out = STEP_BYTES;
		if (!stream->next_out)
			return error_set(err, ERROR_TOO_LARGE, "symbols of more than %zu bytes",
			                 DEBUG_DATA_MAX);
		result = lzma_code(stream, LZMA_FINISH);
		strbuf_advance(out, STEP_BYTES - stream->avail_out);
	} while (result == LZMA_OK);
	if (result == LZMA_STREAM_END)
		return 0;
	return error_set(err, ERROR_CORRUPT, "compressed symbols: error %d of liblzma", result);
}

int debug_data_unpack(const struct elf_image *image, void **out_data, size_t *out_length,
                      struct error *err)
{
	const struct elf_section *section = &image->debug_data;
	CLEANUP(mem_freep) uint8_t *packed = NULL;
	lzma_stream stream = LZMA_STREAM_INIT;
	struct strbuf out;
	int result;

	if (section->size > DEBUG_DATA_PACKED_MAX)
		return error_set(err, ERROR_TOO_LARGE, "compressed symbols of %llu bytes",
		                 (unsigned long long)section->size);
	packed = mem_zalloc(1, section->size + 1);
	if (!code_bytes_get(image->bytes, section->offset, packed, section->size))
		return error_set(err, ERROR_CORRUPT, "compressed symbols cannot be read");
	if (lzma_stream_decoder(&stream, DEBUG_DATA_MEMORY_MAX, 0) != LZMA_OK)
		return error_set(err, ERROR_UNAVAILABLE, "liblzma has no memory");
	stream.next_in = packed;
	stream.avail_in = section->size;
	strbuf_init(&out, DEBUG_DATA_MAX);
	result = unpack(&stream, &out, err);
	lzma_end(&stream);
	if (result == 0)
		*out_data = strbuf_detach(&out, out_length);
	strbuf_fini(&out);
	return result;
}
