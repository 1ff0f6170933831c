#include "collector/bpf/probe_set.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "collector/bpf/link_closer.h"
#include "collector/bpf/pid_namespace.h"
#include "cuda_probe.skel.h"

#define VERIFIER_LOG_BYTES  ((size_t)1 << 16)
#define HASH_BESIDE_STORAGE 1024 /* calls, for when task storage has no memory at the moment */
#define STOP_DRAINING       (-ECANCELED)

struct probe_set {
	struct cuda_probe_bpf *programs;
	struct probe_set_handlers handlers;
	enum probe_method method;
	struct ring_buffer *events;
	struct ring_buffer *definitions;
	uint64_t watches;         /* of contexts, since the start */
	size_t left;              /* of this call of probe_set_drain(): events and definitions */
	size_t definition_bytes;  /* of their ring */
	size_t definitions_ahead; /* bytes that may stand in front of the event at hand */
	int waiting;              /* epoll: the ring, and the timer */
	int timer;
	struct link_closer *closer;
};

static const char *const loss_names[PROBE_LOSS_COUNT] = {
#define PROBE_LOSS(id, name, help) [id] = (name),
#include "collector/bpf/probe_loss.def"
#undef PROBE_LOSS
};

const char *probe_loss_name(enum probe_loss loss)
{
	assert(loss < PROBE_LOSS_COUNT);
	return loss_names[loss];
}

static bool has_task_storage(void)
{
	return libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 1 &&
	       libbpf_probe_bpf_helper(BPF_PROG_TYPE_KPROBE, BPF_FUNC_task_storage_get, NULL) == 1;
}

static void configure_storage(struct cuda_probe_bpf *programs, enum call_storage storage)
{
	if (storage == CALL_STORAGE_BEST && has_task_storage()) {
		(void)bpf_map__set_max_entries(programs->maps.thread_calls, HASH_BESIDE_STORAGE);
		return;
	}
	programs->rodata->use_task_storage = 0;
	(void)bpf_map__set_autocreate(programs->maps.task_calls, false);
}

/* Without it a process may make up another's hash: that one's name is then sent by no event. */
static void configure_seed(struct cuda_probe_bpf *programs)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) < 0)
		seed = 0;
	programs->rodata->python_seen_seed = seed;
}

static void configure(struct probe_set *set, const struct probe_set_options *options)
{
	struct cuda_probe_bpf *programs = set->programs;
	const size_t definition_room = options->definition_ring_bytes
	                                       ? options->definition_ring_bytes
	                                       : PROBE_DEFINITION_RING_BYTES;
	const size_t room = options->event_ring_bytes ? options->event_ring_bytes
	                                              : PROBE_EVENT_RING_BYTES;

	(void)bpf_map__set_max_entries(programs->maps.events, (uint32_t)room);
	programs->rodata->stack_region = (struct ring_region){ room / 2, room - room / 16 };
	programs->rodata->event_region = (struct ring_region){ room / 16 * 9, room };
	programs->rodata->share_byte_ns = NS_PER_S / room; /* a share is a ring full a second */
	programs->rodata->wake_bytes = room / 8;
	(void)bpf_map__set_max_entries(programs->maps.definitions, (uint32_t)definition_room);
	set->definition_bytes = definition_room;
	if (options->storm_limit > 0) {
		programs->rodata->storm_interval_ns = NS_PER_S / options->storm_limit;
		programs->rodata->storm_burst_ns = PROBE_STORM_SECONDS * NS_PER_S;
	}
	configure_storage(programs, options->storage);
	configure_seed(programs);
	/* ids are those that /proc and perf have: processes outside are not seen */
	programs->rodata->pid_namespace_inode = pid_namespace_own();
	if (set->method == PROBE_METHOD_MULTI) {
		const enum bpf_attach_type type =
			(enum bpf_attach_type)PROBE_LINK_MULTI_ATTACH_TYPE;

		(void)bpf_program__set_expected_attach_type(programs->progs.cuda_enter, type);
		(void)bpf_program__set_expected_attach_type(programs->progs.cuda_leave, type);
	}
}

/* What the verifier says is in front of the line that counts what it has seen. */
static struct str last_reason(const char *log)
{
	struct str rest = str_of(log);
	struct str reason = STR("no reason given");
	struct str line;

	while (str_split(&rest, '\n', &line)) {
		if (line.length > 0 && !str_starts_with(line, STR("processed ")))
			reason = line;
	}
	return str_first(reason, 200);
}

