#include "tests/collector/workload_run.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/mem.h"

#define OUTPUT_MAX    ((size_t)8 << 20)
#define ARGUMENTS_MAX 8
#define TEXT_BYTES    256

/* What makes a process out of a fork; the pointers lead into `texts`. */
struct start {
	char *arguments[ARGUMENTS_MAX];
	char *environment[2];
	char texts[ARGUMENTS_MAX][TEXT_BYTES];
	size_t count;
	void (*prepare)(void);
};

static char *add_text(struct start *start, const char *text)
{
	char *to = start->texts[start->count++];

	assert_true(start->count < ARGUMENTS_MAX && strlen(text) < TEXT_BYTES);
	(void)snprintf(to, TEXT_BYTES, "%s", text);
	return to;
}

static void run_child(const struct start *start, int input, int output)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
	if (start->prepare)
		start->prepare();
	(void)dup2(input, STDIN_FILENO);
	(void)dup2(output, STDOUT_FILENO);
	(void)execve(start->arguments[0], start->arguments, start->environment);
	_exit(127);
}

static struct workload run(const struct start *start)
{
	struct workload workload = { .output = memfd_create("workload", MFD_CLOEXEC) };
	int words[2];

	assert_true(workload.output >= 0);
	assert_int_equal(pipe2(words, O_CLOEXEC), 0);
	workload.pid = fork();
	assert_true(workload.pid >= 0);
	if (workload.pid == 0)
		run_child(start, words[0], workload.output);
	(void)close(words[0]);
	workload.input = words[1];
	return workload;
}

static void init_start(struct start *start, const char *driver, const char *name,
                       const uint64_t *numbers)
{
	*start = (struct start){ .count = 0 };
	start->arguments[0] = add_text(start, WORKLOAD_PROGRAM);
	start->arguments[1] = add_text(start, driver);
	start->arguments[2] = add_text(start, name);
	for (size_t i = 0; numbers && numbers[i] != 0; i++) {
		char number[24];

		(void)snprintf(number, sizeof(number), "%llu", (unsigned long long)numbers[i]);
		start->arguments[3 + i] = add_text(start, number);
	}
}

struct workload workload_start(const char *driver, const char *name, const uint64_t *numbers,
                               const char *setting)
{
	struct start start;

	init_start(&start, driver, name, numbers);
	if (setting)
		start.environment[0] = add_text(&start, setting);
	return run(&start);
}

struct workload workload_start_prepared(const char *driver, const char *name,
                                        const uint64_t *numbers, void (*prepare)(void))
{
	struct start start;

	init_start(&start, driver, name, numbers);
	start.prepare = prepare;
	return run(&start);
}

bool workload_has_ended(struct workload *workload)
{
	if (!workload->has_ended)
		workload->has_ended = waitpid(workload->pid, &workload->status, WNOHANG) ==
		                      workload->pid;
	return workload->has_ended;
}

void workload_go_on(const struct workload *workload)
{
	workload_say(workload, '\n');
}

void workload_say(const struct workload *workload, char word)
{
	assert_int_equal(write(workload->input, &word, 1), 1);
}

void workload_fini(struct workload *workload)
{
	if (!workload->has_ended) {
		(void)kill(workload->pid, SIGKILL);
		(void)waitpid(workload->pid, &workload->status, 0);
	}
	(void)close(workload->input);
	(void)close(workload->output);
}

/* All its output so far. */
static char *output_of(const struct workload *workload, size_t *out_length)
{
	char *text = mem_zalloc(OUTPUT_MAX, 1);
	const ssize_t length = pread(workload->output, text, OUTPUT_MAX, 0);

	assert_true(length >= 0 && (size_t)length < OUTPUT_MAX);
	*out_length = (size_t)length;
	return text;
}

/* Calls visit(context, object) for each line of the output. */
static void each_line(const struct workload *workload,
                      void (*visit)(void *context, const struct json *object), void *context)
{
	struct arena *arena = arena_new((size_t)64 << 20, NULL);
	size_t length;
	char *text = output_of(workload, &length);
	struct str rest = str_make(text, length);
	struct str line;

	while (str_split(&rest, '\n', &line)) {
		const struct json *object;
		struct error err = { 0 };

		if (line.length == 0)
			continue;
		if (json_parse(line, arena, &object, &err) < 0)
			fail_msg("%.*s: %s", STR_ARGS(line), err.message);
		visit(context, object);
	}
	arena_free(arena);
	free(text);
}

static void count_ready(void *context, const struct json *object)
{
	*(size_t *)context += json_get(object, "ready") != NULL;
}

bool workload_is_ready(const struct workload *workload, size_t count)
{
	size_t seen = 0;

	each_line(workload, count_ready, &seen);
	return seen >= count;
}

struct call_list {
	struct said_call *calls;
	size_t count;
};

static void add_call(void *context, const struct json *object)
{
	struct call_list *list = context;
	const struct str kind = json_text(json_get(object, "call"));
	struct said_call *call = &list->calls[list->count];

	if (kind.length == 0)
		return;
	assert_true(list->count < SAID_CALLS_MAX && kind.length < sizeof(call->kind));
	*call = (struct said_call){
		.address = (uint64_t)json_int(json_get(object, "address")),
		.bytes = (uint64_t)json_int(json_get(object, "bytes")),
		.result = (int)json_int(json_get(object, "result")),
	};
	memcpy(call->kind, kind.data, kind.length);
	list->count++;
}

size_t workload_calls(const struct workload *workload, struct said_call *out)
{
	struct call_list list = { .calls = out };

	each_line(workload, add_call, &list);
	return list.count;
}

static void take_sums(void *context, const struct json *object)
{
	struct said_sums *sums = context;

	if (!json_get(object, "pid") || json_int(json_get(object, "pid")) != sums->pid)
		return;
	sums->alloc_calls = (uint64_t)json_int(json_get(object, "alloc_calls"));
	sums->alloc_bytes = (uint64_t)json_int(json_get(object, "alloc_bytes"));
	sums->alloc_failures = (uint64_t)json_int(json_get(object, "alloc_failures"));
	sums->free_calls = (uint64_t)json_int(json_get(object, "free_calls"));
	sums->free_failures = (uint64_t)json_int(json_get(object, "free_failures"));
}

struct said_sums workload_sums(const struct workload *workload, pid_t pid)
{
	struct said_sums sums = { .pid = pid };

	each_line(workload, take_sums, &sums);
	return sums;
}

struct number_search {
	const char *name;
	size_t left;
	uint64_t found;
	bool has_found;
};

static void find_number(void *context, const struct json *object)
{
	struct number_search *search = context;
	const struct json *value = json_get(object, search->name);

	if (!value || search->has_found || search->left-- > 0)
		return;
	search->has_found = true;
	search->found = (uint64_t)json_int(value);
}

uint64_t workload_number(const struct workload *workload, const char *name, size_t n)
{
	struct number_search search = { .name = name, .left = n };

	each_line(workload, find_number, &search);
	assert_true(search.has_found);
	return search.found;
}
