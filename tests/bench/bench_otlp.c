/*
 * What a profile costs as OTLP, beside the same profile as pprof: read and pipeline.
 *
 *	bench_otlp FILE...    pprof bodies, as profbench gen --route ingest writes them
 *
 * Each body is written as an export request of layout 1.10 with one of its sample types,
 * as a collector would. Prints the medians of ROUNDS rounds, CPU time of the thread a MB of
 * each message, their ratio, and the arena's bytes for each byte of the message.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/gzip.h"
#include "base/mem.h"
#include "base/wire.h"
#include "formats/otlp_request.h"

#define ROUNDS      7
#define ARENA_BYTES ((size_t)256 << 20)
#define BODY_MAX    ((size_t)64 << 20)
#define NOW_NS      INT64_C(1700000000000000000)

/* One profile in both forms. */
struct body {
	struct strbuf pprof;
	struct strbuf otlp;
};

struct cost {
	double read_us;
	double pipeline_us;
	double megabytes;
	double arena_ratio;
};

static double cpu_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void die(const char *what, const char *why)
{
	(void)fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static void read_file(const char *path, struct strbuf *out)
{
	FILE *file = fopen(path, "rb");

	if (!file)
		die(path, "cannot be opened");
	strbuf_init(out, BODY_MAX);
	if (strbuf_read(out, fileno(file)) < 0)
		die(path, "cannot be read");
	(void)fclose(file);
}

/* ---- pprof as OTLP ---- */

static void put_numbers(struct strbuf *out, uint32_t field, const uint32_t *numbers, size_t count,
                        uint32_t first)
{
	const size_t list = wire_begin(out, field);

	for (size_t i = 0; i < count; i++)
		wire_put_varint(out, (uint64_t)numbers[i] + first);
	wire_end(out, list);
}

static void put_location(const struct profile *profile, const struct profile_location *location,
                         struct strbuf *out)
{
	const size_t message = wire_begin(out, 2);

	if (location->mapping != PROFILE_NONE)
		wire_put_uint(out, 1, (uint64_t)location->mapping + 1);
	wire_put_uint(out, 2, location->address);
	for (uint32_t i = 0; i < location->line_count; i++) {
		const struct profile_line *line = &profile->lines[location->first_line + i];
		const size_t inner = wire_begin(out, 3);

		wire_put_uint(out, 1, (uint64_t)line->function + 1);
		wire_put_uint(out, 2, (uint64_t)line->line);
		wire_end(out, inner);
	}
	wire_end(out, message);
}

static void put_dictionary(const struct profile *profile, struct strbuf *out)
{
	const size_t dictionary = wire_begin(out, 2);

	wire_put_bytes(out, 1, STR(""));
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const size_t message = wire_begin(out, 1);

		wire_put_uint(out, 1, profile->mappings[i].start);
		wire_put_uint(out, 2, profile->mappings[i].limit);
		wire_put_uint(out, 4, profile->mappings[i].file);
		wire_end(out, message);
	}
	wire_put_bytes(out, 2, STR(""));
	for (size_t i = 0; i < profile->location_count; i++)
		put_location(profile, &profile->locations[i], out);
	wire_put_bytes(out, 3, STR(""));
	for (size_t i = 0; i < profile->function_count; i++) {
		const size_t message = wire_begin(out, 3);

		wire_put_uint(out, 1, profile->functions[i].name);
		wire_put_uint(out, 2, profile->functions[i].system_name);
		wire_put_uint(out, 3, profile->functions[i].file);
		wire_put_uint(out, 4, (uint64_t)profile->functions[i].start_line);
		wire_end(out, message);
	}
	for (size_t i = 0; i < profile->string_count; i++)
		wire_put_bytes(out, 5, profile->strings[i]);
	wire_put_bytes(out, 7, STR(""));
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample *sample = &profile->samples[i];
		const size_t message = wire_begin(out, 7);

		put_numbers(out, 1, profile->stacks + sample->first_frame, sample->depth, 1);
		wire_end(out, message);
	}
	wire_end(out, dictionary);
}

static void put_type(struct strbuf *out, uint32_t field, struct profile_value_type type)
{
	const size_t message = wire_begin(out, field);

	wire_put_uint(out, 1, type.type);
	wire_put_uint(out, 2, type.unit);
	wire_end(out, message);
}

static void put_profile(const struct profile *profile, struct strbuf *out)
{
	const size_t types = profile->sample_type_count;
	const size_t resource = wire_begin(out, 1);
	const size_t scope = wire_begin(out, 2);
	const size_t message = wire_begin(out, 2);

	put_type(out, 1, profile->sample_types[types - 1]);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const uint64_t value = (uint64_t)profile->values[i * types + types - 1];
		const size_t sample = wire_begin(out, 2);
		size_t values;

		wire_put_uint(out, 1, i + 1);
		values = wire_begin(out, 4);
		wire_put_varint(out, value);
		wire_end(out, values);
		wire_end(out, sample);
	}
	wire_put_fixed64(out, 3, (uint64_t)profile->time_unix_ns);
	put_type(out, 5, profile->period_type);
	wire_put_uint(out, 6, (uint64_t)profile->period);
	wire_end(out, message);
	wire_end(out, scope);
	wire_end(out, resource);
}

