/*
 * What the code objects of processes are called.
 *
 * Shape    by process (id and start), then by address, first line and tag. Filled by the
 *          definitions that the kernel side sends at the first sight of a code object; what it
 *          did not send is read from the process while it lives, and has the name "<unknown
 *          python function>" otherwise. A process that takes more than its limit loses what is
 *          known of it, and over the limit of all the one that was asked for least recently.
 *          Strings stay valid until the next definition, exit or code_names_begin().
 * Units    bytes.
 * Errors   none.
 * Threads  none: the collector's.
 * Source   unwinding specification 4, 5.2
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "collector/cuda_event.h"
#include "collector/python/python_description.h"
#include "collector/python/python_memory.h"

#define CODE_NAMES_BYTES_USUAL         ((size_t)32 << 20) /* 100,000 code objects */
#define CODE_NAMES_PROCESS_BYTES_USUAL ((size_t)8 << 20)

struct code_names_options {
	size_t limit_bytes; /* of all; 0: as usual */
	size_t process_limit_bytes;
};

/* Whose frames are named. */
struct code_process {
	uint32_t tgid;
	uint64_t start_ns;
	const struct python_description *python; /* NULL: not known */
	const struct python_memory *memory;      /* NULL: it has ended */
};

/* A named frame. */
struct code_name {
	struct str name; /* Class.function; never empty */
	struct str file; /* empty: not known */
	int64_t line;    /* 0: not known */
	int64_t first_line;
	uint32_t version; /* of the interpreter; 0: not known */
};

struct code_names_counts {
	uint64_t definitions; /* taken */
	uint64_t read;        /* code objects that were read from their process instead */
	uint64_t unknown;     /* code objects that nobody could name */
	uint64_t dropped;     /* code objects forgotten for want of room */
	size_t processes;     /* now */
	size_t bytes;         /* now */
};

struct code_names;

struct code_names *code_names_new(const struct code_names_options *options)
	__attribute__((returns_nonnull));
void code_names_free(struct code_names *names);
DEFINE_FREEP(code_names)

/* Takes one record of the definitions ring; what is none is passed over. */
void code_names_define(struct code_names *names, const void *record, size_t length);

/* Forgets a process that has ended, or that runs another program. */
void code_names_exit(struct code_names *names, uint32_t tgid, uint64_t start_ns);

/* Before the first frame of an event of that process: keeps to the limits. */
void code_names_begin(struct code_names *names, uint32_t tgid, uint64_t start_ns);

void code_names_find(struct code_names *names, const struct code_process *process,
                     const struct python_frame *frame, struct code_name *out);

void code_names_counts(const struct code_names *names, struct code_names_counts *out);
