/*
 * workload DRIVER CASE [NUMBER...] : calls the driver at that path in one certain way, and
 * prints what it did, a JSON object a line; the last one is the sum.
 *
 * The cases are at the end. Who watches finds each call again in the same order.
 */
#include <alloca.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/collector/workload_contexts.h"
#include "tests/collector/workload_driver.h"

#define THREADS_MAX 256
#define NOINLINE    __attribute__((noinline))

struct arguments {
	const char *program;
	const char *path;
	uint64_t numbers[4];
};

static struct workload_driver driver;
static struct call_sums sums; /* of the main thread; threads add theirs when they end */
static jmp_buf out_of_call;

static NOINLINE uint64_t take(uint64_t bytes)
{
	uint64_t address = 0;
	const int result = driver.alloc(&address, bytes);

	count_alloc(&sums, bytes, result);
	say_call(result ? "failed" : "alloc", result ? 0 : address, bytes, result);
	return result ? 0 : address;
}

static NOINLINE void give_back(uint64_t address)
{
	const int result = driver.free(address);

	count_free(&sums, result);
	say_call(result ? "undone" : "free", address, 0, result);
}

/* N blocks of 1000, 2000, ... bytes; the even ones are given back. */
static void run_pairs(const struct arguments *arguments)
{
	for (uint64_t i = 1; i <= arguments->numbers[0]; i++) {
		const uint64_t address = take(i * 1000);

		if (i % 2 == 0 && address)
			give_back(address);
	}
}

/* N blocks of M bytes, given back at once, without a word. */
static void run_storm(const struct arguments *arguments)
{
	for (uint64_t i = 0; i < arguments->numbers[0]; i++) {
		uint64_t address = 0;
		const int result = driver.alloc(&address, arguments->numbers[1]);

		count_alloc(&sums, arguments->numbers[1], result);
		if (result == STUB_SUCCESS)
			count_free(&sums, driver.free(address));
	}
}

/* Two frees that the driver refuses. */
static void run_bad_free(const struct arguments *arguments)
{
	const uint64_t address = take(4096);

	(void)arguments;
	give_back(address);
	give_back(address);
	give_back(12345);
}

/* Classes, and functions that the driver implements by others. */
static void run_classes(const struct arguments *arguments)
{
	uint64_t address = 0;
	void *pointer = NULL;
	int result;

	(void)arguments;
	result = driver.alloc_async(&address, 700, NULL);
	count_alloc(&sums, 700, result);
	say_call("alloc", address, 700, result);
	result = driver.free_async(address, NULL);
	count_free(&sums, result);
	say_call("free", address, 0, result);
	result = driver.alloc_managed(&address, 800, 1);
	count_alloc(&sums, 800, result);
	say_call("alloc", address, 800, result);
	give_back(address);
	result = driver.host_alloc(&pointer, 900, 0);
	count_alloc(&sums, 900, result);
	say_call("alloc", (uint64_t)(uintptr_t)pointer, 900, result);
	result = driver.free_host(pointer);
	count_free(&sums, result);
	say_call("free", (uint64_t)(uintptr_t)pointer, 0, result);
}

/* N rounds of functions that begin with another instruction each. */
static void run_beginnings(const struct arguments *arguments)
{
	for (uint64_t i = 0; i < arguments->numbers[0]; i++) {
		uint64_t address = 0;
		void *pointer = NULL;
		int result = driver.alloc_host(&pointer, 300 + i);

		count_alloc(&sums, 300 + i, result);
		say_call("alloc", (uint64_t)(uintptr_t)pointer, 300 + i, result);
		result = driver.alloc_from_pool(&address, 400 + i, NULL, NULL);
		count_alloc(&sums, 400 + i, result);
		say_call("alloc", address, 400 + i, result);
		result = driver.free_host(pointer);
		count_free(&sums, result);
		say_call("free", (uint64_t)(uintptr_t)pointer, 0, result);
	}
}

static void leave_by_longjmp(const char *function)
{
	(void)function;
	longjmp(out_of_call, 1);
}

static NOINLINE void alloc_and_leave(uint64_t bytes)
{
	uint64_t address;

	*driver.inside = leave_by_longjmp;
	if (setjmp(out_of_call) == 0)
		(void)driver.alloc(&address, bytes);
	*driver.inside = NULL;
}

