/*
 * A Python program under the collector: what it says of its stacks, and what was seen.
 *
 * Shape    python_run_start() starts it, has its interpreter described once it has entered
 *          cuInit, and lets it go on; python_run_finish() waits for its end. Every call has a
 *          size of its own: by it what was said and what was seen are one.
 * Errors   what must not fail in a test fails it.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "collector/bpf/probe_set.h"
#include "collector/frame.h"
#include "collector/python/python_description.h"
#include "collector/python/python_stack.h"

#define RUN_PROCESSES_MAX 64
#define RUN_STACKS_MAX    4096

/* A frame that the program said it has. */
struct said_frame {
	int64_t line;
	struct str name;
	struct str file;
};

struct said_stack {
	uint64_t size;
	struct said_frame *frames;
	size_t count;
};

struct seen_stack {
	uint64_t size;
	uint32_t tgid;
	uint32_t flags; /* of captured_stack_flag */
	uint32_t python_count;
	uint32_t entry_count; /* of Python frames */
	bool had_memory;      /* its process could be read */
	enum native_stack_end end;
	struct frame *frames; /* with copies of their texts */
	size_t count;
};

struct run_process;

struct python_run {
	struct probe_set *set;
	struct probe_link *link;
	struct module_cache *modules;
	struct frame_names *frame_names;
	struct code_names *code_names;
	struct arena *arena; /* of what was said and seen */
	pid_t pid;
	int input;
	int output;
	bool reads_memory; /* false: as of a process that has ended */
	struct python_description python;
	char refusal[ERROR_MESSAGE_SIZE]; /* why its interpreter was not described */
	struct run_process *processes[RUN_PROCESSES_MAX];
	size_t process_count;
	struct seen_stack seen[RUN_STACKS_MAX];
	size_t seen_count;
	size_t definitions;     /* that came */
	size_t definitions_max; /* not 0: each has the program call again, up to so many */
};

/*
 * Loads the programs and attaches them to the stub driver, with a ring of definitions of that
 * size (0: the usual one). Errors as probe_set_open().
 */
int python_run_init(struct python_run *run, size_t definition_ring_bytes, struct error *err);
void python_run_fini(struct python_run *run);

/* Until its interpreter is described, or refused. It goes on then. */
void python_run_start(struct python_run *run, const char *python, const char *name);

/* Takes events until the program has ended and nothing is left. */
void python_run_finish(struct python_run *run);

/* Waits for its end first: what is seen then is seen of a process that is gone. */
void python_run_finish_late(struct python_run *run);

/* Has the program call by code that is new, and returns when it has. */
void python_run_again(struct python_run *run);

/* What the program said of the call of that size; false: nothing. */
bool python_run_said(struct python_run *run, uint64_t size, struct said_stack *out);

/* The reason why the program has left out a case; empty: it has not. */
struct str python_run_skipped(struct python_run *run, const char *name);

const struct seen_stack *python_run_seen(const struct python_run *run, uint64_t size);