static int say_why_not_loaded(int number, const char *log, struct error *err)
{
	if (number == EPERM) {
		error_set_errno(err, number, "loading the programs for the driver");
		err->code = ERROR_FORBIDDEN;
		return -1;
	}
	if (log[0] != '\0')
		return error_set(err, ERROR_UNIMPLEMENTED,
		                 "the kernel refuses the programs for the driver: %.*s",
		                 STR_ARGS(last_reason(log)));
	return error_set_errno(err, number, "loading the programs for the driver");
}

static int load(struct probe_set *set, const struct probe_set_options *options, struct error *err)
{
	CLEANUP(mem_freep) char *log = mem_zalloc(VERIFIER_LOG_BYTES, 1);
	LIBBPF_OPTS(bpf_object_open_opts, open_options, .kernel_log_buf = log,
	            .kernel_log_size = VERIFIER_LOG_BYTES);
	int rc;

	libbpf_set_print(NULL); /* what counts is in the errors that we return */
	set->programs = cuda_probe_bpf__open_opts(&open_options);
	if (!set->programs)
		return error_set_errno(err, errno, "opening the programs for the driver");
	configure(set, options);
	rc = cuda_probe_bpf__load(set->programs);
	if (rc < 0)
		return say_why_not_loaded(-rc, log, err);
	return 0;
}

/* The ends of processes; the functions of the driver come with probe_set_attach(). */
static int attach_tracepoints(struct probe_set *set, struct error *err)
{
	struct cuda_probe_bpf *programs = set->programs;

	programs->links.thread_exits = bpf_program__attach(programs->progs.thread_exits);
	if (!programs->links.thread_exits)
		return error_set_errno(err, errno, "attaching to the end of threads");
	programs->links.process_execs = bpf_program__attach(programs->progs.process_execs);
	if (!programs->links.process_execs)
		return error_set_errno(err, errno, "attaching to exec");
	return 0;
}

static int take_definition(void *context, void *data, size_t size)
{
	struct probe_set *set = context;

	if (size >= sizeof(struct code_definition) && set->handlers.definition)
		set->handlers.definition(set->handlers.context, data);
	set->left -= set->left > 1; /* the event that they are read for is handed on */
	if (size >= set->definitions_ahead)
		return STOP_DRAINING;
	set->definitions_ahead -= size;
	return 0;
}

/*
 * All that is there now, and no more than a ring full: those who define faster than that is
 * handed on do not hold up the event.
 */
static void drain_definitions(struct probe_set *set)
{
	set->definitions_ahead = set->definition_bytes;
	(void)ring_buffer__consume(set->definitions);
}

static int take_event(void *context, void *data, size_t size)
{
	struct probe_set *set = context;

	/* All that the event refers to was sent before it was. */
	drain_definitions(set);
	if (size >= sizeof(struct cuda_event))
		set->handlers.event(set->handlers.context, data, size);
	return --set->left == 0 ? STOP_DRAINING : 0;
}

static int open_rings(struct probe_set *set, struct error *err)
{
	const struct cuda_probe_bpf *programs = set->programs;

	set->events = ring_buffer__new(bpf_map__fd(programs->maps.events), take_event, set, NULL);
	if (!set->events)
		return error_set_errno(err, errno, "mapping the ring of events");
	set->definitions = ring_buffer__new(bpf_map__fd(programs->maps.definitions),
	                                    take_definition, set, NULL);
	if (!set->definitions)
		return error_set_errno(err, errno, "mapping the ring of definitions");
	return 0;
}

static int add_descriptor(const struct probe_set *set, int descriptor)
{
	struct epoll_event interest = { .events = EPOLLIN };

	return epoll_ctl(set->waiting, EPOLL_CTL_ADD, descriptor, &interest);
}

/* Events that nobody is woken for are looked for by the clock. */
static int open_waiting(struct probe_set *set, struct error *err)
{
	const struct itimerspec often = {
		.it_interval = { .tv_nsec = PROBE_DRAIN_NS },
		.it_value = { .tv_nsec = PROBE_DRAIN_NS },
	};

	set->waiting = epoll_create1(EPOLL_CLOEXEC);
	set->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (set->waiting < 0 || set->timer < 0 ||
	    timerfd_settime(set->timer, 0, &often, NULL) < 0 ||
	    add_descriptor(set, set->timer) < 0 ||
	    add_descriptor(set, ring_buffer__epoll_fd(set->events)) < 0)
		return error_set_errno(err, errno, "waiting for events");
	return 0;
}

static int add_common_counters(const struct probe_set *set, struct error *err)
{
	static const struct process_key without_place;
	static const struct process_calls nothing;

	if (bpf_map__update_elem(set->programs->maps.processes, &without_place,
	                         sizeof(without_place), &nothing, sizeof(nothing), BPF_ANY) < 0)
		return error_set_errno(err, errno, "making counters");
	return 0;
}