static NOINLINE void take_deeper(uint64_t bytes)
{
	volatile char *room = alloca(3000);

	room[0] = 1;
	take(bytes);
	room[1] = 2;
}

static NOINLINE void leave_deeper(uint64_t room)
{
	volatile char *words = alloca(room);

	words[0] = 1;
	alloc_and_leave(1);
	words[1] = 2;
}

/* Calls that are left, then calls from the same place, from above and from below. */
static void run_longjmp(const struct arguments *arguments)
{
	for (uint64_t i = 0; i < arguments->numbers[0]; i++) {
		alloc_and_leave(1);
		take(100 + i);
		alloc_and_leave(1);
		take_deeper(200 + i);
	}
	for (uint64_t room = 256; room < 4096; room += 256) {
		leave_deeper(room);
		take(room);
		leave_deeper(room);
		take_deeper(room);
	}
	for (uint64_t room = 256; room < 4096; room += 256)
		leave_deeper(room);
	take_deeper(7000);
	take(8000);
}

static void call_back(const char *function)
{
	(void)function;
	*driver.inside = NULL;
	take(50);
	give_back(take(60));
}

/* A call from within a call, but not by the driver: both are the program's. */
static void run_callback(const struct arguments *arguments)
{
	(void)arguments;
	*driver.inside = call_back;
	take(40);
}

static void fork_inside(const char *function)
{
	(void)function;
	*driver.inside = NULL;
	if (fork() == 0)
		return; /* the child returns from a call that it never entered */
	(void)wait(NULL);
}

/* A fork inside of a call: the child's return is not counted, its own calls are. */
static void run_fork(const struct arguments *arguments)
{
	const pid_t parent = getpid();
	uint64_t address = 0;
	int result;

	(void)arguments;
	(void)fflush(stdout);
	*driver.inside = fork_inside;
	result = driver.alloc(&address, 5000);
	if (getpid() != parent) {
		take(6000);
		return;
	}
	count_alloc(&sums, 5000, result);
	say_call("alloc", address, 5000, result);
}

static void die(const char *function)
{
	(void)function;
	(void)raise(SIGKILL);
}

/* Killed inside of a call. */
static void run_killed(const struct arguments *arguments)
{
	uint64_t address;

	(void)arguments;
	take(1234);
	say_sums(&sums);
	*driver.inside = die;
	(void)driver.alloc(&address, 99);
}

/* Another program in the same process. */
static void run_exec(const struct arguments *arguments)
{
	take(3000);
	say_sums(&sums);
	execl(arguments->program, arguments->program, arguments->path, "pairs", "2", NULL);
	_exit(3);
}

struct thread_work {
	pthread_t thread;
	uint64_t pairs;
	uint64_t first_bytes;
	struct call_sums sums;
};

static void *allocate_in_thread(void *context)
{
	struct thread_work *work = context;

	for (uint64_t i = 0; i < work->pairs; i++) {
		const uint64_t bytes = work->first_bytes + i;
		uint64_t address = 0;
		const int result = driver.alloc(&address, bytes);

		count_alloc(&work->sums, bytes, result);
		if (result == STUB_SUCCESS)
			count_free(&work->sums, driver.free(address));
	}
	return NULL;
}

/* N threads with M pairs each; all ask for the same sizes, so that addresses go round. */
static void run_threads(const struct arguments *arguments)
{
	static struct thread_work works[THREADS_MAX];
	const uint64_t count = arguments->numbers[0] < THREADS_MAX ? arguments->numbers[0]
	                                                           : THREADS_MAX;

	for (uint64_t i = 0; i < count; i++) {
		works[i].pairs = arguments->numbers[1];
		works[i].first_bytes = 512;
		if (pthread_create(&works[i].thread, NULL, allocate_in_thread, &works[i]) != 0)
			stop("no thread");
	}
	for (uint64_t i = 0; i < count; i++) {
		pthread_join(works[i].thread, NULL);
		sums.alloc_calls += works[i].sums.alloc_calls;
		sums.alloc_bytes += works[i].sums.alloc_bytes;
		sums.alloc_failures += works[i].sums.alloc_failures;
		sums.free_calls += works[i].sums.free_calls;
		sums.free_failures += works[i].sums.free_failures;
	}
}

