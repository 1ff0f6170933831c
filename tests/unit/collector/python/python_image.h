/*
 * The memory of a process that a test makes up: objects of CPython where a description has
 * them.
 *
 * Shape    one piece of memory from IMAGE_BASE on, filled from its beginning; addresses
 *          outside of it are not there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "collector/python/python_description.h"
#include "collector/python/python_memory.h"

#define IMAGE_BASE  UINT64_C(0x100000)
#define IMAGE_BYTES 262144

struct python_image {
	struct python_description python;
	uint8_t bytes[IMAGE_BYTES];
	size_t used;
	bool is_gone; /* the process has ended */
	size_t reads;
};

/* An empty one with the offsets of a version, _PyRuntime, and PyCode_Type. */
void python_image_init(struct python_image *image, uint32_t version);

struct python_memory python_image_memory(struct python_image *image);

/* Room for `size` zeroed bytes: its address. */
uint64_t python_image_take(struct python_image *image, size_t size);

void python_image_put64(struct python_image *image, uint64_t address, uint64_t value);
void python_image_put32(struct python_image *image, uint64_t address, uint32_t value);
void python_image_put(struct python_image *image, uint64_t address, struct str bytes);

/* A string of ASCII; a bytes object; a code object; a type. */
uint64_t python_image_string(struct python_image *image, struct str text);
uint64_t python_image_bytes(struct python_image *image, struct str bytes);
uint64_t python_image_code(struct python_image *image, struct str name, struct str file,
                           uint32_t first_line, struct str table);
uint64_t python_image_type(struct python_image *image, const char *name);
