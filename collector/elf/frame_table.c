#include "collector/elf/frame_table.h"

#include <stdlib.h>

#include "base/mem.h"
#include "collector/elf/architecture.h"

#define HEADER_BYTES   32 /* more than the longest header before the table */
#define TABLE_ENCODING (POINTER_DATAREL | POINTER_SDATA4)
#define SCAN_BYTES_MAX ((uint64_t)16 << 20) /* of .eh_frame, where there is no table */

struct table_entry {
	int32_t begin;
	int32_t entry;
};

/*
 * {version 1, encoding of the pointer, of the count, of the table}, pointer to .eh_frame,
 * count, table.
 */
static bool read_header(struct frame_table *table, uint64_t *out_eh_frame)
{
	const struct elf_section *section = &table->image->eh_frame_header;
	uint8_t bytes[HEADER_BYTES];
	struct frame_cursor cursor;
	uint64_t count;

	if (section->size < 4)
		return false;
	cursor = frame_cursor(bytes,
	                      code_bytes_read(table->image->bytes, section->offset, bytes,
	                                      section->size < sizeof(bytes) ? section->size
	                                                                    : sizeof(bytes)),
	                      section->address);
	if (frame_cursor_fixed(&cursor, 1) != 1)
		return false;
	frame_cursor_skip(&cursor, 3);
	*out_eh_frame = frame_cursor_pointer(&cursor, bytes[1], section->address);
	if (cursor.bad || bytes[1] == POINTER_OMIT)
		return false;
	if (bytes[2] == POINTER_OMIT || bytes[3] != TABLE_ENCODING)
		return true; /* no table, or one that is not sorted for us */
	count = frame_cursor_encoded(&cursor, bytes[2]);
	table->table_offset = section->offset + (uint64_t)(cursor.at - bytes);
	if (!cursor.bad && count <= (section->offset + section->size - table->table_offset) /
	                                    sizeof(struct table_entry))
		table->table_count = count;
	return true;
}

/* .eh_frame without a section: from where the header says to the end of its segment. */
static void locate_eh_frame(struct elf_image *image, uint64_t address)
{
	uint64_t offset;

	for (uint32_t i = 0; i < image->segment_count; i++) {
		const struct elf_segment *segment = &image->segments[i];

		if (address < segment->address || address - segment->address >= segment->file_size)
			continue;
		offset = segment->offset + (address - segment->address);
		if (offset >= image->bytes->size)
			return;
		image->eh_frame = (struct elf_section){
			.address = address,
			.offset = offset,
			.size = segment->offset + segment->file_size - offset,
		};
		if (image->eh_frame.size > image->bytes->size - offset)
			image->eh_frame.size = image->bytes->size - offset;
		return;
	}
}

static int compare_begins(const void *a, const void *b)
{
	const struct frame_index_entry *first = a;
	const struct frame_index_entry *second = b;

	return (first->begin > second->begin) - (first->begin < second->begin);
}

static void make_index(struct frame_table *table, struct frame_buffers *buffers)
{
	const struct elf_image *image = table->image;
	struct frame_entry entry;
	enum frame_entry_kind kind;
	uint64_t offset = 0;
	size_t capacity = 0;

	table->has_index = true;
	while (offset < SCAN_BYTES_MAX && table->index_count < FRAME_INDEX_MAX) {
		uint64_t next;

		kind = frame_entry_read(image, offset, buffers, &entry, &next);
		if (kind == FRAME_ENTRY_END)
			break;
		if (kind == FRAME_ENTRY_CODE && entry.begin >= image->base &&
		    entry.begin - image->base <= UINT32_MAX) {
			if (table->index_count == capacity) {
				capacity = capacity ? 2 * capacity : 64;
				table->index =
					mem_resize(table->index, capacity, sizeof(*table->index));
			}
			table->index[table->index_count++] = (struct frame_index_entry){
				.begin = (uint32_t)(entry.begin - image->base),
				.offset = (uint32_t)offset,
			};
		}
		offset = next;
	}
	if (table->index_count > 1)
		qsort(table->index, table->index_count, sizeof(*table->index), compare_begins);
}

void frame_table_init(struct frame_table *table, struct elf_image *image)
{
	uint64_t address;

	*table = (struct frame_table){ .image = image };
	if (read_header(table, &address) && image->eh_frame.size == 0)
		locate_eh_frame(image, address);
}

void frame_table_fini(struct frame_table *table)
{
	free(table->index);
	*table = (struct frame_table){ 0 };
}

/* Where the table says that the entry for `address` begins. */
static bool search_table(const struct frame_table *table, uint64_t address, uint64_t *out_offset)
{
	const struct elf_image *image = table->image;
	const uint64_t base = image->eh_frame_header.address;
	struct table_entry found = { 0, 0 };
	uint64_t low = 0;
	uint64_t high = table->table_count;

	while (low < high) { /* the first that begins behind address */
		const uint64_t middle = low + (high - low) / 2;
		struct table_entry entry;

		if (!code_bytes_get(image->bytes, table->table_offset + middle * sizeof(entry),
		                    &entry, sizeof(entry)))
			return false;
		if (base + (uint64_t)(int64_t)entry.begin > address) {
			high = middle;
		} else {
			low = middle + 1;
			found = entry;
		}
	}
	*out_offset = base + (uint64_t)(int64_t)found.entry - image->eh_frame.address;
	return low > 0;
}

static bool search_index(const struct frame_table *table, uint64_t address, uint64_t *out_offset)
{
	const uint64_t relative = address - table->image->base;
	size_t low = 0;
	size_t high = table->index_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (table->index[middle].begin > relative)
			high = middle;
		else
			low = middle + 1;
	}
	if (low == 0 || address < table->image->base)
		return false;
	*out_offset = table->index[low - 1].offset;
	return true;
}

bool frame_table_find(struct frame_table *table, uint64_t address, struct frame_buffers *buffers,
                      struct frame_entry *out)
{
	uint64_t offset;
	uint64_t next;

	if (table->table_count == 0 && !table->has_index)
		make_index(table, buffers);
	if (!(table->table_count > 0 ? search_table(table, address, &offset)
	                             : search_index(table, address, &offset)))
		return false;
	return frame_entry_read(table->image, offset, buffers, out, &next) == FRAME_ENTRY_CODE &&
	       address >= out->begin && address < out->end;
}

size_t frame_table_bytes(const struct frame_table *table)
{
	return table->index_count * sizeof(*table->index);
}
