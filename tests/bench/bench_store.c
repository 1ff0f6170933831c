/*
 * What the store costs: appending profiles, disk, and reading them back.
 *
 * 	bench_store FOLDER SERVICES INSTANCES FILE...
 *
 * FILEs are pprof bodies in the order of profbench gen --route ingest: one tick is a body
 * for each instance of each service. FOLDER is made and must be empty. Prints CPU time:
 * append() on the caller's thread, the writer's thread, and queries (median of ROUNDS).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "profile/ingest.h"
#include "storage/sqlite_store.h"

#define ROUNDS      7
#define ARENA_BYTES ((size_t)256 << 20)
#define IN_FLIGHT   16 /* writes that wait together, as under load */
#define TICK_NS     (INT64_C(15) * 1000000000)
#define START       (INT64_C(1790000000) * 1000000000)

static double cpu_us(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void stop(const char *what, const struct error *err)
{
	(void)fprintf(stderr, "%s: %s\n", what, err->message);
	exit(1);
}

/* ---- one write ---- */

struct flight {
	struct store_write write;
	struct arena *arena;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t landed = PTHREAD_COND_INITIALIZER;
static size_t waiting; /* guarded by lock */

static void done(struct store_write *write, const struct error *err)
{
	(void)write;
	if (err->code != ERROR_NONE)
		stop("append", err);
	(void)pthread_mutex_lock(&lock);
	waiting--;
	(void)pthread_cond_signal(&landed);
	(void)pthread_mutex_unlock(&lock);
}

static void wait_until(size_t left)
{
	(void)pthread_mutex_lock(&lock);
	while (waiting > left)
		(void)pthread_cond_wait(&landed, &lock);
	(void)pthread_mutex_unlock(&lock);
}

static struct str read_file(const char *path, struct arena *arena)
{
	FILE *file = fopen(path, "rb");
	char *data = arena_alloc_raw(arena, (size_t)1 << 20);
	size_t length;

	if (!file || !data) {
		perror(path);
		exit(1);
	}
	length = fread(data, 1, (size_t)1 << 20, file);
	(void)fclose(file);
	return str_make(data, length);
}

/* Decodes a body as the server does. */
static void prepare(const char *path, size_t index, size_t services, size_t instances,
                    struct flight *flight)
{
	const size_t series = index % (services * instances);
	struct label *labels = arena_array(flight->arena, 3, sizeof(*labels));
	struct pprof_input *input = arena_alloc(flight->arena, sizeof(*input));
	const struct pprof_options options = { 0 };
	struct ingest_limits limits = ingest_limits_default;
	struct str body = read_file(path, flight->arena);
	struct ingest_profile profile = { .input = input,
		                          .labels = { labels, 3 },
		                          .payload = body };
	struct ingest_result result;
	struct error err;

	labels[0] = (struct label){ STR("__name__"), STR("process_cpu") };
	labels[1] = (struct label){ STR("service_name"), arena_printf(flight->arena, "service-%zu",
		                                                      series / instances) };
	labels[2] = (struct label){ STR("pod"), arena_printf(flight->arena, "pod-%zu", series) };
	limits.reject_older_than_ns = limits.reject_newer_than_ns = 0;
	if ((gzip_is(body) &&
	     gzip_inflate(body, (size_t)64 << 20, flight->arena, &body, &err) < 0) ||
	    pprof_read(body, &options, flight->arena, input, &err) < 0)
		stop(path, &err);
	input->profile.time_unix_ns =
		START + (int64_t)(index / (services * instances)) * TICK_NS + (int64_t)series;
	if (ingest_profile(&profile, &limits, START, &result, &err) < 0)
		stop(path, &err);
	flight->write = (struct store_write){
		.tenant = STR("bench"),
		.profiles = result.profiles,
		.count = result.count,
		.bytes = arena_used(flight->arena),
		.done = done,
	};
}

static void append_all(struct store *store, char **files, size_t count, size_t services,
                       size_t instances)
{
	struct flight flights[IN_FLIGHT] = { 0 };
	double append = 0;
	const double own = cpu_us(CLOCK_THREAD_CPUTIME_ID);
	const double all = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
	double writer;

	for (size_t i = 0; i < IN_FLIGHT; i++)
		flights[i].arena = arena_new(ARENA_BYTES, NULL);
	for (size_t i = 0; i < count; i += IN_FLIGHT) {
		const size_t n = count - i < IN_FLIGHT ? count - i : IN_FLIGHT;
		double start;
		struct error err;

		for (size_t j = 0; j < n; j++) {
			arena_reset(flights[j].arena);
			prepare(files[i + j], i + j, services, instances, &flights[j]);
		}
		waiting = n;
		start = cpu_us(CLOCK_THREAD_CPUTIME_ID);
		for (size_t j = 0; j < n; j++)
			if (store_append(store, &flights[j].write, &err) < 0)
				stop("append", &err);
		append += cpu_us(CLOCK_THREAD_CPUTIME_ID) - start;
		wait_until(0);
	}
	writer = cpu_us(CLOCK_PROCESS_CPUTIME_ID) - all - (cpu_us(CLOCK_THREAD_CPUTIME_ID) - own);
	for (size_t i = 0; i < IN_FLIGHT; i++)
		arena_free(flights[i].arena);
	(void)printf("append %.0f us, writer %.0f us, both %.0f us a profile\n",
	             append / (double)count, writer / (double)count,
	             (append + writer) / (double)count);
}

/* ---- queries ---- */

static int sum_up(void *context, const struct stack_sums *sums, struct error *err)
{
	uint64_t *total = context;

	(void)err;
	for (size_t i = 0; i < sums->count; i++)
		*total += (uint64_t)sums->sums[i];
	return 0;
}

static int add_point(void *context, const struct store_point *point, struct error *err)
{
	uint64_t *total = context;

	(void)err;
	*total += (uint64_t)point->total;
	return 0;
}

enum question {
	MERGE,
	SCAN,
};

static double ask_once(struct store *store, enum question question, const char *text,
                       uint64_t *out_total)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const double start = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
	struct selector selector;
	struct error err;
	const struct store_query query = {
		.tenant = STR("bench"),
		.selector = &selector,
		.range = { 0, INT64_MAX },
		.arena = arena,
	};
	int result;

	*out_total = 0;
	selector_init(&selector, arena);
	result = selector_parse(&selector, str_of(text), &err);
	if (result == 0)
		result = question == MERGE
		                 ? store_merge(store, &query, NULL, sum_up, out_total, &err)
		                 : store_scan(store, &query, add_point, out_total, &err);
	if (result < 0)
		stop(text, &err);
	selector_fini(&selector);
	arena_free(arena);
	return (cpu_us(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e3;
}

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a;
	const double right = *(const double *)b;

	return (left > right) - (left < right);
}

static void ask(struct store *store, const char *what, enum question question, const char *text)
{
	double times[ROUNDS];
	uint64_t total = 0;
	double cold;

	cold = ask_once(store, question, text, &total);
	for (int i = 0; i < ROUNDS; i++)
		times[i] = ask_once(store, question, text, &total);
	qsort(times, ROUNDS, sizeof(*times), compare);
	(void)printf("%s: first %.2f ms, then %.2f ms CPU, total %llu\n", what, cold,
	             times[ROUNDS / 2], (unsigned long long)total);
}

static void ask_all(struct store *store)
{
	ask(store, "merge of a service", MERGE,
	    "{service_name=\"service-0\",__profile_type__=~\".*cpu:nanoseconds.*|.*alloc_space.*\"}");
	ask(store, "merge of all", MERGE, "{__profile_type__=~\".*cpu:nanoseconds.*\"}");
	ask(store, "totals of a service", SCAN, "{service_name=\"service-0\"}");
}

int main(int argc, char **argv)
{
	struct sqlite_store_options options = { .path = argc > 4 ? argv[1] : NULL };
	struct store *store;
	struct store_usage usage;
	struct rusage memory;
	struct error err;
	double start;

	if (argc < 5) {
		(void)fputs("usage: bench_store FOLDER SERVICES INSTANCES FILE...\n", stderr);
		return 2;
	}
	if (sqlite_store_open(&options, &store, &err) < 0)
		stop(argv[1], &err);
	append_all(store, argv + 4, (size_t)argc - 4, strtoul(argv[2], NULL, 10),
	           strtoul(argv[3], NULL, 10));
	ask_all(store);
	store_usage(store, &usage);
	(void)printf("%llu commits, tables %.1f MB\n", (unsigned long long)usage.commits,
	             (double)usage.cache_bytes / 1e6);
	store_close(store);
	start = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
	if (sqlite_store_open(&options, &store, &err) < 0)
		stop(argv[1], &err);
	store_usage(store, &usage);
	(void)printf("disk %.0f bytes a profile; opened again in %.2f ms CPU\n",
	             (double)usage.disk_bytes / (argc - 4),
	             (cpu_us(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e3);
	ask_all(store);
	store_close(store);
	(void)getrusage(RUSAGE_SELF, &memory);
	(void)printf("largest resident %ld MB\n", memory.ru_maxrss / 1024);
	return 0;
}
