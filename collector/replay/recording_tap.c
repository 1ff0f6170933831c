#include "collector/replay/recording_tap.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/id_map.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "collector/elf/module_skeleton.h"
#include "collector/identity/process_identity.h"
#include "collector/replay/recorded_identity.h"
#include "collector/replay/recording.h"
#include "collector/unwind/process_view.h"

#define PARTS_MAX      4
#define PATH_SHOWN_MAX 256
#define PERF_MAP_BYTES ((size_t)4 << 20) /* of a larger one, its beginning */

struct recording_tap {
	struct event_source inner;
	struct recording_writer *writer;       /* NULL: writing has failed */
	const struct event_handlers *handlers; /* while it drains */
	struct id_map modules;                 /* those that are written */
	struct error trouble;                  /* that nobody has asked for yet */
};

/* What a process answers, on its way. */
struct tapped_process {
	struct recording_tap *tap;
	struct process_view inner;
	uint32_t tgid;
};

/* ---- writing ---- */

static void write_parts(struct recording_tap *tap, enum recording_kind kind, uint32_t tgid,
                        const struct str *parts, size_t count)
{
	const struct recording_record head = { .kind = kind,
		                               .tgid = tgid,
		                               .time_ns = clock_boot_ns() };
	struct error err = { 0 };
	struct error ignored = { 0 };

	if (!tap->writer || recording_append(tap->writer, &head, parts, count, &err) == 0)
		return;
	(void)error_set(&tap->trouble, err.code, "-collector.record: %s; the recording ends here",
	                err.message);
	(void)recording_close(tap->writer, &ignored);
	tap->writer = NULL;
}

static void write_bytes(struct recording_tap *tap, enum recording_kind kind, uint32_t tgid,
                        const void *bytes, size_t length)
{
	const struct str part = str_make(bytes, length);

	write_parts(tap, kind, tgid, &part, 1);
}

static struct recording_file file_of(const struct mapped_file *file)
{
	return (struct recording_file){
		.start = file->start,
		.end = file->end,
		.offset = file->offset,
		.inode = file->inode,
		.path_length = (uint32_t)file->path.length,
		.build_id_length = (uint32_t)file->build_id.length,
	};
}

/* ---- inputs ---- */

/*
 * The kernel side fills as many Python frames as there are; what lies behind them is of
 * some other event.
 */
static void write_stack_event(struct recording_tap *tap, const struct cuda_stack_event *event,
                              size_t size)
{
	static const struct python_frame none[PYTHON_FRAMES_MAX];
	const size_t frames = event->stack.python_count < PYTHON_FRAMES_MAX
	                              ? event->stack.python_count
	                              : PYTHON_FRAMES_MAX;
	const size_t head = offsetof(struct cuda_stack_event, stack.python) +
	                    frames * sizeof(struct python_frame);
	const size_t room = size - sizeof(*event);
	const size_t length = event->stack.length < room ? event->stack.length : room;
	const struct str parts[] = { str_make(event, head), str_make(none, sizeof(*event) - head),
		                     str_make(event->bytes, length) };

	write_parts(tap, RECORDING_EVENT, event->call.tgid, parts, ARRAY_LENGTH(parts));
}

static void take_event(void *context, const struct cuda_event *event, size_t size)
{
	struct recording_tap *tap = context;

	if (size >= sizeof(struct cuda_stack_event))
		write_stack_event(tap, (const struct cuda_stack_event *)event, size);
	else
		write_bytes(tap, RECORDING_EVENT, event->tgid, event, size);
	tap->handlers->event(tap->handlers->context, event, size);
}

static void take_definition(void *context, const struct code_definition *definition)
{
	struct recording_tap *tap = context;

	write_bytes(tap, RECORDING_DEFINITION, definition->tgid, definition, sizeof(*definition));
	tap->handlers->definition(tap->handlers->context, definition);
}

static void take_mapped(void *context, uint32_t tgid, const struct mapped_file *file)
{
	struct recording_tap *tap = context;
	const struct recording_file wire = file_of(file);
	const struct str parts[] = { str_make(&wire, sizeof(wire)), file->path, file->build_id };

	write_parts(tap, RECORDING_MAPPED, tgid, parts, ARRAY_LENGTH(parts));
	tap->handlers->mapped(tap->handlers->context, tgid, file);
}

static void take_execed(void *context, uint32_t tgid)
{
	struct recording_tap *tap = context;

	write_bytes(tap, RECORDING_EXECED, tgid, NULL, 0);
	tap->handlers->execed(tap->handlers->context, tgid);
}

