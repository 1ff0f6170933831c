/*
 * The whole collector on events that say anything at all: each record is of the right size for
 * its kind, and its fields lie.
 *
 * The bytes are records: a kind, a length of two bytes, and that much of what the kind is
 * made of; the rest of it is zero. Of a record with a stack the length counts for the event,
 * and what comes then for the stack: a byte says how many Python frames there are at most.
 * The maps, the memory and the counters of all processes are the last that were told.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/collector.h"
#include "collector/identity/process_identity.h"
#include "collector/unwind/process_view.h"
#include "profile/profile.h"

#define PATH_MAX_BYTES 256
#define TEXT_BYTES     4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum record {
	RECORD_EVENT,
	RECORD_STACK,
	RECORD_DEFINITION,
	RECORD_MAPPED,
	RECORD_EXECED,
	RECORD_EXITED,
	RECORD_MAPS,
	RECORD_MEMORY,
	RECORD_COUNTERS,
	RECORD_COUNT,
};

struct scene {
	struct str rest; /* of the bytes */
	struct str maps;
	struct str memory;
	struct process_counters counters;
	struct code_definition definition;
	uint64_t stack[(sizeof(struct cuda_stack_event) + STACK_BYTES_MAX) / sizeof(uint64_t)];
};

static void copy(void *to, size_t room, struct str from)
{
	memset(to, 0, room);
	if (from.length > 0)
		memcpy(to, from.data, from.length < room ? from.length : room);
}

/* ---- processes ---- */

static int give_maps(void *context, struct strbuf *out, struct error *err)
{
	const struct scene *scene = context;

	(void)err;
	strbuf_add_str(out, scene->maps);
	return 0;
}

/* The one file of code that there is in any case. */
static int give_module(void *context, struct module_cache *modules, const struct mapped_file *file,
                       struct module **out, struct error *err)
{
	(void)context;
	if (str_find(file->path, STR("code")) < 0)
		return error_set(err, ERROR_NOT_FOUND, "no such file");
	return module_cache_open_vdso(modules, out, err);
}

static size_t give_memory(void *context, uint64_t address, void *to, size_t length)
{
	const struct scene *scene = context;
	const size_t at = address & 0xfff;
	const struct str from = str_skip(scene->memory, at);

	if (length > from.length)
		length = from.length;
	if (length > 0)
		memcpy(to, from.data, length);
	return length;
}

static int give_no_perf_map(void *context)
{
	(void)context;
	return -1;
}

static void do_nothing(void *context)
{
	(void)context;
}

static bool say_gone(void *context)
{
	const struct scene *scene = context;

	return scene->memory.length == 0;
}

static int open_process(void *context, uint32_t tgid, struct process_view *out, struct error *err)
{
	if (tgid % 8 == 7)
		return error_set(err, ERROR_NOT_FOUND, "it has ended");
	*out = (struct process_view){ give_maps,  give_module, give_memory, give_no_perf_map,
		                      do_nothing, context,     say_gone };
	return 0;
}

static void identify(void *context, uint32_t tgid, const char *comm, struct process_identity *out)
{
	(void)context;
	(void)tgid;
	*out = (struct process_identity){ .service_name = { "service" } };
	(void)label_text_set(&out->comm, str_of(comm));
}

static bool settle(void *context, uint32_t tgid, struct process_identity *identity)
{
	(void)context;
	(void)tgid;
	(void)identity;
	return true;
}

/* ---- events ---- */

static void take_stack(struct scene *scene, struct str record,
                       const struct event_handlers *handlers)
{
	struct cuda_stack_event *event = (struct cuda_stack_event *)scene->stack;
	const size_t frames = record.length > 0 ? (uint8_t)record.data[0] : 0;
	const struct str rest = str_skip(record, 1);
	const struct str stack = str_skip(rest, sizeof(event->call));
	struct str behind;

	copy(&event->call, sizeof(event->call), rest);
	copy(&event->stack, sizeof(event->stack),
	     str_first(stack, offsetof(struct captured_stack, python)));
	behind = str_skip(stack, offsetof(struct captured_stack, python));
	copy(event->stack.python, sizeof(event->stack.python),
	     str_first(behind, frames * sizeof(struct python_frame)));
	behind = str_skip(behind, frames * sizeof(struct python_frame));
	copy(event->bytes, STACK_BYTES_MAX, behind);
	handlers->event(handlers->context, &event->call,
	                sizeof(*event) +
	                        (event->call.kind == CUDA_EVENT_INIT ? 0 : STACK_BYTES_MIN));
}

