#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/elf/module.h"
#include "collector/identity/process_identity.h"
#include "collector/replay/recorded_source.h"
#include "collector/replay/recording.h"
#include "collector/replay/recording_tap.h"
#include "collector/unwind/process_view.h"

#define TGID        42
#define START_NS    1000
#define STACK_BYTES 100

static char folder[] = "/tmp/test_recorded_source.XXXXXX";
static char path[64];

/* ---- an inner source that has some events, and processes that answer ---- */

static struct cuda_stack_event *alloc_event;
static int is_closed;

static int give_maps(void *context, struct strbuf *out, struct error *err)
{
	(void)context;
	(void)err;
	strbuf_add_text(out, "00400000-00401000 r-xp 00000000 08:01 12 /bin/program\n");
	return 0;
}

/* Ourselves: a file of code that there is in any case. */
static int give_module(void *context, struct module_cache *modules, const struct mapped_file *file,
                       struct module **out, struct error *err)
{
	(void)context;
	(void)file;
	return module_cache_open_vdso(modules, out, err);
}

static size_t give_memory(void *context, uint64_t address, void *to, size_t length)
{
	(void)context;
	memset(to, (int)(address & 0xff), length);
	return address == 0 ? 0 : length;
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

static int inner_open_process(void *context, uint32_t tgid, struct process_view *out,
                              struct error *err)
{
	(void)context;
	if (tgid != TGID)
		return error_set(err, ERROR_NOT_FOUND, "no such process");
	*out = (struct process_view){ give_maps,  give_module, give_memory, give_no_perf_map,
		                      do_nothing, NULL,        NULL };
	return 0;
}

static void inner_identify(void *context, uint32_t tgid, const char *comm,
                           struct process_identity *out)
{
	(void)context;
	(void)tgid;
	*out = (struct process_identity){ .service_name = { "python3" }, .is_late = true };
	assert_true(label_text_set(&out->comm, str_of(comm)));
}

static bool inner_settle(void *context, uint32_t tgid, struct process_identity *identity)
{
	(void)context;
	assert_int_equal(tgid, TGID);
	assert_true(label_text_set(&identity->service_name, STR("trainer")));
	assert_true(label_text_set(&identity->labels[IDENTITY_POD], STR("trainer-0")));
	identity->is_late = false;
	return true;
}

static int inner_drain(void *context, const struct event_handlers *handlers, size_t limit,
                       enum event_source_state *out, struct error *err)
{
	static const struct mapped_file file = { .start = 0x400000,
		                                 .end = 0x401000,
		                                 .inode = 12,
		                                 .path = { "/lib/libcuda.so.1", 17 },
		                                 .build_id = { "abcd", 4 } };
	const struct cuda_event free_event = { .kind = CUDA_EVENT_FREE,
		                               .tgid = TGID,
		                               .process_start_ns = START_NS,
		                               .address = 0x7f00 };
	const struct code_definition definition = {
		.tgid = TGID, .process_start_ns = START_NS, .object = 0x5555, .name = "train"
	};

	(void)context;
	(void)limit;
	(void)err;
	handlers->mapped(handlers->context, TGID, &file);
	handlers->definition(handlers->context, &definition);
	handlers->event(handlers->context, &alloc_event->call, sizeof(*alloc_event) + STACK_BYTES);
	handlers->event(handlers->context, &free_event, sizeof(free_event));
	handlers->execed(handlers->context, TGID);
	handlers->exited(handlers->context, TGID);
	*out = EVENT_SOURCE_END;
	return 0;
}

static void inner_close(void *context)
{
	(void)context;
	is_closed++;
}

static const struct event_source inner = {
	.descriptor = -1,
	.drain = inner_drain,
	.open_process = inner_open_process,
	.identify = inner_identify,
	.settle = inner_settle,
	.close = inner_close,
};

/* ---- what comes out, as text ---- */

struct seen {
	const struct event_source *source;
	struct strbuf text;
	struct process_view view;
	int has_view;
	struct module_cache *modules;
	uint64_t starts[8];
	size_t events;
};

/* Looks into the process, as the collector does at an event. */
static void look(struct seen *seen)
{
	struct process_identity identity;
	struct module *module = NULL;
	struct error err = { 0 };
	uint8_t memory[4] = { 0 };
	struct strbuf maps;

	strbuf_init(&maps, 4096);
	assert_int_equal(seen->source->open_process(seen->source->context, TGID, &seen->view, &err),
	                 0);
	assert_int_equal(seen->view.read_maps(seen->view.context, &maps, &err), 0);
	strbuf_add_str(&seen->text, strbuf_view(&maps));
	assert_int_equal(seen->view.open_module(
				 seen->view.context, seen->modules,
				 &(struct mapped_file){ .inode = 12, .path = STR("/bin/program") },
				 &module, &err),
	                 0);
	strbuf_printf(&seen->text, "module %.*s\n", STR_ARGS(module_build_id(module)));
	module_unref(module);
	assert_int_equal(seen->view.read_memory(seen->view.context, 0x1177, memory, 4), 4);
	strbuf_printf(&seen->text, "memory %02x%02x%02x%02x\n", memory[0], memory[1], memory[2],
	              memory[3]);
	assert_int_equal(seen->view.read_memory(seen->view.context, 0, memory, 4), 0);
	assert_int_equal(seen->view.open_perf_map(seen->view.context), -1);
	seen->source->identify(seen->source->context, TGID, "python3", &identity);
	if (identity.is_late) /* as it was in the machine; a replay knows what came later */
		assert_true(seen->source->settle(seen->source->context, TGID, &identity));
	strbuf_printf(&seen->text, "identity %s %s %s\n", identity.service_name.text,
	              identity.comm.text, identity.labels[IDENTITY_POD].text);
	process_view_close(&seen->view);
	strbuf_fini(&maps);
}

static void take_event(void *context, const struct cuda_event *event, size_t size)
{
	struct seen *seen = context;
	const struct cuda_stack_event *whole = (const struct cuda_stack_event *)event;

	strbuf_printf(&seen->text, "event %u of %u, %zu bytes\n", event->kind, event->tgid, size);
	if (seen->events < 8)
		seen->starts[seen->events] = event->process_start_ns;
	seen->events++;
	if (event->kind != CUDA_EVENT_ALLOC)
		return;
	strbuf_printf(&seen->text, "python %llx, stack %02x..%02x\n",
	              (unsigned long long)whole->stack.python[0].code, whole->bytes[0],
	              whole->bytes[STACK_BYTES - 1]);
	look(seen);
}

static void take_definition(void *context, const struct code_definition *definition)
{
	struct seen *seen = context;

	strbuf_printf(&seen->text, "definition %s\n", (const char *)definition->name);
}

static void take_mapped(void *context, uint32_t tgid, const struct mapped_file *file)
{
	struct seen *seen = context;

	strbuf_printf(&seen->text, "mapped %u %llx %s %.*s\n", tgid,
	              (unsigned long long)file->start, file->path.data, STR_ARGS(file->build_id));
}

static void take_execed(void *context, uint32_t tgid)
{
	struct seen *seen = context;

	strbuf_printf(&seen->text, "execed %u\n", tgid);
}

static void take_exited(void *context, uint32_t tgid)
{
	struct seen *seen = context;

	strbuf_printf(&seen->text, "exited %u\n", tgid);
}

static void seen_init(struct seen *seen, const struct event_source *source)
{
	*seen = (struct seen){ .source = source, .modules = module_cache_new((size_t)1 << 20) };
	strbuf_init(&seen->text, 65536);
}

static void seen_fini(struct seen *seen)
{
	module_cache_free(seen->modules);
	strbuf_fini(&seen->text);
}

static enum event_source_state drain(struct seen *seen)
{
	const struct event_handlers handlers = { take_event,  take_definition, take_mapped,
		                                 take_execed, take_exited,     seen };
	enum event_source_state state = EVENT_SOURCE_MORE;
	struct error err = { 0 };

	assert_int_equal(seen->source->drain(seen->source->context, &handlers, 1000, &state, &err),
	                 0);
	return state;
}

/* Records what the inner source has; *text (to free) is what came through the tap. */
static void record(char **text)
{
	struct event_source tap;
	struct seen seen;
	struct error err;

	is_closed = 0;
	assert_int_equal(recording_tap_open(path, &inner, &tap, &err), 0);
	seen_init(&seen, &tap);
	assert_int_equal(drain(&seen), EVENT_SOURCE_END);
	*text = strbuf_detach(&seen.text, NULL);
	seen_fini(&seen);
	tap.close(tap.context);
	assert_int_equal(is_closed, 1);
}

/* ---- tests ---- */

static void a_recording_replays_what_the_tap_handed_on(void **state)
{
	struct event_source source;
	struct seen seen;
	struct error err;
	char *recorded;

	(void)state;
	record(&recorded);
	assert_non_null(strstr(recorded, "event 1 of 42"));
	assert_non_null(strstr(recorded, "memory 77777777"));
	assert_int_equal(recorded_source_open(path, RECORDED_AT_ONCE, &source, &err), 0);
	seen_init(&seen, &source);
	assert_int_equal(drain(&seen), EVENT_SOURCE_END);
	assert_string_equal(seen.text.data, recorded);
	seen_fini(&seen);
	source.close(source.context);
	free(recorded);
}

/* A file that may not grow: everything is handed on all the same. */
static void a_recording_that_cannot_be_written_says_so_once(void **state)
{
	const struct rlimit small = { .rlim_cur = 64, .rlim_max = RLIM_INFINITY };
	struct event_source tap;
	struct rlimit before;
	struct seen seen;
	struct error err = { 0 };
	size_t handed_on;

	(void)state;
	assert_int_equal(recording_tap_open(path, &inner, &tap, &err), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	(void)signal(SIGXFSZ, SIG_IGN);
	seen_init(&seen, &tap);
	do {
		(void)drain(&seen);
		strbuf_reset(&seen.text);
	} while (tap.trouble(tap.context, &err) == EVENT_TROUBLE_NONE);
	assert_non_null(strstr(err.message, "File too large; the recording ends here"));
	assert_int_equal(tap.trouble(tap.context, &err), EVENT_TROUBLE_NONE);
	handed_on = seen.events;
	(void)drain(&seen);
	assert_true(seen.events > handed_on);
	assert_int_equal(tap.trouble(tap.context, &err), EVENT_TROUBLE_NONE);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	seen_fini(&seen);
	tap.close(tap.context);
}

/* What lies behind the last frame in the ring is of some other event. */
static void python_frames_that_are_not_the_events_are_not_written(void **state)
{
	static const struct python_frame none;
	CLEANUP(recording_reader_freep) struct recording_reader *reader = NULL;
	struct cuda_stack_event *written = NULL;
	struct recording_record record_of;
	struct error err;
	char *recorded;

	(void)state;
	memset(&alloc_event->stack.python[1], 'S', sizeof(alloc_event->stack.python[1]));
	record(&recorded);
	free(recorded);
	assert_int_equal(recording_open(path, &reader, &err), 0);
	while (!written && recording_next(reader, &record_of, &err) == 1)
		if (record_of.kind == RECORDING_EVENT &&
		    record_of.bytes.length == sizeof(*alloc_event) + STACK_BYTES)
			written = (void *)mem_strndup(record_of.bytes.data, /* aligned */
			                              record_of.bytes.length);
	assert_non_null(written);
	assert_memory_equal(&written->stack.python[0], &alloc_event->stack.python[0],
	                    sizeof(struct python_frame));
	assert_memory_equal(&written->stack.python[1], &none, sizeof(none));
	assert_memory_equal(written->bytes, alloc_event->bytes, STACK_BYTES);
	free(written);
}

static void a_process_that_was_not_recorded_is_not_there(void **state)
{
	struct event_source source;
	struct process_view view;
	struct process_identity identity;
	struct error err = { 0 };
	char *recorded;

	(void)state;
	record(&recorded);
	free(recorded);
	assert_int_equal(recorded_source_open(path, RECORDED_AT_ONCE, &source, &err), 0);
	assert_int_equal(source.open_process(source.context, 7, &view, &err), -1);
	assert_int_equal(err.code, ERROR_NOT_FOUND);
	source.identify(source.context, 7, "other", &identity);
	assert_string_equal(identity.comm.text, "other");
	assert_false(source.settle(source.context, 7, &identity));
	source.close(source.context);
}

/* Whoever lives at the end ends there, and the next round has processes of its own. */
static void a_paced_replay_begins_anew_with_other_processes(void **state)
{
	struct event_source source;
	struct seen seen;
	struct error err;
	char *recorded;

	(void)state;
	record(&recorded);
	free(recorded);
	assert_int_equal(recorded_source_open(path, RECORDED_PACED, &source, &err), 0);
	assert_true(source.descriptor >= 0);
	seen_init(&seen, &source);
	while (seen.events < 5)
		assert_int_not_equal(drain(&seen), EVENT_SOURCE_END);
	/* alloc, free, exit, alloc, free */
	assert_int_equal(seen.starts[0], seen.starts[1]);
	assert_int_equal(seen.starts[1], seen.starts[2]);
	assert_int_equal(seen.starts[3], seen.starts[4]);
	assert_int_not_equal(seen.starts[2], seen.starts[3]);
	assert_non_null(strstr(seen.text.data, "event 5 of 42"));
	seen_fini(&seen);
	source.close(source.context);
}

static void what_is_no_recording_does_not_open(void **state)
{
	struct event_source source;
	struct error err;

	(void)state;
	assert_int_equal(
		recorded_source_open_bytes(STR("nothing"), RECORDED_AT_ONCE, &source, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	/* nor one without any event */
	assert_int_equal(recorded_source_open_bytes(STR("vramrec\x01"), RECORDED_AT_ONCE, &source,
	                                            &err),
	                 -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_int_equal(recorded_source_open("/nowhere", RECORDED_AT_ONCE, &source, &err), -1);
	assert_int_equal(err.code, ERROR_IO);
}

static void a_recording_of_another_version_is_refused(void **state)
{
	const struct recording_origin origin = { .event_bytes = sizeof(struct cuda_event),
		                                 .stack_event_bytes = 1 };
	const struct str bytes = str_make(&origin, sizeof(origin));
	struct recording_writer *writer;
	struct event_source source;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(recording_create(path, &writer, &err), 0);
	assert_int_equal(recording_append(writer,
	                                  &(struct recording_record){ .kind = RECORDING_ORIGIN },
	                                  &bytes, 1, &err),
	                 0);
	assert_int_equal(recording_close(writer, &err), 0);
	assert_int_equal(recorded_source_open(path, RECORDED_AT_ONCE, &source, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	assert_non_null(strstr(err.message, "another version"));
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/recording", folder);
	alloc_event = calloc(1, sizeof(*alloc_event) + STACK_BYTES);
	if (!alloc_event)
		return -1;
	alloc_event->call = (struct cuda_event){ .kind = CUDA_EVENT_ALLOC,
		                                 .tgid = TGID,
		                                 .process_start_ns = START_NS,
		                                 .address = 0x7f00,
		                                 .bytes = 4096 };
	alloc_event->stack.length = STACK_BYTES;
	alloc_event->stack.python_count = 1;
	alloc_event->stack.python[0].code = 0x5555;
	for (int i = 0; i < STACK_BYTES; i++)
		alloc_event->bytes[i] = (uint8_t)i;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(alloc_event);
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_replays_what_the_tap_handed_on),
		cmocka_unit_test(a_recording_that_cannot_be_written_says_so_once),
		cmocka_unit_test(python_frames_that_are_not_the_events_are_not_written),
		cmocka_unit_test(a_process_that_was_not_recorded_is_not_there),
		cmocka_unit_test(a_paced_replay_begins_anew_with_other_processes),
		cmocka_unit_test(what_is_no_recording_does_not_open),
		cmocka_unit_test(a_recording_of_another_version_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