/* Whether the main thread of this process is a zombie by now. */
static int has_main_thread_ended(void)
{
	char text[256] = "";
	FILE *file = fopen("/proc/self/stat", "re");
	const char *state;
	size_t length;

	if (!file)
		stop("no /proc/self/stat");
	length = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[length] = '\0';
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'Z';
}

static void *outlive_main_thread(void *context)
{
	(void)context;
	while (!has_main_thread_ended())
		(void)usleep(1000);
	take(1500);
	say_sums(&sums);
	return NULL;
}

/* The main thread ends first. */
static void run_leader(const struct arguments *arguments)
{
	pthread_t thread;

	(void)arguments;
	take(2500);
	if (pthread_create(&thread, NULL, outlive_main_thread, NULL) != 0)
		stop("no thread");
	pthread_exit(NULL);
}

/* A block from below `room` bytes of a stack that begins with a pattern. */
static NOINLINE void take_below(uint64_t room, uint64_t pattern)
{
	volatile uint64_t *words = alloca(room);

	words[0] = pattern;
	words[room / 8 - 1] = pattern + 1;
	(void)printf("{\"stack\": %" PRIu64 ", \"function\": %" PRIu64 "}\n",
	             (uint64_t)(uintptr_t)words, (uint64_t)(uintptr_t)&take);
	take(room);
	words[0] = 0;
}

static void *take_below_in_thread(void *context)
{
	const struct arguments *arguments = context;

	take_below(arguments->numbers[0], arguments->numbers[1]);
	return NULL;
}

/* From the main thread and from another, N bytes of stack that begin with the word M. */
static void run_stack(const struct arguments *arguments)
{
	struct arguments own = *arguments;
	pthread_t thread;

	take_below(arguments->numbers[0], arguments->numbers[1]);
	if (pthread_create(&thread, NULL, take_below_in_thread, &own) != 0)
		stop("no thread");
	pthread_join(thread, NULL);
}

/* Says that it is there, and goes on when a byte comes. */
static void wait_for_word(void)
{
	char byte;

	(void)printf("{\"ready\": %d}\n", (int)getpid());
	(void)fflush(stdout);
	if (read(STDIN_FILENO, &byte, 1) != 1)
		stop("no word came");
}

/* A block that is kept, and the rest of N when told to. */
static void run_patient(const struct arguments *arguments)
{
	take(1);
	wait_for_word();
	run_pairs(arguments);
}

/* What is done to contexts by words, of each of which it says when it is done. */
static void run_contexts(const struct arguments *arguments)
{
	workload_contexts_run(arguments->program, arguments->path);
}

/* Loads the driver late, and calls it when told to; with N > 0 a child does the same. */
static void run_late(const struct arguments *arguments)
{
	wait_for_word();
	workload_driver_load(&driver, arguments->path);
	wait_for_word();
	run_pairs(arguments);
}

static const struct {
	const char *name;
	void (*run)(const struct arguments *arguments);
} cases[] = {
	{ "pairs", run_pairs },           { "storm", run_storm },     { "bad-free", run_bad_free },
	{ "classes", run_classes },       { "longjmp", run_longjmp }, { "fork", run_fork },
	{ "killed", run_killed },         { "exec", run_exec },       { "threads", run_threads },
	{ "stack", run_stack },           { "late", run_late },       { "callback", run_callback },
	{ "beginnings", run_beginnings }, { "leader", run_leader },   { "patient", run_patient },
	{ "contexts", run_contexts },
};

int main(int argc, char **argv)
{
	struct arguments arguments = { .program = argv[0] };

	if (argc < 3)
		return 2;
	arguments.path = argv[1];
	for (int i = 3; i < argc && i < 7; i++)
		arguments.numbers[i - 3] = strtoull(argv[i], NULL, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (strcmp(cases[i].name, argv[2]) != 0)
			continue;
		if (cases[i].run != run_late && cases[i].run != run_contexts) {
			workload_driver_load(&driver, arguments.path);
			driver.init(0);
		}
		cases[i].run(&arguments);
		say_sums(&sums);
		return 0;
	}
	return 2;
}