static void take_mapped(struct str record, const struct event_handlers *handlers)
{
	struct mapped_file file;
	char path[PATH_MAX_BYTES + 1] = "";
	uint64_t numbers[5];

	copy(numbers, sizeof(numbers), record);
	copy(path, PATH_MAX_BYTES, str_skip(record, sizeof(numbers)));
	file = (struct mapped_file){ .start = numbers[0],
		                     .end = numbers[1],
		                     .offset = numbers[2],
		                     .inode = numbers[3],
		                     .path = str_of(path) };
	handlers->mapped(handlers->context, (uint32_t)numbers[4], &file);
}

static uint32_t number_of(struct str record)
{
	uint32_t number;

	copy(&number, sizeof(number), record);
	return number;
}

static void take(struct scene *scene, enum record kind, struct str record,
                 const struct event_handlers *handlers)
{
	struct cuda_event event;

	switch (kind) {
	case RECORD_EVENT:
		copy(&event, sizeof(event), record);
		handlers->event(handlers->context, &event, sizeof(event));
		break;
	case RECORD_STACK:
		take_stack(scene, record, handlers);
		break;
	case RECORD_DEFINITION:
		copy(&scene->definition, sizeof(scene->definition), record);
		handlers->definition(handlers->context, &scene->definition);
		break;
	case RECORD_MAPPED:
		take_mapped(record, handlers);
		break;
	case RECORD_EXECED:
		handlers->execed(handlers->context, number_of(record));
		break;
	case RECORD_EXITED:
		handlers->exited(handlers->context, number_of(record));
		break;
	case RECORD_MAPS:
		scene->maps = record;
		break;
	case RECORD_MEMORY:
		scene->memory = record;
		break;
	default:
		copy(&scene->counters, sizeof(scene->counters), record);
		scene->counters.has_exited = scene->counters.tgid % 2;
		break;
	}
}

static int drain(void *context, const struct event_handlers *handlers, size_t limit,
                 enum event_source_state *out, struct error *err)
{
	struct scene *scene = context;

	(void)err;
	for (size_t i = 0; i < limit && scene->rest.length >= 3; i++) {
		const uint8_t *head = (const uint8_t *)scene->rest.data;
		const enum record kind = (enum record)(head[0] % RECORD_COUNT);
		const size_t length = head[1] | (size_t)head[2] << 8;
		const struct str record = str_first(str_skip(scene->rest, 3), length);

		scene->rest = str_skip(scene->rest, 3 + record.length);
		take(scene, kind, record, handlers);
	}
	*out = scene->rest.length >= 3 ? EVENT_SOURCE_MORE : EVENT_SOURCE_END;
	return 0;
}

static void give_counters(void *context,
                          void (*visit)(void *to, const struct process_counters *counters),
                          void *to)
{
	const struct scene *scene = context;

	visit(to, &scene->counters);
}

/* ---- what comes out ---- */

static void check_profiles(void *context, const struct sink_profile *profiles, size_t count)
{
	(void)context;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0;
		     j < profiles[i].profile->sample_count * profiles[i].profile->sample_type_count;
		     j++)
			assert(profiles[i].profile->values[j] >= 0);
}

static void check_metrics(void *context, struct str text)
{
	(void)context;
	assert(text.length > 0 && text.data[text.length - 1] == '\n');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct scene *scene = mem_zalloc(1, sizeof(*scene));
	struct collector *collector = NULL;
	struct error err = { 0 };

	scene->rest = str_make(data, size);
	if (collector_open(
		    &(struct collector_options){
			    .interval_ns = 3600 * NS_PER_S,
			    .service_suffix = "-gpu",
			    .cluster = "default",
			    .hostname = "box",
			    .has_pid_label = true,
			    .symbol_cache_bytes = 1 << 20,
			    .stack_bytes = 1 << 20,
			    .block_bytes = 1 << 20,
			    .source = { .descriptor = -1,
	                                .drain = drain,
	                                .counters = give_counters,
	                                .open_process = open_process,
	                                .identify = identify,
	                                .settle = settle,
	                                .context = scene },
			    .sink = { check_profiles, NULL },
			    .metrics = check_metrics,
		    },
		    &collector, &err) < 0)
		abort();
	if (collector_run(collector, &err) < 0)
		abort();
	collector_close(collector);
	free(scene);
	return 0;
}
