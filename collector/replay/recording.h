/*
 * A file of what the collector saw: events as the kernel side sent them, and what was
 * needed to make stacks of them. It replays through the same code, on any machine.
 *
 * Shape    a magic number, then blocks of records; a block is a zstd frame behind its
 *          length. Records never span blocks. A file whose last block is cut (the writer
 *          was killed) is good up to there.
 * Units    bytes; times are nanoseconds of the boot-time clock of the recorded machine.
 * Errors   recording_open(), recording_next(): ERROR_CORRUPT for what is no recording,
 *          ERROR_TOO_LARGE for a block over RECORDING_BLOCK_MAX, ERROR_IO.
 * Threads  none.
 * Source   docs/formats/recording.md
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/str.h"

#define RECORDING_BLOCK_MAX ((size_t)64 << 20) /* of a block, packed or not */

/*
 * Inputs, in the order in which they came, and behind each the answers that the collector
 * asked for while it dealt with it.
 */
enum recording_kind {
	RECORDING_ORIGIN = 1, /* struct recording_origin: stands first */
	/* inputs */
	RECORDING_EVENT,      /* struct cuda_event or cuda_stack_event */
	RECORDING_DEFINITION, /* struct code_definition */
	RECORDING_MAPPED,     /* struct recording_file, its path, its build id */
	RECORDING_EXECED,
	RECORDING_EXITED,
	/* answers */
	RECORDING_IDENTITY, /* recorded_identity.h */
	RECORDING_MAPS,     /* the text of its maps */
	RECORDING_MODULE,   /* struct recording_file, path, build id, then a skeleton */
	RECORDING_MEMORY,   /* u64 address, then what lay there */
	RECORDING_PERF_MAP, /* the bytes of the file */
	RECORDING_KIND_COUNT,
};

/* A file of code that a process has mapped; its texts follow. */
struct recording_file {
	uint64_t start;
	uint64_t end;
	uint64_t offset;
	uint64_t inode;
	uint32_t path_length;
	uint32_t build_id_length;
};

/*
 * When a recording was begun, and how large what it holds was in the version that made it:
 * structures are written as they are, and another version must not misread them.
 */
struct recording_origin {
	int64_t boot_ns;
	int64_t unix_ns;
	uint32_t event_bytes;       /* of struct cuda_event */
	uint32_t stack_event_bytes; /* of struct cuda_stack_event */
	uint32_t definition_bytes;  /* of struct code_definition */
	uint32_t identity_bytes;    /* of a process' two names */
};

struct recording_record {
	enum recording_kind kind;
	uint32_t tgid; /* of which process; 0: of none */
	int64_t time_ns;
	struct str bytes;
};

struct recording_writer;
struct recording_reader;

/* Makes the file anew, readable by its owner only: it holds names of a workload. */
int recording_create(const char *path, struct recording_writer **out, struct error *err);

/* Appends a record; the bytes of `parts` follow each other. */
int recording_append(struct recording_writer *writer, const struct recording_record *head,
                     const struct str *parts, size_t part_count, struct error *err);

/* Writes what is pending; the writer is gone in any case. NULL is fine. */
int recording_close(struct recording_writer *writer, struct error *err);

int recording_open(const char *path, struct recording_reader **out, struct error *err);

/* A reader over bytes that the caller keeps. */
int recording_open_bytes(struct str bytes, struct recording_reader **out, struct error *err);

/* 1 and the next record, valid until the next call; 0 at the end; -1. */
int recording_next(struct recording_reader *reader, struct recording_record *out,
                   struct error *err);

void recording_reader_free(struct recording_reader *reader);
DEFINE_FREEP(recording_reader)
