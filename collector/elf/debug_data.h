/*
 * The small symbol table that distributions leave in stripped files: an ELF file within the
 * file, compressed with xz. The only file that includes lzma.h.
 *
 * Errors   ERROR_CORRUPT for bytes that are no such file, ERROR_TOO_LARGE past a limit.
 * Threads  any.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"
#include "collector/elf/elf_image.h"

#define DEBUG_DATA_PACKED_MAX ((uint64_t)8 << 20)  /* bytes of .gnu_debugdata */
#define DEBUG_DATA_MAX        ((size_t)32 << 20)   /* of what comes out */
#define DEBUG_DATA_MEMORY_MAX ((uint64_t)64 << 20) /* that unpacking may take */

/* Unpacks into *out_data, which the caller frees. */
int debug_data_unpack(const struct elf_image *image, void **out_data, size_t *out_length,
                      struct error *err);
