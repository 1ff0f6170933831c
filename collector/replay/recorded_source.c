#include "collector/replay/recorded_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/identity/process_identity.h"
#include "collector/replay/recorded_identity.h"
#include "collector/replay/recorded_process.h"
#include "collector/replay/recording.h"

#define PAUSE_NS      (2 * NS_PER_S) /* between the end and the next begin */
#define PROCESSES_MAX 8192           /* that may live at the end of a recording */

/* An input, copied: the reader's bytes are gone when its answers have been read. */
struct recorded_input {
	struct recording_record record;
	char *bytes;
	size_t capacity;
};

struct recorded_source {
	char *path;       /* or NULL, and */
	struct str bytes; /* what is read instead */
	struct recording_reader *reader;
	struct recorded_processes *processes;
	enum recorded_pace pace;
	int timer; /* -1: at once */

	bool has_next;
	struct recorded_input next;
	struct recorded_input current; /* the answers up to `next` are taken */

	int64_t first_time_ns;   /* of the recording; 0: none yet */
	int64_t begin_mono_ns;   /* of this round */
	uint64_t round;          /* makes processes of each round others */
	struct cuda_event *live; /* one of each process that has not ended */
	size_t live_count;
	size_t live_capacity;
};

/* ---- reading ahead ---- */

static int reopen(struct recorded_source *source, struct error *err)
{
	recording_reader_free(source->reader);
	source->reader = NULL;
	return source->path ? recording_open(source->path, &source->reader, err)
	                    : recording_open_bytes(source->bytes, &source->reader, err);
}

static void keep_next(struct recorded_source *source, const struct recording_record *record)
{
	struct recorded_input *next = &source->next;

	if (record->bytes.length > next->capacity) {
		next->capacity = record->bytes.length;
		next->bytes = mem_resize(next->bytes, next->capacity, 1);
	}
	if (record->bytes.length > 0)
		memcpy(next->bytes, record->bytes.data, record->bytes.length);
	next->record = *record;
	next->record.bytes = str_make(next->bytes, record->bytes.length);
	source->has_next = true;
}

/* Reads up to the next input, and takes the answers that stand before it. */
static int read_next(struct recorded_source *source, struct error *err)
{
	struct recording_record record;
	int more;

	source->has_next = false;
	while ((more = recording_next(source->reader, &record, err)) == 1) {
		if (record.kind == RECORDING_ORIGIN)
			continue; /* begin_round() has read it */
		if (!recorded_processes_answer(record.kind)) {
			keep_next(source, &record);
			return 0;
		}
		if (recorded_processes_take(source->processes, &record, err) < 0)
			return -1;
	}
	return more;
}

/* The next input becomes the current one, with its answers. */
static int advance(struct recorded_source *source, struct error *err)
{
	const struct recorded_input taken = source->next;

	source->next = source->current;
	source->current = taken;
	return read_next(source, err);
}

/* ---- handing on ---- */

static void forget_live(struct recorded_source *source, const struct cuda_event *event)
{
	for (size_t i = 0; i < source->live_count; i++)
		if (source->live[i].tgid == event->tgid &&
		    source->live[i].process_start_ns == event->process_start_ns) {
			source->live[i] = source->live[--source->live_count];
			return; /* it is there once */
		}
}

static void note_live(struct recorded_source *source, const struct cuda_event *event)
{
	forget_live(source, event);
	if (event->kind == CUDA_EVENT_EXIT || source->live_count == PROCESSES_MAX)
		return;
	if (source->live_count == source->live_capacity) {
		source->live_capacity = source->live_capacity ? source->live_capacity * 2 : 16;
		source->live =
			mem_resize(source->live, source->live_capacity, sizeof(*source->live));
	}
	source->live[source->live_count++] = (struct cuda_event){
		.kind = CUDA_EVENT_EXIT,
		.tgid = event->tgid,
		.tid = event->tgid,
		.process_start_ns = event->process_start_ns,
		.time_ns = event->time_ns,
	};
}

static void hand_on_event(struct recorded_source *source, const struct event_handlers *handlers,
                          size_t length)
{
	struct cuda_event *event = (void *)source->current.bytes;

	if (length < sizeof(*event))
		return;
	event->process_start_ns += source->round;
	note_live(source, event);
	handlers->event(handlers->context, event, length);
}

