#include "collector/elf/code_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

struct code_block {
	uint32_t file; /* 0: empty */
	uint32_t length;
	uint64_t number;
	uint8_t data[CODE_BLOCK_BYTES];
};

struct code_blocks {
	uint32_t last_file;
	struct code_block blocks[CODE_BLOCK_COUNT];
};

struct code_blocks *code_blocks_new(void)
{
	return mem_zalloc(1, sizeof(struct code_blocks));
}

void code_blocks_free(struct code_blocks *blocks)
{
	free(blocks);
}

void code_bytes_init_file(struct code_bytes *bytes, struct code_blocks *blocks, int descriptor,
                          uint64_t size)
{
	*bytes = (struct code_bytes){
		.size = size,
		.descriptor = descriptor,
		.number = ++blocks->last_file,
		.blocks = blocks,
	};
}

void code_bytes_init_memory(struct code_bytes *bytes, void *storage, size_t length)
{
	struct code_range *range = mem_zalloc(1, sizeof(*range));

	*range = (struct code_range){ .length = length, .data = storage };
	code_bytes_init_ranges(bytes, length, range, 1, storage);
}

void code_bytes_init_ranges(struct code_bytes *bytes, uint64_t size, struct code_range *ranges,
                            size_t range_count, void *storage)
{
	*bytes = (struct code_bytes){
		.size = size,
		.descriptor = -1,
		.ranges = ranges,
		.range_count = range_count,
		.storage = storage,
	};
}

void code_bytes_fini(struct code_bytes *bytes)
{
	if (bytes->blocks)
		(void)close(bytes->descriptor);
	free(bytes->ranges);
	free(bytes->storage);
	*bytes = (struct code_bytes){ .descriptor = -1 };
}

static size_t read_file(int descriptor, uint64_t offset, uint8_t *to, size_t length)
{
	size_t done = 0;

	while (done < length) {
		const ssize_t got =
			pread(descriptor, to + done, length - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return done;
}

static const struct code_block *block_at(const struct code_bytes *bytes, uint64_t number)
{
	const uint64_t mixed = (number * 31 + bytes->number) * UINT64_C(0x9e3779b97f4a7c15);
	struct code_block *block = &bytes->blocks->blocks[(mixed >> 32) % CODE_BLOCK_COUNT];

	if (block->file == bytes->number && block->number == number)
		return block;
	block->length = (uint32_t)read_file(bytes->descriptor, number * CODE_BLOCK_BYTES,
	                                    block->data, CODE_BLOCK_BYTES);
	block->file = bytes->number;
	block->number = number;
	return block;
}

static size_t read_blocks(const struct code_bytes *bytes, uint64_t offset, uint8_t *to,
                          size_t length)
{
	size_t done = 0;

	while (done < length) {
		const uint64_t at = offset + done;
		const size_t skip = at % CODE_BLOCK_BYTES;
		const struct code_block *block = block_at(bytes, at / CODE_BLOCK_BYTES);
		size_t part = block->length > skip ? block->length - skip : 0;

		if (part > length - done)
			part = length - done;
		if (part == 0)
			break;
		memcpy(to + done, block->data + skip, part);
		done += part;
	}
	return done;
}

/* Copies what range `range` has of [offset, offset + length). */
static void copy_range(const struct code_range *range, uint64_t offset, uint8_t *to, size_t length)
{
	const uint64_t start = range->offset > offset ? range->offset : offset;
	const uint64_t range_end = range->offset + range->length;
	const uint64_t end = range_end < offset + length ? range_end : offset + length;

	if (start < end)
		memcpy(to + (start - offset), range->data + (start - range->offset), end - start);
}

static void read_ranges(const struct code_bytes *bytes, uint64_t offset, uint8_t *to, size_t length)
{
	size_t low = 0;
	size_t high = bytes->range_count;

	while (low < high) { /* the first range that ends behind offset */
		const size_t middle = (low + high) / 2;
		const struct code_range *range = &bytes->ranges[middle];

		if (range->offset + range->length <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	memset(to, 0, length);
	for (; low < bytes->range_count && bytes->ranges[low].offset < offset + length; low++)
		copy_range(&bytes->ranges[low], offset, to, length);
}

size_t code_bytes_read(const struct code_bytes *bytes, uint64_t offset, void *to, size_t length)
{
	if (offset >= bytes->size)
		return 0;
	if (length > bytes->size - offset)
		length = (size_t)(bytes->size - offset);
	if (!bytes->blocks) {
		read_ranges(bytes, offset, to, length);
		return length;
	}
	if (length >= CODE_BLOCK_BYTES)
		return read_file(bytes->descriptor, offset, to, length);
	return read_blocks(bytes, offset, to, length);
}

struct str code_bytes_text(const struct code_bytes *bytes, uint64_t offset, uint64_t end, char *to,
                           size_t capacity)
{
	size_t length = 0;

	while (length + 1 < capacity && offset + length < end) {
		size_t part = capacity - 1 - length;
		const char *nul;

		if (part > 256)
			part = 256;
		if (part > end - offset - length)
			part = (size_t)(end - offset - length);
		part = code_bytes_read(bytes, offset + length, to + length, part);
		if (part == 0)
			break;
		nul = memchr(to + length, '\0', part);
		if (nul) {
			length = (size_t)(nul - to);
			break;
		}
		length += part;
	}
	to[length] = '\0';
	return str_make(to, length);
}
