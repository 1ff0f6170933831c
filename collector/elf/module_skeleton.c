#include "collector/elf/module_skeleton.h"

#include <elf.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/varint.h"
#include "base/zstd.h"
#include "collector/elf/module.h"

#define MAGIC           "VSKL\x01"
#define MAGIC_BYTES     (sizeof(MAGIC) - 1)
#define PATH_BYTES      4096
#define INTERPRETER_MAX 4096 /* bytes of .PyRuntime: its offsets take less than 1024 */
#define LEVEL           12

struct part {
	uint64_t offset;
	uint64_t length;
};

struct part_list {
	const struct module *module;
	uint64_t file_size;
	size_t count;
	struct part parts[MODULE_SKELETON_PARTS];
};

static void add_part(struct part_list *list, uint64_t offset, uint64_t length)
{
	if (offset >= list->file_size || length == 0 || list->count == MODULE_SKELETON_PARTS)
		return;
	if (length > list->file_size - offset)
		length = list->file_size - offset;
	list->parts[list->count++] = (struct part){ offset, length };
}

static void add_section(struct part_list *list, const struct elf_section *section)
{
	add_part(list, section->offset, section->size);
}

static void add_headers(struct part_list *list, const struct elf_image *image)
{
	Elf64_Ehdr header;

	if (!code_bytes_get(image->bytes, 0, &header, sizeof(header)))
		return;
	add_part(list, 0, sizeof(header));
	add_part(list, header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
	add_part(list, image->section_offset, image->section_count * sizeof(Elf64_Shdr));
	add_section(list, &image->section_names);
	add_section(list, &image->notes);
}

static void add_data(struct part_list *list, uint64_t address, uint64_t length)
{
	uint64_t offset;

	if (module_offset(list->module, address, &offset))
		add_part(list, offset, length);
}

static void add_interpreter(struct part_list *list)
{
	uint64_t address;

	if (module_export(list->module, "_PyRuntime", &address))
		add_data(list, address, INTERPRETER_MAX);
	if (module_export(list->module, "Py_Version", &address))
		add_data(list, address, sizeof(uint64_t));
}

static int compare_parts(const void *a, const void *b)
{
	const struct part *first = a;
	const struct part *second = b;

	return (first->offset > second->offset) - (first->offset < second->offset);
}

/* Sorts, and joins what overlaps or touches. */
static void join_parts(struct part_list *list)
{
	size_t kept = 0;

	qsort(list->parts, list->count, sizeof(list->parts[0]), compare_parts);
	for (size_t i = 0; i < list->count; i++) {
		const struct part part = list->parts[i];
		struct part *last = kept > 0 ? &list->parts[kept - 1] : NULL;

		if (!last || part.offset > last->offset + last->length)
			list->parts[kept++] = part;
		else if (part.offset + part.length > last->offset + last->length)
			last->length = part.offset + part.length - last->offset;
	}
	list->count = kept;
}

static void collect(struct part_list *list, const struct elf_image *image)
{
	list->file_size = image->bytes->size;
	add_headers(list, image);
	add_section(list, &image->eh_frame_header);
	add_section(list, &image->eh_frame);
	add_section(list, &image->symtab.table);
	add_section(list, &image->symtab.names);
	add_section(list, &image->dynsym.table);
	add_section(list, &image->dynsym.names);
	add_section(list, &image->gnu_hash);
	add_section(list, &image->debug_data);
	add_interpreter(list);
	join_parts(list);
}

static void put_varint(struct strbuf *out, uint64_t number)
{
	uint8_t bytes[VARINT_MAX];

	strbuf_add(out, bytes, varint_write(bytes, number));
}

static int write_parts(const struct part_list *list, const struct code_bytes *bytes,
                       struct strbuf *out, struct error *err)
{
	struct strbuf data;
	uint64_t end = 0;
	int result = 0;

	strbuf_init(&data, MODULE_SKELETON_MAX);
	put_varint(out, list->count);
	for (size_t i = 0; i < list->count; i++) {
		const struct part *part = &list->parts[i];
		char *to = strbuf_reserve(&data, (size_t)part->length);

		put_varint(out, part->offset - end);
		put_varint(out, part->length);
		end = part->offset + part->length;
		if (!to) {
			result = error_set(err, ERROR_TOO_LARGE,
			                   "a skeleton of more than %zu bytes",
			                   MODULE_SKELETON_MAX);
			break;
		}
		if (!code_bytes_get(bytes, part->offset, to, (size_t)part->length)) {
			result = error_set(err, ERROR_IO, "the file has become shorter");
			break;
		}
		strbuf_advance(&data, (size_t)part->length);
	}
	if (result == 0)
		zstd_pack(strbuf_view(&data), LEVEL, out);
	strbuf_fini(&data);
	return result;
}

int module_skeleton_write(const struct module *module, struct strbuf *out, struct error *err)
{
	CLEANUP(mem_freep) struct part_list *list = mem_zalloc(1, sizeof(*list));
	const struct elf_image *image = module_image(module);
	const struct str path = str_first(module_path(module), PATH_BYTES);

	list->module = module;
	collect(list, image);
	strbuf_add(out, MAGIC, MAGIC_BYTES);
	put_varint(out, path.length);
	strbuf_add_str(out, path);
	put_varint(out, list->file_size);
	if (write_parts(list, image->bytes, out, err) < 0)
		return -1;
	if (strbuf_overflowed(out))
		return error_set(err, ERROR_TOO_LARGE, "no room for the skeleton of a module");
	return 0;
}

/* What stands in front of the parts' bytes. */
struct skeleton {
	struct str path;
	uint64_t file_size;
	uint64_t part_count;
	struct code_range *ranges;
	uint64_t total; /* bytes of all parts */
	struct str packed;
};

static bool read_ranges(const uint8_t **at, const uint8_t *end, struct skeleton *out)
{
	uint64_t place = 0;

	for (uint64_t i = 0; i < out->part_count; i++) {
		uint64_t gap;
		uint64_t length;

		if (!varint_read(at, end, &gap) || !varint_read(at, end, &length) ||
		    gap > out->file_size - place || length > out->file_size - place - gap ||
		    length == 0 || length > MODULE_SKELETON_MAX - out->total)
			return false;
		out->ranges[i] = (struct code_range){ .offset = place + gap, .length = length };
		place += gap + length;
		out->total += length;
	}
	return true;
}

static bool read_head(struct str bytes, struct skeleton *out)
{
	const uint8_t *at = (const uint8_t *)bytes.data;
	const uint8_t *end = at + bytes.length;
	uint64_t path_length;

	if (!str_starts_with(bytes, str_make(MAGIC, MAGIC_BYTES)))
		return false;
	at += MAGIC_BYTES;
	if (!varint_read(&at, end, &path_length) || path_length > PATH_BYTES ||
	    path_length > (size_t)(end - at))
		return false;
	out->path = str_make(at, path_length);
	at += path_length;
	if (!varint_read(&at, end, &out->file_size) || !varint_read(&at, end, &out->part_count) ||
	    out->part_count > MODULE_SKELETON_PARTS)
		return false;
	out->ranges = mem_zalloc(out->part_count + 1, sizeof(*out->ranges));
	if (!read_ranges(&at, end, out))
		return false;
	out->packed = str_make(at, (size_t)(end - at));
	return true;
}

int module_skeleton_read(struct str skeleton, struct code_bytes *out_bytes, char **out_path,
                         struct error *err)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(MODULE_SKELETON_MAX + 4096, NULL);
	struct skeleton head = { 0 };
	struct str data;
	uint8_t *storage;
	size_t at = 0;

	if (!read_head(skeleton, &head)) {
		free(head.ranges);
		return error_set(err, ERROR_CORRUPT, "not the skeleton of a module");
	}
	if (zstd_unpack(head.packed, (size_t)head.total, arena, &data, err) < 0 ||
	    data.length != head.total) {
		free(head.ranges);
		return error_set(err, ERROR_CORRUPT, "the skeleton of a module is damaged");
	}
	storage = (uint8_t *)mem_strndup(data.data, data.length);
	for (uint64_t i = 0; i < head.part_count; i++) {
		head.ranges[i].data = storage + at;
		at += head.ranges[i].length;
	}
	code_bytes_init_ranges(out_bytes, head.file_size, head.ranges, head.part_count, storage);
	*out_path = mem_strndup(head.path.data, head.path.length);
	return 0;
}
