/*
 * The bytes of a recording, as they lie in the file: little-endian, of fixed widths.
 *
 * Source   docs/formats/recording.md
 */
#pragma once

#include <stdint.h>

#define RECORDING_MAGIC "vramrec\x01"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "structs are written as they are");

/* In front of each block: a zstd frame of packed_length bytes. */
struct recording_block {
	uint32_t plain_length;
	uint32_t packed_length;
};

/* In front of each record of a block: `length` bytes of it. */
struct recording_head {
	uint32_t kind;
	uint32_t length;
	uint32_t tgid;
	uint32_t reserved; /* 0 */
	int64_t time_ns;
};
