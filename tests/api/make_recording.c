/*
 * make_recording FILE : a recording of calls that standard input lists, for tests that need
 * processes of a cluster without one.
 *
 *	process PID SERVICE COMM [LABEL=VALUE ...]     once, before its calls
 *	alloc   MS PID FUNCTION ADDRESS BYTES
 *	free    MS PID FUNCTION ADDRESS
 *	failed  MS PID FUNCTION BYTES RESULT
 *	exit    MS PID
 *	init    MS PID                                 nothing but that time passes
 *
 * Times ascend. Labels are those of profiles. Calls have no stacks.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collector/cuda_event.h"
#include "collector/cuda_function.h"
#include "collector/replay/recorded_identity.h"
#include "collector/replay/recording.h"

#define PIDS_MAX   100000
#define LINE_BYTES 4096
#define MS_NS      INT64_C(1000000)
#define BOOT_NS    INT64_C(1000000000000) /* when it was, on the recorded machine's clock */

struct making {
	struct recording_writer *writer;
	struct process_identity *identities[PIDS_MAX]; /* of processes without a call so far */
	size_t line;
};

static void __attribute__((noreturn)) refuse(const struct making *making, const char *reason)
{
	(void)fprintf(stderr, "line %zu: %s\n", making->line, reason);
	exit(1);
}

static void append(struct making *making, enum recording_kind kind, uint32_t pid, int64_t time_ns,
                   struct str bytes)
{
	const struct recording_record head = { .kind = kind, .tgid = pid, .time_ns = time_ns };
	struct error err = { 0 };

	if (recording_append(making->writer, &head, &bytes, 1, &err) < 0)
		refuse(making, err.message);
}

static void append_origin(struct making *making)
{
	const struct recording_origin origin = {
		.boot_ns = BOOT_NS,
		.unix_ns = INT64_C(1767225600000000000),
		.event_bytes = sizeof(struct cuda_event),
		.stack_event_bytes = sizeof(struct cuda_stack_event),
		.definition_bytes = sizeof(struct code_definition),
		.identity_bytes = RECORDED_NAMES_BYTES,
	};

	append(making, RECORDING_ORIGIN, 0, BOOT_NS,
	       str_make((const char *)&origin, sizeof(origin)));
}

static enum cuda_function_id function_of(const struct making *making, const char *name)
{
	for (int i = 0; i < CUDA_FUNCTION_COUNT; i++)
		if (strcmp(cuda_function((enum cuda_function_id)i)->name, name) == 0)
			return (enum cuda_function_id)i;
	refuse(making, "no function of that name");
}

/* An input, and behind the first of a process who it is. */
static void append_event(struct making *making, const struct cuda_event *event)
{
	struct process_identity **identity = &making->identities[event->tgid % PIDS_MAX];
	const int64_t time_ns = (int64_t)event->time_ns;
	struct strbuf text;

	append(making, RECORDING_EVENT, event->tgid, time_ns,
	       str_make((const char *)event, sizeof(*event)));
	if (!*identity)
		return;
	strbuf_init(&text, RECORDED_IDENTITY_MAX);
	recorded_identity_encode(*identity, &text);
	append(making, RECORDING_IDENTITY, event->tgid, time_ns, strbuf_view(&text));
	strbuf_fini(&text);
	free(*identity);
	*identity = NULL;
}

static void set_label(const struct making *making, struct process_identity *identity,
                      const char *text)
{
	struct str value = str_of(text);
	struct str name;

	if (!str_split(&value, '=', &name) || !value.data)
		refuse(making, "a label is NAME=VALUE");
	for (int i = 0; i < IDENTITY_LABEL_COUNT; i++) {
		if (!str_equals(name, identity_label_on_profiles((enum identity_label)i)))
			continue;
		if (!label_text_set(&identity->labels[i], value))
			refuse(making, "no such value");
		return;
	}
	refuse(making, "no label of that name");
}

