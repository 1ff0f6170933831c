/*
 * What a window of many series costs: memory of its labels, and CPU to find what a
 * selector means, beside label sets that are walked through.
 *
 * 	bench_series [SERIES]
 *
 * The series are those of a cluster: 4 profile types of each pod, 100 pods a service, and
 * six more labels. Times are CPU (median of ROUNDS).
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "storage/series_match.h"

#define ROUNDS      9
#define LABELS      8
#define TYPES       4
#define PODS        100 /* of a service */
#define ARENA_BYTES ((size_t)1 << 30)

static double cpu_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void stop(const char *what, const struct error *err)
{
	(void)fprintf(stderr, "%s: %s\n", what, err->message);
	exit(1);
}

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a;
	const double right = *(const double *)b;

	return (left > right) - (left < right);
}

/* ---- the series ---- */

static struct label_set make_labels(size_t series, struct arena *arena)
{
	static const char *const types[TYPES] = {
		"process_cpu:samples:count:cpu:nanoseconds",
		"process_cpu:cpu:nanoseconds:cpu:nanoseconds",
		"memory:alloc_space:bytes:space:bytes",
		"memory:inuse_space:bytes:space:bytes",
	};
	const size_t pod = series / TYPES;
	const size_t service = pod / PODS;
	struct label *labels = arena_array(arena, LABELS, sizeof(*labels));

	labels[0] = (struct label){ STR("__profile_type__"), str_of(types[series % TYPES]) };
	labels[1] = (struct label){ STR("cluster"), arena_printf(arena, "eu-%zu", service % 3) };
	labels[2] = (struct label){ STR("container"), STR("main") };
	labels[3] =
		(struct label){ STR("namespace"), arena_printf(arena, "team-%zu", service % 20) };
	labels[4] = (struct label){ STR("node"),
		                    arena_printf(arena, "ip-10-0-%zu-%zu.internal",
		                                 pod * 7919 % 500 / 256, pod * 7919 % 500 % 256) };
	labels[5] =
		(struct label){ STR("pod"), arena_printf(arena, "service-%zu-%08zx-%05zx", service,
		                                         service * 2654435761u % 0xffffffffu,
		                                         pod * 40503u % 0xfffffu) };
	labels[6] =
		(struct label){ STR("service_name"), arena_printf(arena, "service-%zu", service) };
	labels[7] = (struct label){ STR("version"), arena_printf(arena, "1.%zu.0", service % 10) };
	return (struct label_set){ labels, LABELS };
}

struct world {
	size_t count;
	struct series_index *index;
	struct label_set *sets; /* the same, as sets */
	struct arena *bytes;    /* of the sets */
};

static void build(struct world *world)
{
	struct arena *scratch = arena_new(ARENA_BYTES, NULL);
	double index = 0;
	uint32_t group[TYPES];

	world->index = series_index_new(1);
	world->bytes = arena_new(ARENA_BYTES, NULL);
	world->sets = mem_zalloc(world->count, sizeof(*world->sets));
	for (size_t i = 0; i < world->count; i++) {
		struct label_set set;
		struct hash128 fingerprint;
		double start;

		arena_reset(scratch);
		set = make_labels(i, scratch);
		fingerprint = label_set_fingerprint(&set, 1);
		if (!label_set_copy(&set, world->bytes, &world->sets[i]))
			exit(1);
		start = cpu_us();
		group[i % TYPES] = series_index_add(world->index, &set, fingerprint);
		if (i % TYPES == TYPES - 1)
			(void)series_index_add_group(world->index, group, TYPES);
		index += cpu_us() - start;
	}
	series_index_publish(world->index);
	arena_free(scratch);
	(void)printf("%zu series of %d labels: %.1f MB as sets, %.1f MB with their index; "
	             "%.0f ns to add one\n",
	             world->count, LABELS,
	             (double)(arena_used(world->bytes) + world->count * sizeof(*world->sets)) / 1e6,
	             (double)series_index_bytes(world->index) / 1e6,
	             index * 1e3 / (double)world->count);
}

/* ---- matching ---- */

static double match_once(const struct world *world, const struct selector *selector,
                         uint32_t *out_count)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const double start = cpu_us();
	struct series_view view;
	struct series_ids ids;
	struct error err;

	series_index_view(world->index, &view);
	if (series_match(&view, selector, arena, &ids, &err) < 0)
		stop("match", &err);
	*out_count = ids.count;
	arena_free(arena);
	return cpu_us() - start;
}

static double walk_once(const struct world *world, const struct selector *selector,
                        uint32_t *out_count)
{
	const double start = cpu_us();

	*out_count = 0;
	for (size_t i = 0; i < world->count; i++)
		*out_count += selector_matches(selector, &world->sets[i]);
	return cpu_us() - start;
}

static void match(const struct world *world, const char *text)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct selector selector;
	struct error err;
	double matched[ROUNDS];
	double walked[ROUNDS];
	uint32_t count = 0;
	uint32_t expected = 0;

	selector_init(&selector, arena);
	if (selector_parse(&selector, str_of(text), &err) < 0)
		stop(text, &err);
	for (int i = 0; i < ROUNDS; i++) {
		matched[i] = match_once(world, &selector, &count);
		walked[i] = walk_once(world, &selector, &expected);
	}
	qsort(matched, ROUNDS, sizeof(*matched), compare);
	qsort(walked, ROUNDS, sizeof(*walked), compare);
	(void)printf("%8.0f us, walk %8.0f us, %6u series%s  %s\n", matched[ROUNDS / 2],
	             walked[ROUNDS / 2], count, count == expected ? "" : " WRONG", text);
	selector_fini(&selector);
	arena_free(arena);
}

static void match_all(const struct world *world)
{
	static const char *const selectors[] = {
		"{service_name=\"service-7\"}",
		"{service_name=\"service-7\",__profile_type__=~\"memory:alloc_space:.*\"}",
		"{service_name=~\"service-7|service-8|service-9\"}",
		"{service_name=~\"service-1.*\"}",
		"{service_name=\"service-7\",pod=~\".*-00.*\"}",
		"{pod=~\".*-00.*\"}",
		"{namespace=\"team-3\",version!=\"1.4.0\"}",
		"{namespace!=\"team-3\"}",
		"{namespace!~\"team-(3|4|5)\"}",
		"{region=\"\"}",
		"{__profile_type__=~\".+\"}",
		"{}",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(selectors); i++)
		match(world, selectors[i]);
}

int main(int argc, char **argv)
{
	struct world world = { .count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000 };

	build(&world);
	match_all(&world);
	series_index_free(world.index);
	arena_free(world.bytes);
	free(world.sets);
	return 0;
}