static void hand_on_definition(struct recorded_source *source,
                               const struct event_handlers *handlers, size_t length)
{
	struct code_definition *definition = (void *)source->current.bytes;

	if (length != sizeof(*definition))
		return;
	definition->process_start_ns += source->round;
	handlers->definition(handlers->context, definition);
}

static int hand_on_mapped(const struct recorded_source *source,
                          const struct event_handlers *handlers, struct error *err)
{
	struct mapped_file file;
	struct str rest;

	if (recorded_file_decode(source->current.record.bytes, &file, &rest, err) < 0)
		return -1;

	CLEANUP(mem_freep) char *path = mem_strndup(file.path.data, file.path.length);

	file.path.data = path; /* it ends with NUL */
	handlers->mapped(handlers->context, source->current.record.tgid, &file);
	return 0;
}

static int hand_on(struct recorded_source *source, const struct event_handlers *handlers,
                   struct error *err)
{
	const struct recording_record *record = &source->current.record;

	switch (record->kind) {
	case RECORDING_EVENT:
		hand_on_event(source, handlers, record->bytes.length);
		return 0;
	case RECORDING_DEFINITION:
		hand_on_definition(source, handlers, record->bytes.length);
		return 0;
	case RECORDING_MAPPED:
		return hand_on_mapped(source, handlers, err);
	case RECORDING_EXECED:
		handlers->execed(handlers->context, record->tgid);
		return 0;
	default:
		handlers->exited(handlers->context, record->tgid);
		return 0;
	}
}

/* ---- time ---- */

