#include "collector/kernel_source.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/bpf/probe_set.h"
#include "collector/python/python_description.h"
#include "collector/unwind/process_view.h"
#include "collector/watch/library_probes.h"
#include "collector/watch/program_identity.h"
#include "collector/watch/watch.h"

struct kernel_source {
	struct probe_set *probes;
	struct watch *watch;
	struct context_watches *contexts; /* NULL: nobody's are watched */
	struct process_namer namer;
	int epoll;
	const struct event_handlers *handlers; /* while it drains */
	bool has_undescribed;                  /* an interpreter that the kernel does not know */
	struct named_count dropped[PROBE_LOSS_COUNT + 2];
	struct named_count attach_errors[3];
};

/* ---- handing on ---- */

/* Whether the event says that its process sees several devices. */
static bool tells_several(const struct cuda_event *event)
{
	if (event->kind != CUDA_EVENT_DONE || event->function >= CUDA_FUNCTION_COUNT)
		return false;
	switch (cuda_function(event->function)->role) {
	case CUDA_ROLE_DEVICE_COUNT:
		return event->address > 1;
	case CUDA_ROLE_DEVICE_UUID:
	case CUDA_ROLE_CONTEXT:
	case CUDA_ROLE_PRIMARY:
		return event->device > 1;
	default:
		return false;
	}
}

static void follow_contexts(struct context_watches *contexts, const struct cuda_event *event)
{
	const struct process_key key = { .start_ns = event->process_start_ns, .tgid = event->tgid };

	if (event->kind == CUDA_EVENT_EXIT || event->kind == CUDA_EVENT_EXEC)
		context_watches_end(contexts, &key);
	else if (tells_several(event))
		context_watches_begin(contexts, &key);
}

static void hand_on_event(void *context, const struct cuda_event *event, size_t size)
{
	const struct kernel_source *source = context;

	if (source->contexts)
		follow_contexts(source->contexts, event);
	if (source->handlers)
		source->handlers->event(source->handlers->context, event, size);
}

static void hand_on_definition(void *context, const struct code_definition *definition)
{
	const struct kernel_source *source = context;

	if (source->handlers)
		source->handlers->definition(source->handlers->context, definition);
}

static void hand_on_mapped(void *context, uint32_t tgid, const struct mapped_file *file)
{
	const struct kernel_source *source = context;

	if (source->contexts && library_file_is_driver(file->path))
		context_watches_mapped(source->contexts,
		                       &(struct library_mapping){ .tgid = (pid_t)tgid,
		                                                  .start = file->start,
		                                                  .end = file->end,
		                                                  .inode = file->inode,
		                                                  .path = file->path });
	if (source->handlers)
		source->handlers->mapped(source->handlers->context, tgid, file);
}

static void hand_on_execed(void *context, uint32_t tgid, struct str name)
{
	const struct kernel_source *source = context;

	(void)name;
	if (source->handlers)
		source->handlers->execed(source->handlers->context, tgid);
}

static void hand_on_exited(void *context, uint32_t tgid)
{
	const struct kernel_source *source = context;

	if (source->handlers)
		source->handlers->exited(source->handlers->context, tgid);
}

/* A name is fixed at first sight, and a child begins with nothing. */
static void pass_over_name(void *context, uint32_t tgid, struct str name)
{
	(void)context;
	(void)tgid;
	(void)name;
}

static void pass_over_fork(void *context, uint32_t parent, uint32_t child)
{
	(void)context;
	(void)parent;
	(void)child;
}

/*
 * Calls first, then what tasks did: a call was made in the mappings that there were before.
 */
static int drain(void *context, const struct event_handlers *handlers, size_t limit,
                 enum event_source_state *out, struct error *err)
{
	struct kernel_source *source = context;
	bool has_more;

	(void)err;
	source->handlers = handlers;
	has_more = probe_set_drain(source->probes, limit) >= limit;
	has_more |= watch_drain(source->watch, limit);
	*out = has_more ? EVENT_SOURCE_MORE : EVENT_SOURCE_IDLE;
	source->handlers = NULL;
	return 0;
}

