/*
 * churner DRIVER... : processes that call the driver and end, one after another.
 *
 * Each round is one life: a process loads one of the drivers, allocates by a stack of its own, frees some of it, and ends in one of
 * the ways that there are. A number on standard input is that many rounds a second from then on; 0 is the end. Then it says
 * {"rounds", "processes"} on its last line: how many there were.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define CHILDREN_MAX 8 /* at a time */
#define THREADS      4
#define RELOADS      3
#define PATH_BITS    10 /* of a stack: 1,024 of them */
#define BLOCKS       3
#define ONCE         "once" /* in the place of the drivers: one use of the next argument */

struct calls {
	int (*init)(unsigned int flags);
	int (*alloc)(uint64_t *out, size_t bytes);
	int (*release)(uint64_t address);
};

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	if (!found)
		_exit(3);
	return found;
}

/* ---- stacks ---- */

typedef uint64_t (*step)(const struct calls *calls, unsigned int path, int left);

static uint64_t to_left(const struct calls *calls, unsigned int path, int left);
static uint64_t to_right(const struct calls *calls, unsigned int path, int left);

static uint64_t go(const struct calls *calls, unsigned int path, int left)
{
	static const step steps[] = { to_left, to_right };
	uint64_t address = 0;

	if (left == 0)
		(void)calls->alloc(&address, 4096 + path);
	else
		address = steps[path >> (left - 1) & 1](calls, path, left - 1);
	return address;
}

/* Not the same code twice, and no tail call: each has a frame of its own. */
__attribute__((noinline)) static uint64_t to_left(const struct calls *calls, unsigned int path,
                                                  int left)
{
	volatile uint64_t address = go(calls, path, left);

	return address;
}

__attribute__((noinline)) static uint64_t to_right(const struct calls *calls, unsigned int path,
                                                   int left)
{
	volatile uint64_t address = go(calls, path, left) + 1;

	return address - 1;
}

/* ---- lives ---- */

/* Loads the driver, and leaves something in it. */
static void *use(const char *driver, unsigned int path)
{
	void *library = dlopen(driver, RTLD_NOW);
	struct calls calls;
	uint64_t address = 0;

	if (!library)
		_exit(2);
	*(void **)&calls.init = find(library, "cuInit");
	*(void **)&calls.alloc = find(library, "cuMemAlloc_v2");
	*(void **)&calls.release = find(library, "cuMemFree_v2");
	(void)calls.init(0);
	for (int i = 0; i < BLOCKS; i++)
		address = go(&calls, path, PATH_BITS);
	(void)calls.release(address);
	return library;
}

static void leave(const char *driver, unsigned int path)
{
	(void)use(driver, path);
}

static void reload(const char *driver, unsigned int path)
{
	for (unsigned int i = 0; i < RELOADS; i++)
		(void)dlclose(use(driver, path + i));
}

static void run_another(const char *driver, unsigned int path)
{
	char number[16];

	(void)use(driver, path);
	(void)snprintf(number, sizeof(number), "%u", path + 1);
	(void)execl("/proc/self/exe", "churner", ONCE, driver, number, (char *)NULL);
	_exit(4);
}

static void have_a_child(const char *driver, unsigned int path)
{
	pid_t child;

	(void)use(driver, path);
	child = fork();
	if (child == 0) {
		(void)use(driver, path + 1);
		_exit(0);
	}
	(void)waitpid(child, NULL, 0);
}

static void be_killed(const char *driver, unsigned int path)
{
	(void)use(driver, path);
	(void)kill(getpid(), SIGKILL);
}

struct thread_life {
	const char *driver;
	unsigned int path;
};

static void *live_in_thread(void *context)
{
	const struct thread_life *life = context;

	(void)use(life->driver, life->path);
	return NULL;
}

static void have_threads(const char *driver, unsigned int path)
{
	struct thread_life lives[THREADS];
	pthread_t threads[THREADS];

	for (unsigned int i = 0; i < THREADS; i++) {
		lives[i] = (struct thread_life){ driver, path + i };
		if (pthread_create(&threads[i], NULL, live_in_thread, &lives[i]) != 0)
			_exit(5);
	}
	for (int i = 0; i < THREADS; i++)
		(void)pthread_join(threads[i], NULL);
}

static const struct {
	void (*live)(const char *driver, unsigned int path);
	unsigned int processes;
} lives[] = {
	{ leave, 1 },        { reload, 1 },    { run_another, 1 },
	{ have_a_child, 2 }, { be_killed, 1 }, { have_threads, 1 },
};

/* ---- rounds ---- */

struct churn {
	char **drivers;
	unsigned int driver_count;
	unsigned int rounds;
	unsigned int processes;
	unsigned int children;
};

static void wait_for_children(struct churn *churn, unsigned int most)
{
	while (churn->children > most && waitpid(-1, NULL, 0) > 0)
		churn->children--;
}

static void make_round(struct churn *churn)
{
	const unsigned int round = churn->rounds++;
	const unsigned int which = round % ARRAY_LENGTH(lives);
	const char *driver = churn->drivers[round / ARRAY_LENGTH(lives) % churn->driver_count];
	const pid_t child = fork();

	if (child == 0) {
		/* a different stack each time, by an odd factor */
		lives[which].live(driver, round * 2654435761U >> (32 - PATH_BITS));
		_exit(0);
	}
	if (child < 0)
		exit(6);
	churn->children++;
	churn->processes += lives[which].processes;
	wait_for_children(churn, CHILDREN_MAX);
}

/* What was asked for last, rounds a second; -1 while nothing was. */
static int asked(int last)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char line[32] = "";

	if (poll(&input, 1, last < 0 ? -1 : 0) <= 0)
		return last;
	return read(STDIN_FILENO, line, sizeof(line) - 1) > 0 ? (int)strtol(line, NULL, 10) : 0;
}

int main(int argc, char **argv)
{
	struct churn churn = { .drivers = argv + 1, .driver_count = (unsigned int)argc - 1 };
	int rate = -1;

	if (argc == 4 && strcmp(argv[1], ONCE) == 0) {
		(void)use(argv[2], (unsigned int)strtoul(argv[3], NULL, 10));
		return 0;
	}
	if (argc < 2)
		return 1;
	while ((rate = asked(rate)) > 0) {
		const struct timespec pause = { 0, (long)(NS_PER_S / rate) };

		make_round(&churn);
		(void)nanosleep(&pause, NULL);
	}
	wait_for_children(&churn, 0);
	(void)printf("{\"rounds\": %u, \"processes\": %u}\n", churn.rounds, churn.processes);
	return 0;
}