int probe_set_open(const struct probe_set_options *options,
                   const struct probe_set_handlers *handlers, struct probe_set **out,
                   struct error *err)
{
	struct probe_set *set = mem_zalloc(1, sizeof(*set));

	set->waiting = -1;
	set->timer = -1;
	set->closer = link_closer_new();
	set->handlers = *handlers;
	set->method = options->method;
	if (set->method == PROBE_METHOD_BEST)
		set->method = probe_link_has_multi() ? PROBE_METHOD_MULTI : PROBE_METHOD_PERF;
	if (load(set, options, err) < 0 || add_common_counters(set, err) < 0 ||
	    attach_tracepoints(set, err) < 0 || open_rings(set, err) < 0 ||
	    open_waiting(set, err) < 0) {
		probe_set_close(set);
		return -1;
	}
	*out = set;
	return 0;
}

void probe_set_close(struct probe_set *set)
{
	if (!set)
		return;
	link_closer_free(set->closer);
	if (set->timer >= 0)
		(void)close(set->timer);
	if (set->waiting >= 0)
		(void)close(set->waiting);
	ring_buffer__free(set->definitions);
	ring_buffer__free(set->events);
	cuda_probe_bpf__destroy(set->programs);
	free(set);
}

int probe_set_attach(struct probe_set *set, const struct probe_target *target,
                     struct probe_link **out, struct error *err)
{
	if (target->tgid != 0 && probe_set_closing(set) >= PROBE_CLOSING_MAX)
		return error_set(err, ERROR_UNAVAILABLE,
		                 "more than %d links of processes that have ended are being closed",
		                 PROBE_CLOSING_MAX);
	return probe_link_open(target, set->programs->progs.cuda_enter,
	                       set->programs->progs.cuda_leave, set->method, out, err);
}

bool probe_set_has_processes(const struct probe_set *set)
{
	return set->method == PROBE_METHOD_MULTI && probe_link_has_processes();
}

bool probe_set_watch_contexts(struct probe_set *set, const struct process_key *key)
{
	const struct watched_contexts watched = { .watch = ++set->watches };

	return bpf_map__update_elem(set->programs->maps.context_watches, key, sizeof(*key),
	                            &watched, sizeof(watched), BPF_ANY) == 0;
}

void probe_set_unwatch_contexts(struct probe_set *set, const struct process_key *key)
{
	(void)bpf_map__delete_elem(set->programs->maps.context_watches, key, sizeof(*key), 0);
}

void probe_set_detach(struct probe_set *set, struct probe_link *link)
{
	link_closer_take(set->closer, link);
}

size_t probe_set_closing(const struct probe_set *set)
{
	return link_closer_waiting(set->closer);
}

int probe_set_descriptor(const struct probe_set *set)
{
	return set->waiting;
}

size_t probe_set_drain(struct probe_set *set, size_t limit)
{
	uint64_t ticks;

	(void)read(set->timer, &ticks, sizeof(ticks));
	set->left = limit;
	if (limit > 0)
		(void)ring_buffer__consume(set->events);
	return limit - set->left;
}

int probe_set_map(const struct probe_set *set, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(set->programs->obj, name);

	return map ? bpf_map__fd(map) : -1;
}

bool probe_set_calls(const struct probe_set *set, const struct process_key *key,
                     struct process_calls *out)
{
	return bpf_map__lookup_elem(set->programs->maps.processes, key, sizeof(*key), out,
	                            sizeof(*out), 0) == 0;
}

void probe_set_each_process(const struct probe_set *set,
                            void (*visit)(void *context, const struct process_key *key,
                                          const struct process_calls *calls),
                            void *context)
{
	const struct bpf_map *map = set->programs->maps.processes;
	struct process_calls calls;
	struct process_key key;
	const struct process_key *previous = NULL;

	while (bpf_map__get_next_key(map, previous, &key, sizeof(key)) == 0) {
		if (probe_set_calls(set, &key, &calls))
			visit(context, &key, &calls);
		previous = &key;
	}
}

void probe_set_forget(struct probe_set *set, const struct process_key *key)
{
	(void)bpf_map__delete_elem(set->programs->maps.processes, key, sizeof(*key), 0);
}

uint64_t probe_set_loss(const struct probe_set *set, enum probe_loss loss)
{
	const volatile __u64 *losses = set->programs->bss->probe_losses;

	assert(loss < PROBE_LOSS_COUNT);
	return losses[loss];
}

uint64_t probe_set_definitions_lost(const struct probe_set *set)
{
	return *(const volatile __u64 *)&set->programs->bss->python_definitions_lost;
}