static int64_t age_of(void *context, const struct cuda_event *event)
{
	(void)context;
	return clock_boot_ns() - (int64_t)event->time_ns;
}

static enum event_trouble tell_trouble(void *context, struct error *out)
{
	struct kernel_source *source = context;

	if (watch_trouble(source->watch, out)) {
		(void)error_context(out, "a driver library has no probes");
		return EVENT_TROUBLE_OFTEN;
	}
	if (source->contexts && context_watches_trouble(source->contexts, out)) {
		(void)error_context(out,
		                    "on which of its devices a process allocates is not known");
		return EVENT_TROUBLE_OFTEN;
	}
	if (!source->has_undescribed)
		return EVENT_TROUBLE_NONE;
	source->has_undescribed = false;
	(void)error_set(out, ERROR_IO,
	                "the interpreter of a program is not told to the kernel; its stacks have "
	                "no Python frames");
	return EVENT_TROUBLE_OFTEN;
}

/* ---- asking ---- */

struct counters_visit {
	void (*visit)(void *to, const struct process_counters *counters);
	void *to;
};

static void visit_calls(void *context, const struct process_key *key,
                        const struct process_calls *calls)
{
	const struct counters_visit *visit = context;
	struct process_counters counters = {
		.tgid = key->tgid,
		.start_ns = key->start_ns,
		.has_exited = calls->exited != 0,
	};

	/* those that found no place: their events are booked for each all the same */
	if (key->tgid == 0)
		return;
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		const struct cuda_counters *from = &calls->by_class[i];

		counters.by_class[i] = (struct kernel_counters){
			.alloc_bytes = from->alloc_bytes,
			.alloc_calls = from->alloc_calls,
			.free_calls = from->free_calls,
			.failures = from->alloc_failures + from->free_failures,
		};
	}
	visit->visit(visit->to, &counters);
}

static void visit_counters(void *context,
                           void (*visit)(void *to, const struct process_counters *counters),
                           void *to)
{
	const struct kernel_source *source = context;
	struct counters_visit all = { visit, to };

	probe_set_each_process(source->probes, visit_calls, &all);
}

static void forget(void *context, uint32_t tgid, uint64_t start_ns)
{
	const struct kernel_source *source = context;

	probe_set_forget(source->probes,
	                 &(struct process_key){ .start_ns = start_ns, .tgid = tgid });
}

static int open_process(void *context, uint32_t tgid, struct process_view *out, struct error *err)
{
	(void)context;
	return process_view_open((pid_t)tgid, out, err);
}

static void identify(void *context, uint32_t tgid, const char *comm, struct process_identity *out)
{
	const struct kernel_source *source = context;

	source->namer.identify(source->namer.context, tgid, comm, out);
}

static bool settle(void *context, uint32_t tgid, struct process_identity *identity)
{
	const struct kernel_source *source = context;

	return source->namer.settle(source->namer.context, tgid, identity);
}

static int program_of(void *context, uint32_t tgid, struct exec_identity *out, struct error *err)
{
	(void)context;
	return program_identity_read(tgid, out, err);
}

static void describe(void *context, const struct exec_identity *program,
                     const struct python_description *description)
{
	struct kernel_source *source = context;
	const int map = probe_set_map(source->probes, "python_programs");

	if (map >= 0 && bpf_map_update_elem(map, program, description, BPF_ANY) < 0)
		source->has_undescribed = true;
}

