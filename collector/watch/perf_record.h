/*
 * One record of a perf buffer: a mapping, a name, a fork, an exit.
 *
 * Shape    views into the bytes that were decoded. The records are those of an event with
 *          mmap2, comm, task and sample_id_all, and sample type TID | TIME.
 * Units    times are those of the clock that the event was opened with.
 * Errors   none: what does not fit its record is of kind PERF_RECORD_KIND_OTHER.
 * Threads  any.
 * Source   linux/perf_event.h
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define PERF_BUILD_ID_MAX     20
#define PERF_RECORD_BYTES_MAX ((size_t)1 << 16) /* bytes; its size is a 16-bit number */

enum perf_record_kind {
	PERF_RECORD_KIND_OTHER,
	PERF_RECORD_KIND_MAPPED, /* a file was mapped for execution */
	PERF_RECORD_KIND_NAMED,  /* a thread has another name */
	PERF_RECORD_KIND_EXEC,   /* the same by an exec */
	PERF_RECORD_KIND_FORK,
	PERF_RECORD_KIND_EXIT,
	PERF_RECORD_KIND_LOST, /* `lost` records found no place */
};

struct perf_record {
	enum perf_record_kind kind;
	uint32_t tgid;
	uint32_t tid;
	uint32_t parent_tgid; /* FORK; also of a thread */
	uint64_t time_ns;     /* 0: it has none */
	uint64_t address;
	uint64_t length;
	uint64_t offset;
	uint64_t inode; /* 0: not told, as where there is a build id */
	uint64_t lost;
	struct str path; /* as the process sees it */
	struct str name;
	uint32_t build_id_length;
	uint8_t build_id[PERF_BUILD_ID_MAX];
};

/* Decodes the record at the start of `bytes`. Returns its size, 0 when it is cut. */
size_t perf_record_decode(struct str bytes, struct perf_record *out);
