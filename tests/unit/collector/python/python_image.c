#include "tests/unit/collector/python/python_image.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "collector/python/python_offsets.h"

#define OBJECT_BYTES 1024 /* nothing that is read of an object lies further behind */

static size_t read_image(const void *context, uint64_t address, void *to, size_t length)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it counts its reads */
	struct python_image *image = (struct python_image *)(uintptr_t)context;
	size_t left;

	image->reads++;
	if (image->is_gone || address < IMAGE_BASE || address >= IMAGE_BASE + image->used)
		return 0;
	left = image->used - (size_t)(address - IMAGE_BASE);
	if (length > left)
		length = left;
	memcpy(to, image->bytes + (address - IMAGE_BASE), length);
	return length;
}

struct python_memory python_image_memory(struct python_image *image)
{
	return (struct python_memory){ .read = read_image, .context = image };
}

uint64_t python_image_take(struct python_image *image, size_t size)
{
	const uint64_t address = IMAGE_BASE + image->used;

	assert(size <= sizeof(image->bytes) - image->used);
	image->used += (size + 15) & ~(size_t)15;
	return address;
}

void python_image_put(struct python_image *image, uint64_t address, struct str bytes)
{
	assert(address >= IMAGE_BASE && address + bytes.length <= IMAGE_BASE + image->used);
	if (bytes.length > 0)
		memcpy(image->bytes + (address - IMAGE_BASE), bytes.data, bytes.length);
}

void python_image_put64(struct python_image *image, uint64_t address, uint64_t value)
{
	python_image_put(image, address, str_make(&value, sizeof(value)));
}

void python_image_put32(struct python_image *image, uint64_t address, uint32_t value)
{
	python_image_put(image, address, str_make(&value, sizeof(value)));
}

void python_image_init(struct python_image *image, uint32_t version)
{
	struct error err = { 0 };
	int known;

	memset(image, 0, sizeof(*image));
	known = python_offsets_of_version(version, &image->python, &err);
	assert(known == 0);
	image->python.runtime = python_image_take(image, 16384);
	image->python.code_type = python_image_take(image, OBJECT_BYTES);
	image->python.thread_data = (struct python_thread_data){
		.blocks = 1296, .block_bits = 5, .entry = 16, .data = 8
	};
}

uint64_t python_image_string(struct python_image *image, struct str text)
{
	const struct python_offsets *offsets = &image->python.offsets;
	const uint64_t string = python_image_take(image, 128 + text.length);

	python_image_put64(image, string + offsets->string_length, text.length);
	/* One byte a character, compact, ASCII; the upper bits hold anything. */
	python_image_put32(image, string + offsets->string_state, 0xffffff00 | 1 << 2 | 3 << 5);
	python_image_put(image, string + offsets->string_ascii, text);
	return string;
}

uint64_t python_image_bytes(struct python_image *image, struct str bytes)
{
	const uint64_t object = python_image_take(image, 64 + bytes.length);

	python_image_put64(image, object + image->python.offsets.bytes_length, bytes.length);
	python_image_put(image, object + image->python.offsets.bytes_data, bytes);
	return object;
}

uint64_t python_image_code(struct python_image *image, struct str name, struct str file,
                           uint32_t first_line, struct str table)
{
	const struct python_offsets *offsets = &image->python.offsets;
	const uint64_t code = python_image_take(image, OBJECT_BYTES);
	const uint32_t name_place = offsets->code_qualified_name != PYTHON_OFFSET_NONE
	                                    ? offsets->code_qualified_name
	                                    : offsets->code_name;

	python_image_put64(image, code + offsets->object_type, image->python.code_type);
	python_image_put32(image, code + offsets->code_first_line, first_line);
	python_image_put64(image, code + name_place, python_image_string(image, name));
	if (name_place != offsets->code_name)
		python_image_put64(image, code + offsets->code_name,
		                   python_image_string(image, name));
	python_image_put64(image, code + offsets->code_file, python_image_string(image, file));
	python_image_put64(image, code + offsets->code_lines, python_image_bytes(image, table));
	return code;
}

uint64_t python_image_type(struct python_image *image, const char *name)
{
	const uint64_t type = python_image_take(image, OBJECT_BYTES);
	const uint64_t text = python_image_take(image, strlen(name) + 1);

	python_image_put(image, text, str_of(name));
	python_image_put64(image, type + image->python.offsets.type_name, text);
	return type;
}