static void tell_health(void *context, struct collector_health *out)
{
	struct kernel_source *source = context;
	const struct watch_counts counts = watch_counts(source->watch);
	struct context_watch_counts contexts = { 0 };

	for (int i = 0; i < PROBE_LOSS_COUNT; i++)
		source->dropped[i] =
			(struct named_count){ probe_loss_name((enum probe_loss)i),
			                      probe_set_loss(source->probes, (enum probe_loss)i) };
	source->dropped[PROBE_LOSS_COUNT] =
		(struct named_count){ "task_records", counts.lost_records };
	source->dropped[PROBE_LOSS_COUNT + 1] =
		(struct named_count){ "definitions_full",
		                      probe_set_definitions_lost(source->probes) };
	if (source->contexts)
		contexts = context_watches_counts(source->contexts);
	source->attach_errors[0] =
		(struct named_count){ "refused", counts.libraries.errors + counts.unopened };
	source->attach_errors[1] = (struct named_count){ "contexts", contexts.errors };
	source->attach_errors[2] = (struct named_count){ "contexts_full", contexts.refused };
	*out = (struct collector_health){
		.is_up = true,
		.attached_libraries = counts.libraries.libraries,
		.attached_probes = counts.libraries.functions,
		.dropped = source->dropped,
		.dropped_count = ARRAY_LENGTH(source->dropped),
		.attach_errors = source->attach_errors,
		.attach_error_count = ARRAY_LENGTH(source->attach_errors),
		.context_processes = contexts.processes,
	};
}

static void close_source(void *context)
{
	struct kernel_source *source = context;

	context_watches_free(source->contexts); /* they detach from the probes */
	watch_close(source->watch);
	probe_set_close(source->probes);
	if (source->epoll >= 0)
		(void)close(source->epoll);
	free(source);
}

/* ---- opening ---- */

static int add_descriptor(const struct kernel_source *source, int descriptor, struct error *err)
{
	struct epoll_event interest = { .events = EPOLLIN };

	if (epoll_ctl(source->epoll, EPOLL_CTL_ADD, descriptor, &interest) < 0)
		return error_set_errno(err, errno, "waiting for driver calls");
	return 0;
}

static int open_parts(struct kernel_source *source, const struct kernel_source_options *options,
                      struct error *err)
{
	const struct probe_set_handlers calls = { hand_on_event, hand_on_definition, source };
	const struct watch_handlers tasks = {
		.mapped = hand_on_mapped,
		.execed = hand_on_execed,
		.named = pass_over_name,
		.forked = pass_over_fork,
		.exited = hand_on_exited,
		.context = source,
	};
	struct library_attacher attacher;
	struct context_attacher contexts;

	source->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (source->epoll < 0)
		return error_set_errno(err, errno, "waiting for driver calls");
	if (probe_set_open(&(struct probe_set_options){ .storm_limit = options->storm_limit },
	                   &calls, &source->probes, err) < 0)
		return -1;
	if (options->has_contexts && probe_set_has_processes(source->probes)) {
		contexts = library_context_probes(source->probes);
		source->contexts = context_watches_new(&contexts);
	}
	attacher = library_probes(source->probes);
	if (watch_open(&(struct watch_options){ .libraries = options->libraries }, &attacher,
	               &tasks, &source->watch, err) < 0)
		return -1;
	if (add_descriptor(source, probe_set_descriptor(source->probes), err) < 0)
		return -1;
	return add_descriptor(source, watch_descriptor(source->watch), err);
}

int kernel_source_open(const struct kernel_source_options *options, struct event_source *out,
                       struct error *err)
{
	struct kernel_source *source = mem_zalloc(1, sizeof(*source));

	source->epoll = -1;
	source->namer = options->namer;
	if (open_parts(source, options, err) < 0) {
		close_source(source);
		return -1;
	}
	*out = (struct event_source){
		.descriptor = source->epoll,
		.drain = drain,
		.counters = visit_counters,
		.forget = forget,
		.open_process = open_process,
		.identify = options->namer.identify ? identify : NULL,
		.settle = options->namer.settle ? settle : NULL,
		.program = program_of,
		.describe = describe,
		.age = age_of,
		.trouble = tell_trouble,
		.health = tell_health,
		.close = close_source,
		.context = source,
	};
	return 0;
}
