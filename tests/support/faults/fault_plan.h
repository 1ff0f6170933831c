/*
 * What goes wrong in a process under test: a page of memory that it shares with its test.
 *
 * Shape    calls on files below one folder are counted as long as the kind at hand could
 *          befall them; those numbered first to last fail, the first call having number 1.
 *          Besides, the wall clock may be shifted and the file system may have another
 *          name. A test writes the page and reads the counts; nothing goes wrong where the
 *          environment names no page.
 * Settings VRAMSCOPE_FAULT_PLAN: file that holds the page; VRAMSCOPE_FAULT_FOLDER: folder
 *          whose files are meant; VRAMSCOPE_FAULT_TRACE: file that gets what was changed
 *          (disk_trace.h)
 * Threads  any
 * Source   tests/support/faults.py writes the page, field by field as it stands here
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind {
	FAULT_NO_SPACE,    /* ENOSPC, of whatever takes room */
	FAULT_IO,          /* EIO, of everything */
	FAULT_INTERRUPTED, /* EINTR */
	FAULT_SHORT,       /* half of what should be written is */
	FAULT_DESCRIPTORS, /* EMFILE */
	FAULT_MEMORY,      /* ENOMEM, of mappings */
	FAULT_KIND_COUNT
};

enum disk_call {
	DISK_OPEN,
	DISK_CREATE, /* an open() that may make the file */
	DISK_READ,
	DISK_WRITE,
	DISK_SYNC,
	DISK_TRUNCATE,
	DISK_MAP,
	DISK_NAME, /* rename(), mkdir(): a folder gets an entry */
	DISK_UNLINK,
	DISK_LIST,
	DISK_STATUS,
	DISK_CALL_COUNT
};

#define FAULT_LAST_SIZE 192

struct fault_plan {
	_Atomic uint64_t first; /* 0: no call fails */
	_Atomic uint64_t last;
	_Atomic uint64_t calls;
	_Atomic uint64_t failed;
	_Atomic int64_t clock_shift_ns;
	_Atomic uint64_t file_system; /* what statfs() says; 0: the truth */
	_Atomic uint32_t kind;
	char last_failed[FAULT_LAST_SIZE]; /* its name and file */
};

/* Whether a path, which is absolute, lies below the folder. */
bool fault_plan_has(const char *path);

/* A call comes: 0 when it goes on, an errno value when it fails, FAULT_HALF for a short write. */
#define FAULT_HALF (-1)
int fault_plan_next(enum disk_call call, const char *name, const char *path);

int64_t fault_plan_clock_shift_ns(void);
uint64_t fault_plan_file_system(void);