static void set_timer(const struct recorded_source *source, int64_t mono_ns)
{
	const struct itimerspec at = { .it_value = { .tv_sec = mono_ns / NS_PER_S,
		                                     .tv_nsec = mono_ns % NS_PER_S + 1 } };

	if (source->timer >= 0)
		(void)timerfd_settime(source->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

/* When the next input is due. */
static int64_t due_mono_ns(const struct recorded_source *source)
{
	return source->begin_mono_ns + (source->next.record.time_ns - source->first_time_ns);
}

static int check_origin(struct recorded_source *source, struct error *err)
{
	struct recording_record record;
	struct recording_origin origin;
	const int more = recording_next(source->reader, &record, err);

	if (more < 0)
		return -1;
	if (more == 0 || record.kind != RECORDING_ORIGIN || record.bytes.length != sizeof(origin))
		return error_set(err, ERROR_CORRUPT,
		                 "the recording does not say where it is from: it is cut, or no "
		                 "recording");
	memcpy(&origin, record.bytes.data, sizeof(origin));
	if (origin.event_bytes != sizeof(struct cuda_event) ||
	    origin.stack_event_bytes != sizeof(struct cuda_stack_event) ||
	    origin.definition_bytes != sizeof(struct code_definition) ||
	    origin.identity_bytes != RECORDED_NAMES_BYTES)
		return error_set(err, ERROR_CORRUPT,
		                 "the recording was made by another version: its structures have "
		                 "%u, %u, %u and %u bytes, ours %zu, %zu, %zu and %d",
		                 origin.event_bytes, origin.stack_event_bytes,
		                 origin.definition_bytes, origin.identity_bytes,
		                 sizeof(struct cuda_event), sizeof(struct cuda_stack_event),
		                 sizeof(struct code_definition), RECORDED_NAMES_BYTES);
	return 0;
}

static int begin_round(struct recorded_source *source, int64_t mono_ns, struct error *err)
{
	if (reopen(source, err) < 0 || check_origin(source, err) < 0 || read_next(source, err) < 0)
		return -1;
	if (!source->has_next)
		return error_set(err, ERROR_CORRUPT,
		                 "the recording has no events: it is cut, or nothing happened");
	source->first_time_ns = source->next.record.time_ns;
	source->begin_mono_ns = mono_ns;
	source->round++;
	return 0;
}

/* Whoever still lives in the recording ends with it. */
static void end_round(struct recorded_source *source, const struct event_handlers *handlers)
{
	for (size_t i = 0; i < source->live_count; i++)
		handlers->event(handlers->context, &source->live[i], sizeof(source->live[i]));
	source->live_count = 0;
}

/* ---- the source ---- */

static int end_or_repeat(struct recorded_source *source, const struct event_handlers *handlers,
                         enum event_source_state *out, struct error *err)
{
	*out = EVENT_SOURCE_END;
	if (source->pace == RECORDED_AT_ONCE)
		return 0;
	end_round(source, handlers);
	if (begin_round(source, clock_mono_ns() + PAUSE_NS, err) < 0)
		return -1;
	set_timer(source, due_mono_ns(source));
	*out = EVENT_SOURCE_IDLE;
	return 0;
}

static int drain(void *context, const struct event_handlers *handlers, size_t limit,
                 enum event_source_state *out, struct error *err)
{
	struct recorded_source *source = context;

	for (size_t i = 0; i < limit; i++) {
		if (!source->has_next)
			return end_or_repeat(source, handlers, out, err);
		if (source->pace == RECORDED_PACED && due_mono_ns(source) > clock_mono_ns()) {
			set_timer(source, due_mono_ns(source));
			*out = EVENT_SOURCE_IDLE;
			return 0;
		}
		if (advance(source, err) < 0 || hand_on(source, handlers, err) < 0)
			return -1;
	}
	*out = EVENT_SOURCE_MORE;
	return 0;
}

/* Against the pace at which it is shown. */
static int64_t age_of(void *context, const struct cuda_event *event)
{
	const struct recorded_source *source = context;
	const int64_t behind_ns = (int64_t)event->time_ns - source->first_time_ns;

	return clock_mono_ns() - source->begin_mono_ns - behind_ns;
}

static int open_process(void *context, uint32_t tgid, struct process_view *out, struct error *err)
{
	const struct recorded_source *source = context;

	return recorded_processes_view(source->processes, tgid, out, err);
}

static void identify(void *context, uint32_t tgid, const char *comm, struct process_identity *out)
{
	const struct recorded_source *source = context;

	if (recorded_processes_identity(source->processes, tgid, out))
		return;
	*out = (struct process_identity){ .service_name = { "unknown" } };
	if (!label_text_set(&out->comm, str_of(comm)))
		out->comm = out->service_name;
}

/* What was known late stands behind the input with which it was waited for. */
static bool settle(void *context, uint32_t tgid, struct process_identity *identity)
{
	const struct recorded_source *source = context;
	struct process_identity newer;

	if (!recorded_processes_identity(source->processes, tgid, &newer) || newer.is_late)
		return false;
	*identity = newer;
	return true;
}

static void health(void *context, struct collector_health *out)
{
	(void)context;
	*out = (struct collector_health){ .is_up = true };
}

static void close_source(void *context)
{
	struct recorded_source *source = context;

	recording_reader_free(source->reader);
	recorded_processes_free(source->processes);
	if (source->timer >= 0)
		(void)close(source->timer);
	free(source->current.bytes);
	free(source->next.bytes);
	free(source->live);
	free(source->path);
	free(source);
}

static int open_timer(struct recorded_source *source, struct error *err)
{
	source->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (source->timer < 0)
		return error_set_errno(err, errno, "a timer");
	set_timer(source, clock_mono_ns());
	return 0;
}

static int open_source(const char *path, struct str bytes, enum recorded_pace pace,
                       struct event_source *out, struct error *err)
{
	struct recorded_source *source = mem_zalloc(1, sizeof(*source));

	source->path = path ? mem_strdup(path) : NULL;
	source->bytes = bytes;
	source->pace = pace;
	source->timer = -1;
	source->processes = recorded_processes_new();
	if (begin_round(source, clock_mono_ns(), err) < 0 ||
	    (pace == RECORDED_PACED && open_timer(source, err) < 0)) {
		close_source(source);
		return -1;
	}
	*out = (struct event_source){
		.descriptor = source->timer,
		.drain = drain,
		.open_process = open_process,
		.identify = identify,
		.settle = settle,
		.age = pace == RECORDED_PACED ? age_of : NULL,
		.health = health,
		.close = close_source,
		.context = source,
	};
	return 0;
}

int recorded_source_open(const char *path, enum recorded_pace pace, struct event_source *out,
                         struct error *err)
{
	return open_source(path, (struct str){ NULL, 0 }, pace, out, err);
}

int recorded_source_open_bytes(struct str bytes, enum recorded_pace pace, struct event_source *out,
                               struct error *err)
{
	return open_source(NULL, bytes, pace, out, err);
}
