/*
 * What one profile costs on its way in, before the store: inflate, read, pipeline.
 *
 *	bench_ingest FILE...    pprof bodies, as profbench gen --route ingest writes them
 *
 * Prints the median of BENCH_ROUNDS rounds in microseconds a profile, CPU time of the thread.
 * The bound is what `limits decode` says of the same files.
 */
#include "base/gzip.h"
#include "bench_rounds.h"
#include "profile/ingest.h"

#define ARENA_BYTES ((size_t)256 << 20)

struct cost {
	double inflate_us;
	double read_us;
	double pipeline_us;
};

static int run_once(struct str body, struct arena *arena, struct cost *cost, struct error *err)
{
	static struct label labels[] = {
		{ { "__name__", 8 }, { "process_cpu", 11 } },
		{ { "service_name", 12 }, { "bench", 5 } },
		{ { "pyroscope_spy", 13 }, { "gospy", 5 } },
	};
	const struct pprof_options options = { .max_samples = ingest_limits_default.max_samples };
	struct ingest_limits limits = ingest_limits_default;
	struct pprof_input input;
	struct ingest_profile profile = { .input = &input,
		                          .labels = { labels, 3 },
		                          .payload = body };
	struct ingest_result result;
	const double start = bench_cpu_us();
	double inflated;
	double read;
	struct str bytes = body;

	limits.reject_older_than_ns = limits.reject_newer_than_ns = 0;
	if (gzip_is(body) &&
	    gzip_inflate(body, limits.max_profile_size_bytes, arena, &bytes, err) < 0)
		return -1;
	inflated = bench_cpu_us();
	if (pprof_read(bytes, &options, arena, &input, err) < 0)
		return -1;
	read = bench_cpu_us();
	if (ingest_profile(&profile, &limits, INT64_C(1700000000000000000), &result, err) < 0)
		return -1;
	cost->inflate_us += inflated - start;
	cost->read_us += read - inflated;
	cost->pipeline_us += bench_cpu_us() - read;
	return 0;
}

int main(int argc, char **argv)
{
	struct str *bodies = mem_zalloc((size_t)argc, sizeof(*bodies));
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	double inflate[BENCH_ROUNDS];
	double read[BENCH_ROUNDS];
	double pipeline[BENCH_ROUNDS];
	double all[BENCH_ROUNDS];
	const double count = argc - 1;

	for (int i = 1; i < argc; i++)
		bodies[i] = bench_read_file(argv[i]);
	for (int round = 0; round < BENCH_ROUNDS && argc > 1; round++) {
		struct cost cost = { 0 };

		for (int i = 1; i < argc; i++) {
			struct error err;

			arena_reset(arena);
			if (run_once(bodies[i], arena, &cost, &err) < 0) {
				(void)fprintf(stderr, "%s: %s\n", argv[i], err.message);
				return 1;
			}
		}
		inflate[round] = cost.inflate_us / count;
		read[round] = cost.read_us / count;
		pipeline[round] = cost.pipeline_us / count;
		all[round] = inflate[round] + read[round] + pipeline[round];
	}
	if (argc > 1)
		printf("profiles=%d inflate_us=%.0f read_us=%.0f pipeline_us=%.0f all_us=%.0f\n",
		       argc - 1, bench_median(inflate), bench_median(read), bench_median(pipeline),
		       bench_median(all));
	arena_free(arena);
	for (int i = 1; i < argc; i++)
		bench_free(bodies[i]);
	free(bodies);
	return 0;
}
