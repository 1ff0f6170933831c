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
#define FILES           2 /* the module's, and the separate one of its symbols */

struct part {
	uint64_t offset;
	uint64_t length;
};

/* What is kept of one file. */
struct part_list {
	const struct elf_image *image;
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

/* Initialised data that the file exports. */
static void add_export(struct part_list *list, const char *name, uint64_t length)
{
	uint64_t address;
	uint64_t offset;

	if (elf_image_export(list->image, name, &address) &&
	    elf_image_offset(list->image, address, &offset))
		add_part(list, offset, length);
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
	list->image = image;
	list->file_size = image->bytes->size;
	add_headers(list, image);
	add_section(list, &image->symtab.table);
	add_section(list, &image->symtab.names);
	add_section(list, &image->dynsym.table);
	add_section(list, &image->dynsym.names);
	add_section(list, &image->gnu_hash);
	add_section(list, &image->debug_data);
	add_section(list, &image->eh_frame_header);
	add_section(list, &image->eh_frame);
	add_export(list, "_PyRuntime", INTERPRETER_MAX);
	add_export(list, "Py_Version", sizeof(uint64_t));
	join_parts(list);
}

static void put_varint(struct strbuf *out, uint64_t number)
{
	uint8_t bytes[VARINT_MAX];

	strbuf_add(out, bytes, varint_write(bytes, number));
}

static void put_places(const struct part_list *list, struct strbuf *out)
{
	uint64_t end = 0;

	put_varint(out, list->file_size);
	put_varint(out, list->count);
	for (size_t i = 0; i < list->count; i++) {
		put_varint(out, list->parts[i].offset - end);
		put_varint(out, list->parts[i].length);
		end = list->parts[i].offset + list->parts[i].length;
	}
}

static int put_parts(const struct part_list *list, struct strbuf *data, struct error *err)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct part *part = &list->parts[i];
		char *to = strbuf_reserve(data, (size_t)part->length);

		if (!to)
			return error_set(err, ERROR_TOO_LARGE, "a skeleton of more than %zu bytes",
			                 MODULE_SKELETON_MAX);
		if (!code_bytes_get(list->image->bytes, part->offset, to, (size_t)part->length))
			return error_set(err, ERROR_IO, "the file has become shorter");
		strbuf_advance(data, (size_t)part->length);
	}
	return 0;
}

/* The lists of both files: the second may be empty. */
static int put_files(const struct part_list *lists, struct strbuf *out, struct error *err)
{
	struct strbuf data;
	int result = 0;

	strbuf_init(&data, MODULE_SKELETON_MAX);
	for (int i = 0; i < FILES && result == 0; i++) {
		put_places(&lists[i], out);
		result = put_parts(&lists[i], &data, err);
	}
	if (result == 0)
		zstd_pack(strbuf_view(&data), LEVEL, out);
	strbuf_fini(&data);
	return result;
}

int module_skeleton_write(const struct module *module, struct strbuf *out, struct error *err)
{
	CLEANUP(mem_freep) struct part_list *lists = mem_zalloc(FILES, sizeof(*lists));
	const struct elf_image *debug = module_debug_image(module);
	const struct str path = str_first(module_path(module), PATH_BYTES);

	collect(&lists[0], module_image(module));
	if (debug)
		collect(&lists[1], debug);
	strbuf_add(out, MAGIC, MAGIC_BYTES);
	put_varint(out, path.length);
	strbuf_add_str(out, path);
	if (put_files(lists, out, err) < 0)
		return -1;
	if (strbuf_overflowed(out))
		return error_set(err, ERROR_TOO_LARGE, "no room for the skeleton of a module");
	return 0;
}

void module_skeleton_fini(struct module_skeleton *skeleton)
{
	free(skeleton->path);
	code_bytes_fini(&skeleton->file);
	code_bytes_fini(&skeleton->debug);
	skeleton->path = NULL;
}

/* The places of one file's parts, as they were read. */
struct places {
	uint64_t file_size;
	uint64_t count;
	struct code_range *ranges; /* their data is not there yet */
	uint64_t total;            /* bytes of all of them */
};

/* What stands in front of the parts' bytes. */
struct head {
	struct str path;
	struct places files[FILES];
	struct str packed;
};

static bool take_places(const uint8_t **at, const uint8_t *end, struct places *out)
{
	uint64_t place = 0;

	if (!varint_read(at, end, &out->file_size) || !varint_read(at, end, &out->count) ||
	    out->count > MODULE_SKELETON_PARTS)
		return false;
	out->ranges = mem_zalloc(out->count + 1, sizeof(*out->ranges));
	for (uint64_t i = 0; i < out->count; i++) {
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

static bool take_head(struct str bytes, struct head *out)
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
	for (int i = 0; i < FILES; i++)
		if (!take_places(&at, end, &out->files[i]))
			return false;
	out->packed = str_make(at, (size_t)(end - at));
	return true;
}

/* Hands the ranges their bytes, which are copied, and makes a file of them. */
static void make_file(struct places *places, const char *data, struct code_bytes *out)
{
	uint8_t *storage = (uint8_t *)mem_strndup(data, (size_t)places->total);
	size_t at = 0;

	for (uint64_t i = 0; i < places->count; i++) {
		places->ranges[i].data = storage + at;
		at += places->ranges[i].length;
	}
	code_bytes_init_ranges(out, places->file_size, TAKE(places->ranges), places->count,
	                       storage);
}

static int take_files(struct head *head, struct module_skeleton *out, struct error *err)
{
	const uint64_t total = head->files[0].total + head->files[1].total;
	CLEANUP(arena_freep) struct arena *arena = arena_new((size_t)total + 4096, NULL);
	struct str data;

	if (total > MODULE_SKELETON_MAX ||
	    zstd_unpack(head->packed, (size_t)total, arena, &data, err) < 0 || data.length != total)
		return error_set(err, ERROR_CORRUPT, "the skeleton of a module is damaged");
	*out = (struct module_skeleton){
		.path = mem_strndup(head->path.data, head->path.length),
	};
	make_file(&head->files[0], data.data, &out->file);
	make_file(&head->files[1], data.data + head->files[0].total, &out->debug);
	return 0;
}

int module_skeleton_read(struct str bytes, struct module_skeleton *out, struct error *err)
{
	struct head head = { 0 };
	int result;

	if (take_head(bytes, &head))
		result = take_files(&head, out, err);
	else
		result = error_set(err, ERROR_CORRUPT, "not the skeleton of a module");
	for (int i = 0; i < FILES; i++)
		free(head.files[i].ranges);
	return result;
}
