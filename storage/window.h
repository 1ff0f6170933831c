/*
 * One window: its file, its tables in memory, its idle read connections.
 *
 * Shape    made by window_set for each file that it finds or starts. Tables are read when
 *          first needed and stay while somebody holds the window; the set takes them away
 *          when memory is short and nobody does.
 * Threads  references are counted by the set, under its lock. `lock` guards what stands
 *          below it. The writer's fields are the writer thread's.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "profile/stack_paths.h"
#include "storage/group_times.h"
#include "storage/reader.h"
#include "storage/window_file.h"
#include "storage/window_name.h"
#include "storage/window_tables.h"

#define WINDOW_IDLE_READERS 2 /* connections kept for the next query; a guess */

struct window_writer;

struct window {
	int32_t day;
	uint32_t number;
	char *path;
	const char *folder; /* of its tenant: part of path */
	uint64_t key;
	bool follows; /* another process writes: look for more before each read */

	/* guarded by the set's lock */
	size_t references;
	int64_t used_mono_ns;
	bool listed;     /* the set still has it */
	bool left_out;   /* damaged, and not ours to rename */
	uint64_t inode;  /* of the file, when another process writes */
	size_t charged;  /* bytes counted in the budget */
	size_t changers; /* nothing takes its place meanwhile */
	bool is_going;   /* something is about to */

	_Atomic bool ready;          /* the file has its tables */
	_Atomic bool may_have_rows;  /* that are in no block: set with each commit */
	_Atomic int seal;            /* enum window_seal */
	_Atomic uint64_t commits;    /* counted when they are done */
	_Atomic size_t table_bytes;  /* of tables; 0: none in memory */
	_Atomic size_t writer_bytes; /* of the writer's maps */
	_Atomic size_t path_bytes;   /* of paths */

	pthread_mutex_t lock;
	struct window_tables *tables; /* once there, they stay while somebody holds the window */
	struct stack_paths *paths;    /* of its stacks, in the table asked for last; or NULL */
	struct reader *idle[WINDOW_IDLE_READERS];
	size_t idle_count;

	/* the writer thread's */
	struct group_times *times;    /* guards itself */
	struct window_writer *writer; /* or NULL */
	int64_t next_sample;          /* counts up for as long as the window is known */

	/* the compactor's */
	int64_t seal_after_mono_ns; /* not tried again before */
	unsigned seal_tries;        /* that something was in the way of, one after the other */
};

struct window *window_new(const char *tenants_path, const char *folder, int32_t day,
                          uint32_t number, uint64_t key) __attribute__((returns_nonnull));
void window_free(struct window *window);

/* Whether its file is sealed. Looks into it the first time. */
bool window_is_sealed(struct window *window);

/*
 * The window's tables, read through `database` when that part of them is not there; all that
 * is committed is in it.
 */
int window_load(struct window *window, enum window_tables_part part, struct database *database,
                struct window_tables **out, struct error *err);

/* The tables of a window that somebody has loaded and holds. */
struct window_tables *window_tables_of(struct window *window);

/*
 * Which paths of function names the window's stacks are in `table`; held. What was made
 * of it is counted by window_count_paths().
 */
struct stack_paths *window_take_paths(struct window *window, const struct path_table *table)
	__attribute__((returns_nonnull));
void window_count_paths(struct window *window, const struct stack_paths *paths);

/* A read connection with the tables loaded; hand it back with window_give_reader(). */
int window_take_reader(struct window *window, struct reader **out, struct error *err);
void window_give_reader(struct window *window, struct reader *reader);

/* Closes the connections that were handed back. */
void window_close_readers(struct window *window);

/*
 * Takes what can be read again out of a window that nobody uses; free it with
 * window_free_idle().
 */
struct window_idle {
	struct window_tables *tables;
	struct stack_paths *paths;
	struct reader *readers[WINDOW_IDLE_READERS];
	size_t reader_count;
};
struct window_idle window_detach_idle(struct window *window);
void window_free_idle(struct window_idle *idle);