static void take_exited(void *context, uint32_t tgid)
{
	struct recording_tap *tap = context;

	write_bytes(tap, RECORDING_EXITED, tgid, NULL, 0);
	tap->handlers->exited(tap->handlers->context, tgid);
}

static int drain(void *context, const struct event_handlers *handlers, size_t limit,
                 enum event_source_state *out, struct error *err)
{
	struct recording_tap *tap = context;
	const struct event_handlers ours = {
		.event = take_event,
		.definition = take_definition,
		.mapped = take_mapped,
		.execed = take_execed,
		.exited = take_exited,
		.context = tap,
	};
	int status;

	tap->handlers = handlers;
	status = tap->inner.drain(tap->inner.context, &ours, limit, out, err);
	tap->handlers = NULL;
	return status;
}

/* ---- answers ---- */

static int read_maps(void *context, struct strbuf *out, struct error *err)
{
	const struct tapped_process *process = context;
	const size_t before = out->length;

	if (process->inner.read_maps(process->inner.context, out, err) < 0)
		return -1;
	write_bytes(process->tap, RECORDING_MAPS, process->tgid, out->data + before,
	            out->length - before);
	return 0;
}

/* Once a file, whoever maps it. */
static void write_module(struct recording_tap *tap, uint32_t tgid, const struct mapped_file *file,
                         const struct module *module)
{
	const struct recording_file wire = file_of(file);
	CLEANUP(strbuf_fini) struct strbuf skeleton;
	struct error err = { 0 };
	bool is_new;

	strbuf_init(&skeleton, RECORDING_BLOCK_MAX / 2);
	(void)id_map_add(&tap->modules, hash128_str(file->inode, file->path), &is_new);
	if (!is_new)
		return;
	if (module_skeleton_write(module, &skeleton, &err) < 0 || strbuf_overflowed(&skeleton)) {
		(void)error_set(&tap->trouble, ERROR_TOO_LARGE,
		                "-collector.record: %.*s is left out: %s",
		                STR_ARGS(str_first(file->path, PATH_SHOWN_MAX)),
		                err.code ? err.message : "too large");
		return;
	}

	const struct str parts[PARTS_MAX] = { str_make(&wire, sizeof(wire)), file->path,
		                              file->build_id, strbuf_view(&skeleton) };

	write_parts(tap, RECORDING_MODULE, tgid, parts, PARTS_MAX);
}

static int open_module(void *context, struct module_cache *modules, const struct mapped_file *file,
                       struct module **out, struct error *err)
{
	const struct tapped_process *process = context;
	const struct process_view *inner = &process->inner;

	if (inner->open_module(inner->context, modules, file, out, err) < 0)
		return -1;
	write_module(process->tap, process->tgid, file, *out);
	return 0;
}

static size_t read_memory(void *context, uint64_t address, void *to, size_t length)
{
	const struct tapped_process *process = context;
	const size_t got = process->inner.read_memory(process->inner.context, address, to, length);
	const struct str parts[] = { str_make(&address, sizeof(address)), str_make(to, got) };

	if (got > 0)
		write_parts(process->tap, RECORDING_MEMORY, process->tgid, parts,
		            ARRAY_LENGTH(parts));
	return got;
}

static int open_perf_map(void *context)
{
	const struct tapped_process *process = context;
	const int descriptor = process->inner.open_perf_map(process->inner.context);
	CLEANUP(mem_freep) char *bytes = NULL;
	ssize_t got;

	if (descriptor < 0)
		return -1;
	bytes = mem_zalloc(PERF_MAP_BYTES, 1);
	got = pread(descriptor, bytes, PERF_MAP_BYTES, 0);
	if (got > 0)
		write_bytes(process->tap, RECORDING_PERF_MAP, process->tgid, bytes, (size_t)got);
	return descriptor;
}

static bool is_gone(void *context)
{
	const struct tapped_process *process = context;

	return process->inner.is_gone && process->inner.is_gone(process->inner.context);
}

static void close_process(void *context)
{
	struct tapped_process *process = context;

	process_view_close(&process->inner);
	free(process);
}

static int open_process(void *context, uint32_t tgid, struct process_view *out, struct error *err)
{
	struct recording_tap *tap = context;
	struct process_view inner;
	struct tapped_process *process;

	if (tap->inner.open_process(tap->inner.context, tgid, &inner, err) < 0)
		return -1;
	process = mem_zalloc(1, sizeof(*process));
	*process = (struct tapped_process){ .tap = tap, .inner = inner, .tgid = tgid };
	*out = (struct process_view){
		.read_maps = read_maps,
		.open_module = open_module,
		.read_memory = read_memory,
		.open_perf_map = open_perf_map,
		.close = close_process,
		.context = process,
		.is_gone = is_gone,
	};
	return 0;
}

