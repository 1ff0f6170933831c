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

enum recording_kind {
	RECORDING_CLOCK = 1,   /* struct recording_clock: what boot time was on the wall */
	RECORDING_PROCESS,     /* of a process, at its first sight */
	RECORDING_MAPS,        /* the text of its maps file */
	RECORDING_MODULE,      /* a file of code, as a skeleton */
	RECORDING_DESCRIPTION, /* the Python interpreter of a program */
	RECORDING_DEFINITION,  /* struct code_definition */
	RECORDING_EVENT,       /* struct cuda_event or cuda_stack_event */
	RECORDING_KIND_COUNT,
};

/* Stands first in a recording, and again when the wall clock was set. */
struct recording_clock {
	int64_t boot_ns;
	int64_t unix_ns;
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