static void add_process(struct making *making, char *text)
{
	struct process_identity *identity = mem_zalloc(1, sizeof(*identity));
	char *rest = NULL;
	const char *word = strtok_r(text, " ", &rest);
	const unsigned long pid = word ? strtoul(word, NULL, 10) : 0;
	const char *service = strtok_r(NULL, " ", &rest);
	const char *comm = strtok_r(NULL, " ", &rest);

	if (pid == 0 || pid >= PIDS_MAX || !service || !comm ||
	    !label_text_set(&identity->service_name, str_of(service)) ||
	    !label_text_set(&identity->comm, str_of(comm)))
		refuse(making, "process PID SERVICE COMM [LABEL=VALUE ...]");
	while ((word = strtok_r(NULL, " ", &rest)))
		set_label(making, identity, word);
	making->identities[pid] = identity;
}

/* Numbers of a call behind its process and function; unused ones are 0. */
struct call_text {
	uint64_t ms;
	uint64_t pid;
	const char *function;
	uint64_t numbers[2];
	size_t words;
};

static struct call_text split_call(const struct making *making, char *text)
{
	struct call_text call = { .function = "cuInit" };
	char *rest = NULL;

	for (const char *word = strtok_r(text, " ", &rest); word;
	     word = strtok_r(NULL, " ", &rest), call.words++) {
		uint64_t *numbers[] = { &call.ms, &call.pid, NULL, &call.numbers[0],
			                &call.numbers[1] };

		if (call.words == 2)
			call.function = word;
		else if (call.words >= ARRAY_LENGTH(numbers) ||
		         !str_to_u64(str_of(word), UINT64_MAX, numbers[call.words]))
			refuse(making, "VERB MS PID [FUNCTION NUMBER ...]");
	}
	if (call.words < 2 || call.pid == 0 || call.pid >= PIDS_MAX)
		refuse(making, "VERB MS PID [FUNCTION NUMBER ...]");
	return call;
}

static void add_call(struct making *making, const char *verb, char *text)
{
	const struct call_text call = split_call(making, text);
	struct cuda_event event = {
		.kind = CUDA_EVENT_INIT,
		.function = (uint16_t)(function_of(making, call.function)),
		.tgid = (uint32_t)call.pid,
		.tid = (uint32_t)call.pid,
		.process_start_ns = 5,
		.time_ns = (uint64_t)BOOT_NS + call.ms * (uint64_t)MS_NS,
	};

	if (strcmp(verb, "alloc") == 0 && call.words == 5) {
		event.kind = CUDA_EVENT_ALLOC;
		event.address = call.numbers[0];
		event.bytes = call.numbers[1];
	} else if (strcmp(verb, "free") == 0 && call.words == 4) {
		event.kind = CUDA_EVENT_FREE;
		event.address = call.numbers[0];
	} else if (strcmp(verb, "failed") == 0 && call.words == 5) {
		event.kind = CUDA_EVENT_FAILED;
		event.bytes = call.numbers[0];
		event.result = (int32_t)call.numbers[1];
	} else if (strcmp(verb, "exit") == 0 && call.words == 2) {
		event.kind = CUDA_EVENT_EXIT;
	} else if (strcmp(verb, "init") != 0 || call.words != 2) {
		refuse(making, "no such call");
	}
	append_event(making, &event);
}

static void add_line(struct making *making, char *line)
{
	char *text = line + strcspn(line, " \n");

	making->line++;
	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0')
		return;
	if (*text != '\0')
		*text++ = '\0';
	if (strcmp(line, "process") == 0)
		add_process(making, text);
	else
		add_call(making, line, text);
}

int main(int argc, char **argv)
{
	struct making *making = mem_zalloc(1, sizeof(*making));
	char line[LINE_BYTES];
	struct error err = { 0 };

	if (argc != 2 || recording_create(argv[1], &making->writer, &err) < 0) {
		(void)fprintf(stderr, "make_recording FILE: %s\n", err.message);
		return 2;
	}
	append_origin(making);
	while (fgets(line, sizeof(line), stdin))
		add_line(making, line);
	if (recording_close(making->writer, &err) < 0)
		refuse(making, err.message);
	for (size_t i = 0; i < PIDS_MAX; i++)
		free(making->identities[i]);
	free(making);
	return 0;
}
