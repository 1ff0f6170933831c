/*
 * A workload that was started, and what it says it did.
 *
 * Shape    its output goes to a file in memory, so it never waits for us; it is read when it
 *          has ended, or when it says that it is ready for a word.
 * Errors   what must not fail in a test fails it.
 * Threads  none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SAID_CALLS_MAX 4096

/* One line {"call": ...} of its output. */
struct said_call {
	char kind[16];
	uint64_t address;
	uint64_t bytes;
	int result;
};

/* Its last line with "pid". */
struct said_sums {
	pid_t pid;
	uint64_t alloc_calls;
	uint64_t alloc_bytes;
	uint64_t alloc_failures;
	uint64_t free_calls;
	uint64_t free_failures;
};

struct workload {
	pid_t pid;
	int output; /* memory file */
	int input;  /* its standard input */
	bool has_ended;
	int status; /* of waitpid(), once it has ended */
};

/* A zero ends `numbers`, which are the arguments behind the name of the case. */
struct workload workload_start(const char *driver, const char *name, const uint64_t *numbers,
                               const char *setting);

/* The same; `prepare` is called in the new process first. */
struct workload workload_start_prepared(const char *driver, const char *name,
                                        const uint64_t *numbers, void (*prepare)(void));

/* Whether it has ended; never waits. */
bool workload_has_ended(struct workload *workload);

/* Whether it has said `count` times that it is ready. */
bool workload_is_ready(const struct workload *workload, size_t count);

void workload_go_on(const struct workload *workload);

/* The same by a word of a byte, for a workload that knows some. */
void workload_say(const struct workload *workload, char word);

/* Kills it if it runs, and forgets it. */
void workload_fini(struct workload *workload);

/* What it said of its calls, in order; returns how many. */
size_t workload_calls(const struct workload *workload, struct said_call *out);

/* The sums that a process of it said last. */
struct said_sums workload_sums(const struct workload *workload, pid_t pid);

/* The number behind "name": in the n-th line that has one. */
uint64_t workload_number(const struct workload *workload, const char *name, size_t n);
