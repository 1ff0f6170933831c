/*
 * Who is who: the nodes and processes behind the series of GPU memory.
 *
 * Shape    a node is a hostname; a process is node, pid and service (a host lends pids
 *          again, hardly ever to the same service). Where pids are not told, a process is
 *          a service on a node. A scan may show a hundred thousand series: a role is a few
 *          words, and has its place until the next scan begins.
 * Units    nanoseconds.
 * Errors   arena_error().
 * Threads  none.
 * Source   own API specification; collector specification, 3.2 and 6.4
 */
#pragma once

#include "profile/intern.h"
#include "server/query/gpu_question.h"

#define GPU_NOBODY UINT32_MAX

/* Measures whose profiles are the ticks of a node and its processes. */
#define GPU_TICKING (GPU_MEASURE_BIT(GPU_PEAK_BYTES) - 1)

struct gpu_node {
	struct str hostname;
};

struct gpu_process {
	uint32_t node;
	struct label_set labels; /* without those that tell its series apart */
	struct str pid;          /* may be empty */
	bool is_asked;           /* by one of its series at least */
	int64_t first_ns;        /* of its ticks seen so far */
	int64_t last_ns;
};

/* What a series is. */
struct gpu_role {
	enum gpu_measure measure; /* GPU_MEASURE_COUNT: nothing that counts here */
	uint32_t node;
	uint32_t process; /* GPU_NOBODY: a node's, or out of the roster's scope */
	bool is_asked;
	bool is_counted; /* asked for, and its memory lies where it counts */
	bool is_known;
	struct str memory_class;
	struct str gpu;
};

struct gpu_roster {
	const struct gpu_question *question;
	enum gpu_scope scope;
	struct arena *arena;
	uint64_t secret;
	bool names_class;

	struct intern node_ids;
	struct gpu_node *nodes;
	size_t node_capacity;

	struct intern process_ids;
	struct gpu_process *processes;
	size_t process_capacity;

	struct intern text_ids; /* names of classes and of GPUs */
	struct str *texts;
	size_t text_capacity;

	struct gpu_role *roles; /* by series of the scan that runs */
	size_t role_capacity;
};

/*
 * Processes that cannot be asked for are told apart in GPU_WHOLE_NODES only. The question
 * and its arena must outlive the roster.
 */
void gpu_roster_init(struct gpu_roster *roster, const struct gpu_question *question,
                     enum gpu_scope scope);

/* Series have other numbers from now on; nodes and processes stay. */
void gpu_roster_begin_scan(struct gpu_roster *roster);

/*
 * What the series of a point is: never NULL but when it fails. It stays where it is until
 * the next call.
 */
const struct gpu_role *gpu_roster_role(struct gpu_roster *roster, const struct store_point *point,
                                       struct error *err);

/* The process of a series that some scan has seen, or GPU_NOBODY. */
uint32_t gpu_roster_find(const struct gpu_roster *roster, const struct label_set *labels);

/* Processes that are asked for, by their numbers; NULL: the arena is full. */
const uint32_t *gpu_roster_asked(const struct gpu_roster *roster, size_t *out_count);

/* Its pid, or its service where pids are not told. */
struct str gpu_roster_process_name(const struct gpu_roster *roster, uint32_t process);

/*
 * "hostname:pid:first_ms", with the service where there is no pid. {NULL, 0}: arena full.
 */
struct str gpu_roster_process_id(const struct gpu_roster *roster, uint32_t process);

static inline size_t gpu_roster_node_count(const struct gpu_roster *roster)
{
	return roster->node_ids.count;
}

static inline size_t gpu_roster_process_count(const struct gpu_roster *roster)
{
	return roster->process_ids.count;
}

/* It has a tick then. */
static inline void gpu_process_see(struct gpu_process *process, int64_t tick_ns)
{
	if (tick_ns < process->first_ns)
		process->first_ns = tick_ns;
}

/* Whether a series is of GPU_TICKING. */
static inline bool gpu_role_ticks(const struct gpu_role *role)
{
	return role->measure <= GPU_FAILURES;
}
