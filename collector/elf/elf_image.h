/*
 * The headers of one ELF file: where its segments, its tables and its build id lie.
 *
 * Shape    plain values; the bytes are read when they are asked for. What is out of order
 *          (a segment that wraps, a section outside of the file) is as if it were not there.
 * Units    addresses are the file's own (ELF addresses), offsets count from its first byte.
 * Errors   ERROR_INVALID: not a 64-bit little-endian ELF file of this architecture.
 * Threads  none.
 * Source   System V ABI, chapters 4 and 5; unwinding specification 1.1
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "collector/elf/code_bytes.h"

#define ELF_SEGMENTS_MAX  32    /* PT_LOAD headers; linkers make 2 to 8 */
#define ELF_SECTIONS_MAX  16384 /* section headers that are looked through */
#define ELF_BUILD_ID_MAX  32    /* bytes; the usual ones have 16 or 20 */
#define ELF_SECTION_NAME  64    /* bytes of a section's name that count */
#define ELF_DEBUGLINK_MAX 128   /* bytes of the name in .gnu_debuglink */

struct elf_segment {
	uint64_t offset;
	uint64_t address;
	uint64_t file_size;
	uint32_t flags; /* PF_X, PF_W, PF_R */
};

struct elf_section {
	uint64_t address;
	uint64_t offset;
	uint64_t size; /* 0: there is none */
	uint32_t type;
	uint32_t link;
};

/* A table of symbols and the names that it refers to. */
struct elf_symbols {
	struct elf_section table;
	struct elf_section names;
};

struct elf_image {
	const struct code_bytes *bytes;
	uint64_t base; /* the lowest address of a segment */
	struct elf_segment segments[ELF_SEGMENTS_MAX];
	uint32_t segment_count;
	uint32_t section_count;
	uint64_t section_offset;
	struct elf_section section_names;

	struct elf_section eh_frame;
	struct elf_section eh_frame_header;
	struct elf_symbols symtab;
	struct elf_symbols dynsym;
	struct elf_section gnu_hash;
	struct elf_section debug_data; /* .gnu_debugdata: xz of an ELF file with a .symtab */
	struct elf_section debug_link;
	struct elf_section notes; /* those that say the build id: offset and size alone */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t build_id_length;
};

/* Reads the headers. `bytes` is borrowed and must outlive the image. */
int elf_image_init(struct elf_image *image, const struct code_bytes *bytes, struct error *err);

/* The section of that name; false when there is none. */
bool elf_image_section(const struct elf_image *image, const char *name, struct elf_section *out);

/* Header number `number`, false when there is none or it lies outside of the file. */
bool elf_image_section_at(const struct elf_image *image, uint32_t number, struct elf_section *out);

/* Where the byte at an address lies in the file; false when it does not. */
bool elf_image_offset(const struct elf_image *image, uint64_t address, uint64_t *out_offset);

/* The other way round: the address that an offset of the file has; executable ones first. */
bool elf_image_address(const struct elf_image *image, uint64_t offset, uint64_t *out_address);

/*
 * What a mapping of the file adds to its addresses: `start` is where the mapping begins,
 * `offset` which byte of the file that is. Each mapping has its own.
 */
bool elf_image_bias(const struct elf_image *image, uint64_t start, uint64_t offset,
                    uint64_t *out_bias);

/* Initialised data at an address: what the file has of `length` bytes. */
size_t elf_image_read(const struct elf_image *image, uint64_t address, void *to, size_t length);

/*
 * The address of a symbol that the file defines in its .dynsym: by .gnu.hash, else by
 * looking through the table. False when it defines none.
 */
bool elf_image_export(const struct elf_image *image, const char *name, uint64_t *out_address);