static void write_identity(struct recording_tap *tap, uint32_t tgid,
                           const struct process_identity *identity)
{
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, RECORDED_IDENTITY_MAX);
	recorded_identity_encode(identity, &text);
	write_bytes(tap, RECORDING_IDENTITY, tgid, text.data, text.length);
}

static void identify(void *context, uint32_t tgid, const char *comm, struct process_identity *out)
{
	struct recording_tap *tap = context;

	if (tap->inner.identify) {
		tap->inner.identify(tap->inner.context, tgid, comm, out);
	} else {
		const struct process_namer namer = process_namer_of_proc("/proc");

		namer.identify(namer.context, tgid, comm, out);
	}
	write_identity(tap, tgid, out);
}

static bool settle(void *context, uint32_t tgid, struct process_identity *identity)
{
	struct recording_tap *tap = context;

	if (!tap->inner.settle(tap->inner.context, tgid, identity))
		return false;
	write_identity(tap, tgid, identity);
	return true;
}

/* ---- what only passes ---- */

static void counters(void *context, void (*visit)(void *to, const struct process_counters *),
                     void *to)
{
	const struct recording_tap *tap = context;

	tap->inner.counters(tap->inner.context, visit, to);
}

static void forget(void *context, uint32_t tgid, uint64_t start_ns)
{
	const struct recording_tap *tap = context;

	tap->inner.forget(tap->inner.context, tgid, start_ns);
}

static int program_of(void *context, uint32_t tgid, struct exec_identity *out, struct error *err)
{
	const struct recording_tap *tap = context;

	return tap->inner.program(tap->inner.context, tgid, out, err);
}

static void describe(void *context, const struct exec_identity *program,
                     const struct python_description *description)
{
	const struct recording_tap *tap = context;

	tap->inner.describe(tap->inner.context, program, description);
}

static int64_t age(void *context, const struct cuda_event *event)
{
	const struct recording_tap *tap = context;

	return tap->inner.age(tap->inner.context, event);
}

static enum event_trouble trouble(void *context, struct error *out)
{
	struct recording_tap *tap = context;

	if (tap->trouble.code == ERROR_NONE)
		return tap->inner.trouble ? tap->inner.trouble(tap->inner.context, out)
		                          : EVENT_TROUBLE_NONE;
	*out = tap->trouble;
	tap->trouble = (struct error){ 0 };
	return EVENT_TROUBLE_ONCE;
}

static void health(void *context, struct collector_health *out)
{
	const struct recording_tap *tap = context;

	tap->inner.health(tap->inner.context, out);
}

/* ---- life ---- */

static void close_tap(void *context)
{
	struct recording_tap *tap = context;
	struct error err = { 0 };

	tap->inner.close(tap->inner.context);
	if (recording_close(tap->writer, &err) < 0)
		log_error("-collector.record: %s", err.message);
	id_map_fini(&tap->modules);
	free(tap);
}

static void write_origin(struct recording_tap *tap)
{
	const struct recording_origin origin = {
		.boot_ns = clock_boot_ns(),
		.unix_ns = clock_unix_ns(),
		.event_bytes = sizeof(struct cuda_event),
		.stack_event_bytes = sizeof(struct cuda_stack_event),
		.definition_bytes = sizeof(struct code_definition),
		.identity_bytes = RECORDED_NAMES_BYTES,
	};

	write_bytes(tap, RECORDING_ORIGIN, 0, &origin, sizeof(origin));
}

int recording_tap_open(const char *path, const struct event_source *inner, struct event_source *out,
                       struct error *err)
{
	struct recording_writer *writer;
	struct recording_tap *tap;

	if (recording_create(path, &writer, err) < 0) {
		inner->close(inner->context);
		return -1;
	}
	tap = mem_zalloc(1, sizeof(*tap));
	tap->inner = *inner;
	tap->writer = writer;
	write_origin(tap);
	*out = (struct event_source){
		.descriptor = inner->descriptor,
		.drain = drain,
		.counters = inner->counters ? counters : NULL,
		.forget = inner->forget ? forget : NULL,
		.open_process = inner->open_process ? open_process : NULL,
		.identify = identify,
		.settle = inner->settle ? settle : NULL,
		.program = inner->program ? program_of : NULL,
		.describe = inner->describe ? describe : NULL,
		.age = inner->age ? age : NULL,
		.trouble = trouble,
		.health = inner->health ? health : NULL,
		.close = close_tap,
		.context = tap,
	};
	return 0;
}
