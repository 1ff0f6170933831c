/*
 * storm_caller THREADS : driver calls from many threads, as told by lines of the standard input:
 *
 *     storm SECONDS RATE   each thread allocates and frees, RATE pairs a second of all (0: as
 *                          fast as it can); answers "pairs N bytes N seconds N"
 *     hold COUNT           so many blocks are live from now on; answers "bytes N"
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define THREADS_MAX 256
#define NS_PER_S    UINT64_C(1000000000)
#define LINE_BYTES  64
#define DEPTH       12 /* frames below the call */
#define NOINLINE    __attribute__((noinline))

int cuMemAlloc_v2(uint64_t *address, size_t bytes);
int cuMemFree_v2(uint64_t address);

struct task {
	pthread_t thread;
	uint64_t number;
	uint64_t until_ns;
	uint64_t interval_ns; /* between two pairs; 0: none */
	uint64_t pairs;
	uint64_t bytes;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void wait_until_ns(uint64_t ns)
{
	const struct timespec time = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
		;
}

static NOINLINE int allocate(uint64_t *address, uint64_t bytes, int depth)
{
	const int result = depth == 0 ? cuMemAlloc_v2(address, bytes)
	                              : allocate(address, bytes, depth - 1);

	__asm__ volatile("" ::: "memory"); /* no tail call */
	return result;
}

/* Sizes differ from thread to thread and from call to call. */
static uint64_t size_of(const struct task *task)
{
	return 1000 + task->number + task->pairs % 1000;
}

static void *run(void *argument)
{
	struct task *task = argument;
	uint64_t next = now_ns();

	while (now_ns() < task->until_ns) {
		const uint64_t bytes = size_of(task);
		uint64_t address;

		if (allocate(&address, bytes, DEPTH) != 0 || cuMemFree_v2(address) != 0)
			abort();
		task->pairs++;
		task->bytes += bytes;
		next += task->interval_ns;
		if (task->interval_ns > 0)
			wait_until_ns(next);
	}
	return NULL;
}

static void storm(size_t threads, uint64_t seconds, uint64_t rate)
{
	static struct task tasks[THREADS_MAX];
	const uint64_t began = now_ns();
	uint64_t pairs = 0;
	uint64_t bytes = 0;

	for (size_t i = 0; i < threads; i++) {
		tasks[i] = (struct task){ .number = i,
			                  .until_ns = began + seconds * NS_PER_S,
			                  .interval_ns = rate ? NS_PER_S * threads / rate : 0 };
		if (pthread_create(&tasks[i].thread, NULL, run, &tasks[i]) != 0)
			abort();
	}
	for (size_t i = 0; i < threads; i++) {
		(void)pthread_join(tasks[i].thread, NULL);
		pairs += tasks[i].pairs;
		bytes += tasks[i].bytes;
	}
	(void)printf("pairs %" PRIu64 " bytes %" PRIu64 " seconds %.3f\n", pairs, bytes,
	             (double)(now_ns() - began) / (double)NS_PER_S);
}

static void hold(uint64_t count)
{
	uint64_t bytes = 0;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t address;

		if (allocate(&address, 1000 + i, (int)(i % DEPTH)) != 0)
			abort();
		bytes += 1000 + i;
	}
	(void)printf("bytes %" PRIu64 "\n", bytes);
}

int main(int argc, char **argv)
{
	const size_t threads = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
	char line[LINE_BYTES];

	if (threads == 0 || threads > THREADS_MAX)
		return 2;
	while (fgets(line, sizeof(line), stdin)) {
		char *rest = line + strcspn(line, " ");
		const uint64_t first = strtoull(rest, &rest, 10);

		if (strncmp(line, "storm ", 6) == 0)
			storm(threads, first, strtoull(rest, NULL, 10));
		else if (strncmp(line, "hold ", 5) == 0)
			hold(first);
		else
			return 2;
		(void)fflush(stdout);
	}
	return 0;
}
