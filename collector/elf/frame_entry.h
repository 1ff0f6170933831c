/*
 * One entry of .eh_frame with the common part that it refers to: the code that it
 * describes, and the instructions that make rows.
 *
 * Shape    instructions are views into the two buffers that frame_entry_read() filled; they
 *          are used again by the next read.
 * Units    offsets count from the first byte of .eh_frame.
 * Errors   none: what cannot be read is no entry.
 * Threads  none.
 * Source   Linux Standard Base 5, 10.6.1
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "collector/elf/elf_image.h"
#include "collector/elf/frame_cursor.h"

#define FRAME_ENTRY_MAX ((size_t)256 << 10) /* bytes of one entry */

/* The memory that entries are read into; zeroed is empty. */
struct frame_buffers {
	uint8_t *common;
	size_t common_capacity;
	uint8_t *entry;
	size_t entry_capacity;
};

void frame_buffers_fini(struct frame_buffers *buffers);

/* Instructions, and where the first of them lies in .eh_frame. */
struct frame_program {
	const uint8_t *start;
	size_t length;
	uint64_t offset;
};

struct frame_entry {
	uint64_t begin; /* of the code: [begin, end) */
	uint64_t end;
	uint64_t code_align;
	int64_t data_align;
	bool is_signal;
	uint8_t pointer_encoding;
	struct frame_program initial; /* of the common part */
	struct frame_program program;
};

/* What stands at an offset of .eh_frame. */
enum frame_entry_kind {
	FRAME_ENTRY_CODE,  /* describes code: *out is set */
	FRAME_ENTRY_OTHER, /* a common part, or one that cannot be used */
	FRAME_ENTRY_END,   /* the terminator, the section's end, or nothing that makes sense */
};

enum frame_entry_kind frame_entry_read(const struct elf_image *image, uint64_t offset,
                                       struct frame_buffers *buffers, struct frame_entry *out,
                                       uint64_t *out_next);
