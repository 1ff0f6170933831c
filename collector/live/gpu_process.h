/*
 * The processes that call the driver: who they are, and their books.
 *
 * Shape    a process is a thread group and its start: ids that are used again are others.
 *          Its names are read at its first sight and stay, so that series do not flap; until
 *          its pod is known, or has been waited for, it is not published. One that was there
 *          before may be adopted before its first event (earlier_memory.h).
 *          One that has ended stays for some time, so that its last frees are seen. One
 *          that runs exec begins anew, and its former program ends as a process of its own.
 * Units    times of starts are those of events (boot-time clock), those of ends of the
 *          monotonic clock, when the end was booked.
 * Errors   gpu_process_table_get() says NULL when there are GPU_PROCESSES_MAX; counted.
 * Threads  none: the collector's.
 * Source   collector specification 1.3, 2.5, 6.4
 */
#pragma once

#include "base/budget.h"
#include "base/cleanup.h"
#include "collector/device_picture.h"
#include "collector/identity/process_identity.h"
#include "collector/live/gpu_account.h"
#include "collector/live/suspension.h"

#define DEVICE_UNKNOWN      "unknown" /* a device that is not certain */
#define GPU_PROCESSES_MAX   8192      /* as many as the programs in the kernel know */
#define FORMER_PROGRAMS_MAX 256       /* in one tick */

struct gpu_process {
	struct gpu_account account;
	struct budget *share; /* of the table's memory: what its account takes */
	size_t stack_bytes;   /* that its stacks took in the stack table, since that was made */

	/* by function, the last stack that was captured, for calls whose was left out; or 0 */
	uint32_t captured[CUDA_FUNCTION_COUNT];

	/*
	 * by host_raw, what metrics have shown: a free that is undone later must not take a
	 * counter back
	 */
	wide_sum shown_free_bytes[2];
	wide_sum shown_free_calls[2];

	/* what the kernel has counted, from reading it until it is booked */
	struct kernel_counters counters[CUDA_CLASS_COUNT];

	wide_sum told_peak_bytes; /* the last peak that was published */
	uint64_t next_oom_ns;     /* before it no report of it begins (oom_reports.h) */
	uint32_t report_count;    /* that wait and name it: it stays until they are published */

	uint64_t start_ns;
	uint64_t first_ns;   /* time of its first event */
	int64_t end_mono_ns; /* 0: it runs */
	uint32_t tgid;
	bool has_counters;
	bool has_exited;            /* the kernel says so */
	bool is_settled;            /* ended, and the kernel's last counters are booked */
	bool is_published;          /* its end was part of a tick */
	bool is_former;             /* the program before an exec, for its last tick */
	bool is_adopted;            /* no event of it has come; its start is of /proc */
	int64_t seen_mono_ns;       /* when its names were asked for first */
	enum suspension suspension; /* that another process has brought about */
	char gpu[DEVICE_TEXT];      /* the device that it is on, or DEVICE_UNKNOWN */
	char (*gpus)[DEVICE_TEXT];  /* DEVICES_MAX by number: those that are certain, ""; NULL */
	struct process_identity identity; /* while it is late, nothing of it is published */
};

struct gpu_process_table_options {
	struct process_namer namer;
	size_t memory_bytes; /* of all live blocks and sums */
};

struct gpu_process_table;

struct gpu_process_table *gpu_process_table_new(const struct gpu_process_table_options *options)
	__attribute__((returns_nonnull));
void gpu_process_table_free(struct gpu_process_table *table);
DEFINE_FREEP(gpu_process_table)

/* The process of an event, made when it is new; NULL: too many. */
struct gpu_process *gpu_process_table_get(struct gpu_process_table *table,
                                          const struct cuda_event *event);

struct gpu_process *gpu_process_table_find(struct gpu_process_table *table, uint32_t tgid,
                                           uint64_t start_ns);

/*
 * A process that has not called the driver yet, as /proc has its start (process_start.h);
 * NULL: too many. Its first event tells the start that it keeps.
 */
struct gpu_process *gpu_process_table_adopt(struct gpu_process_table *table, uint32_t tgid,
                                            uint64_t start_ns);

/* The one with that id that runs; NULL: there is none. */
struct gpu_process *gpu_process_table_running(const struct gpu_process_table *table, uint32_t tgid);

/* What all live blocks and sums take, for whoever copies them. */
struct budget *gpu_process_table_budget(struct gpu_process_table *table);

/* In the order of their first sight, of those that are there. */
size_t gpu_process_table_count(const struct gpu_process_table *table);
struct gpu_process *gpu_process_table_at(const struct gpu_process_table *table, size_t index);

/* What is published of a device of the process: 1 + its number, 0: not known. */
const char *gpu_process_device(const struct gpu_process *process, uint16_t device);

/* Whether its highest point was not told yet. */
bool gpu_process_has_peak(const struct gpu_process *process);

/* Everything live is implicitly freed; twice is once. */
void gpu_process_end(struct gpu_process *process, int64_t now_mono_ns);

/* The stack table was made anew: its stacks have these numbers now. */
void gpu_process_renumber(struct gpu_process *process, const uint32_t *stack_numbers);

/*
 * It runs another program since then: what lived is freed, and it has another name. What the
 * former program did and nobody was told yet is told under its own name, which is returned;
 * of more than FORMER_PROGRAMS_MAX under the new one's. NULL: there is none of it.
 */
struct gpu_process *gpu_process_table_exec(struct gpu_process_table *table,
                                           struct gpu_process *process, uint64_t time_ns);

/*
 * Asks again for names that are late. What has been waited for longer than
 * IDENTITY_WAIT_NS is from now on as it is; INT64_MAX: nobody is waited for any longer.
 */
void gpu_process_table_settle(struct gpu_process_table *table, int64_t now_mono_ns);

/*
 * Forgets what was published and has ended before that time, at once in a table half full;
 * unless a report waits that names it.
 */
void gpu_process_table_forget(struct gpu_process_table *table, int64_t before_mono_ns);

struct gpu_process_usage {
	size_t running;
	size_t memory_bytes;
	uint64_t refused_events;          /* of processes that found no place */
	uint64_t unnamed;                 /* whose pod was waited for in vain */
	struct account_oddities oddities; /* of all, also of those that were forgotten */
};

void gpu_process_table_usage(const struct gpu_process_table *table, struct gpu_process_usage *out);