static void make_body(const char *path, struct arena *arena, struct body *out)
{
	const struct pprof_options options = { 0 };
	CLEANUP(strbuf_fini) struct strbuf file;
	struct pprof_input input;
	struct str plain;
	struct error err;

	arena_reset(arena);
	read_file(path, &file);
	plain = strbuf_view(&file);
	if ((gzip_is(plain) && gzip_inflate(plain, BODY_MAX, arena, &plain, &err) < 0) ||
	    pprof_read(plain, &options, arena, &input, &err) < 0)
		die(path, err.message);
	strbuf_init(&out->otlp, BODY_MAX);
	put_profile(&input.profile, &out->otlp);
	put_dictionary(&input.profile, &out->otlp);
	strbuf_init(&out->pprof, BODY_MAX);
	strbuf_add_str(&out->pprof, plain);
}

/* ---- the two ways ---- */

static void count(struct cost *cost, const double at[static 3], size_t bytes, size_t used)
{
	cost->read_us += at[1] - at[0];
	cost->pipeline_us += at[2] - at[1];
	cost->megabytes += (double)bytes / 1e6;
	if ((double)used / (double)bytes > cost->arena_ratio)
		cost->arena_ratio = (double)used / (double)bytes;
}

static void run_pipeline(struct ingest_profile *pair, struct error *err)
{
	struct ingest_limits limits = ingest_limits_default;
	struct ingest_result result;

	limits.reject_older_than_ns = limits.reject_newer_than_ns = 0;
	if (ingest_profile(pair, &limits, NOW_NS, &result, err) < 0)
		die("pipeline", err->message);
}

static void run_pprof(struct str bytes, struct arena *arena, struct cost *cost)
{
	static struct label labels[] = {
		{ { "__name__", 8 }, { "process_cpu", 11 } },
		{ { "service_name", 12 }, { "bench", 5 } },
	};
	const struct pprof_options options = { .max_samples = ingest_limits_default.max_samples };
	struct pprof_input input;
	struct ingest_profile pair = { .input = &input, .labels = { labels, 2 }, .payload = bytes };
	struct error err;
	double at[3] = { cpu_us() };
	size_t used;

	if (pprof_read(bytes, &options, arena, &input, &err) < 0)
		die("pprof", err.message);
	at[1] = cpu_us();
	used = arena_used(arena);
	run_pipeline(&pair, &err);
	at[2] = cpu_us();
	count(cost, at, bytes.length, used);
}

static void run_otlp(struct str bytes, struct arena *arena, struct cost *cost)
{
	const struct otlp_options options = { .limits = &ingest_limits_default };
	struct otlp_request request;
	struct error err;
	double at[3] = { cpu_us() };
	size_t used;

	if (otlp_request_decode(bytes, &options, arena, &request, &err) < 0)
		die("otlp", err.message);
	at[1] = cpu_us();
	used = arena_used(arena);
	for (size_t i = 0; i < request.count; i++)
		run_pipeline(&request.profiles[i], &err);
	at[2] = cpu_us();
	count(cost, at, bytes.length, used);
}

static int compare(const void *a, const void *b)
{
	const double left = *(const double *)a;
	const double right = *(const double *)b;

	return (left > right) - (left < right);
}

static double median(double *numbers)
{
	qsort(numbers, ROUNDS, sizeof(*numbers), compare);
	return numbers[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	struct body *bodies = mem_zalloc((size_t)argc, sizeof(*bodies));
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct cost pprof = { 0 };
	struct cost otlp = { 0 };
	double read[2][ROUNDS];
	double all[2][ROUNDS];

	if (argc < 2)
		die("bench_otlp", "names of pprof files are expected");
	for (int i = 1; i < argc; i++)
		make_body(argv[i], arena, &bodies[i]);
	for (int round = 0; round < ROUNDS; round++) {
		pprof = otlp = (struct cost){ 0 };
		for (int i = 1; i < argc; i++) {
			arena_reset(arena);
			run_pprof(strbuf_view(&bodies[i].pprof), arena, &pprof);
			arena_reset(arena);
			run_otlp(strbuf_view(&bodies[i].otlp), arena, &otlp);
		}
		read[0][round] = pprof.read_us / pprof.megabytes;
		read[1][round] = otlp.read_us / otlp.megabytes;
		all[0][round] = (pprof.read_us + pprof.pipeline_us) / pprof.megabytes;
		all[1][round] = (otlp.read_us + otlp.pipeline_us) / otlp.megabytes;
	}
	for (int way = 0; way < 2; way++)
		printf("%s MB=%.2f read_us_per_MB=%.0f all_us_per_MB=%.0f arena_per_byte=%.2f\n",
		       way ? "otlp" : "pprof", way ? otlp.megabytes : pprof.megabytes,
		       median(read[way]), median(all[way]),
		       way ? otlp.arena_ratio : pprof.arena_ratio);
	printf("otlp/pprof read=%.2f all=%.2f\n", read[1][ROUNDS / 2] / read[0][ROUNDS / 2],
	       all[1][ROUNDS / 2] / all[0][ROUNDS / 2]);
	for (int i = 1; i < argc; i++) {
		strbuf_fini(&bodies[i].pprof);
		strbuf_fini(&bodies[i].otlp);
	}
	free(bodies);
	arena_free(arena);
	return 0;
}
