#include "collector/elf/frame_entry.h"

#include <stdlib.h>

#include "base/mem.h"
#include "collector/elf/architecture.h"

/* An entry as it lies in the section: what follows its length. */
struct raw_entry {
	const uint8_t *data;
	size_t length;
	uint64_t offset; /* of data */
	uint64_t next;   /* entry */
};

void frame_buffers_fini(struct frame_buffers *buffers)
{
	free(buffers->common);
	free(buffers->entry);
	*buffers = (struct frame_buffers){ 0 };
}

/* False: nothing that makes sense, or the terminator. */
static bool read_raw(const struct elf_image *image, uint64_t offset, uint8_t **buffer,
                     size_t *capacity, struct raw_entry *out)
{
	const struct elf_section *section = &image->eh_frame;
	uint32_t short_length;
	uint64_t length;
	uint64_t header = sizeof(short_length);

	if (offset >= section->size || section->size - offset < sizeof(short_length) ||
	    !code_bytes_get(image->bytes, section->offset + offset, &short_length,
	                    sizeof(short_length)))
		return false;
	length = short_length;
	if (short_length == UINT32_MAX) {
		header += sizeof(length);
		if (section->size - offset < header ||
		    !code_bytes_get(image->bytes, section->offset + offset + sizeof(short_length),
		                    &length, sizeof(length)))
			return false;
	}
	if (length == 0 || length > section->size - offset - header)
		return false;
	*out = (struct raw_entry){ .length = length < FRAME_ENTRY_MAX ? length : FRAME_ENTRY_MAX,
		                   .offset = offset + header,
		                   .next = offset + header + length };
	if (*capacity < out->length) {
		*capacity = out->length < 4096 ? 4096 : out->length;
		*buffer = mem_resize(*buffer, *capacity, 1);
	}
	out->data = *buffer;
	return code_bytes_get(image->bytes, section->offset + out->offset, *buffer, out->length);
}

static struct frame_cursor cursor_of(const struct elf_image *image, const struct raw_entry *raw)
{
	return frame_cursor(raw->data, raw->length, image->eh_frame.address + raw->offset);
}

static struct frame_program rest_of(const struct raw_entry *raw, const struct frame_cursor *cursor)
{
	return (struct frame_program){
		.start = cursor->at,
		.length = frame_cursor_left(cursor),
		.offset = raw->offset + (uint64_t)(cursor->at - raw->data),
	};
}

/* What the letters of an augmentation say. False for one that nobody knows. */
static bool read_augmentation(const char *letters, struct frame_cursor *cursor,
                              struct frame_entry *out)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'L':
			frame_cursor_skip(cursor, 1);
			break;
		case 'P': {
			const uint8_t encoding = (uint8_t)frame_cursor_fixed(cursor, 1);

			(void)frame_cursor_encoded(cursor, encoding);
			break;
		}
		case 'R':
			out->pointer_encoding = (uint8_t)frame_cursor_fixed(cursor, 1);
			break;
		case 'S':
			out->is_signal = true;
			break;
		default:
			return false;
		}
	}
	return !cursor->bad;
}

static bool read_common(const struct elf_image *image, uint64_t offset,
                        struct frame_buffers *buffers, struct frame_entry *out, bool *out_has_data)
{
	struct raw_entry raw;
	struct frame_cursor cursor;
	const char *letters;
	const uint8_t *nul;
	uint64_t version;

	if (!read_raw(image, offset, &buffers->common, &buffers->common_capacity, &raw))
		return false;
	cursor = cursor_of(image, &raw);
	if (frame_cursor_fixed(&cursor, 4) != 0)
		return false;
	version = frame_cursor_fixed(&cursor, 1);
	nul = memchr(cursor.at, '\0', frame_cursor_left(&cursor));
	if ((version != 1 && version != 3) || !nul)
		return false;
	letters = (const char *)cursor.at;
	cursor.at = nul + 1;
	out->code_align = frame_cursor_uleb(&cursor);
	out->data_align = frame_cursor_sleb(&cursor);
	if ((version == 1 ? frame_cursor_fixed(&cursor, 1) : frame_cursor_uleb(&cursor)) !=
	    REGISTER_RETURN_ADDRESS)
		return false;
	*out_has_data = *letters == 'z';
	if (*out_has_data) {
		const uint64_t length = frame_cursor_uleb(&cursor);
		struct frame_cursor data = cursor;

		frame_cursor_skip(&cursor, length);
		data.end = cursor.at;
		if (cursor.bad || !read_augmentation(letters + 1, &data, out))
			return false;
	} else if (*letters) {
		return false;
	}
	out->initial = rest_of(&raw, &cursor);
	return !cursor.bad;
}

static bool read_code(const struct elf_image *image, const struct raw_entry *raw,
                      struct frame_cursor *cursor, bool has_data, struct frame_entry *out)
{
	out->begin =
		frame_cursor_pointer(cursor, out->pointer_encoding, image->eh_frame_header.address);
	out->end = out->begin + frame_cursor_encoded(cursor, out->pointer_encoding);
	if (has_data)
		frame_cursor_skip(cursor, frame_cursor_uleb(cursor));
	out->program = rest_of(raw, cursor);
	return !cursor->bad && out->begin < out->end;
}

enum frame_entry_kind frame_entry_read(const struct elf_image *image, uint64_t offset,
                                       struct frame_buffers *buffers, struct frame_entry *out,
                                       uint64_t *out_next)
{
	struct frame_entry entry = { 0 };
	struct raw_entry raw;
	struct frame_cursor cursor;
	uint64_t back;
	bool has_data;

	if (!read_raw(image, offset, &buffers->entry, &buffers->entry_capacity, &raw))
		return FRAME_ENTRY_END;
	*out_next = raw.next;
	cursor = cursor_of(image, &raw);
	back = frame_cursor_fixed(&cursor, 4); /* from here back to the common part; 0: it is one */
	if (cursor.bad || back == 0 || back > raw.offset ||
	    !read_common(image, raw.offset - back, buffers, &entry, &has_data) ||
	    !read_code(image, &raw, &cursor, has_data, &entry))
		return FRAME_ENTRY_OTHER;
	*out = entry;
	return FRAME_ENTRY_CODE;
}
