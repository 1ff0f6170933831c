/*
 * What a JFR recording costs on its way in, before the store, beside pprof: inflate, read,
 * pipeline.
 *
 *	bench_recording FILE...
 *
 * FILE is a pprof body, as profbench gen --route ingest writes them, or a recording; gzip
 * or not. Each pprof is written as a recording too, with a stack trace a sample and an
 * execution sample a tick: the hardest kind, stacks and names and nothing else. Prints the
 * medians of BENCH_ROUNDS rounds, CPU time of the thread in microseconds a megabyte of
 * plain bytes and a body, and the ratio to pprof by the megabyte. The bound for recordings
 * of real senders is 2.
 */
#include "base/gzip.h"
#include "bench_rounds.h"
#include "formats/jfr_chunk.h"
#include "formats/jfr_upload.h"
#include "formats/pprof_upload.h"
#include "profile/intern.h"
#include "tests/unit/formats/jfr_writer.h"

#define ARENA_BYTES  ((size_t)256 << 20)
#define EVENTS_MAX   100 /* of one sample: some values are no counts */
#define START_TICKS  UINT64_C(0x1797a9cfe362a)
#define THREADS      40
#define LONGEST_NAME ((size_t)4096)

enum path {
	PATH_PPROF,
	PATH_MADE,
	PATH_RECORDED,
	PATHS,
};

static const struct {
	const char *name;
	format_decoder decode;
} paths[PATHS] = {
	[PATH_PPROF] = { "pprof", pprof_upload_decode },
	[PATH_MADE] = { "jfr, made", jfr_upload_decode },
	[PATH_RECORDED] = { "jfr, recorded", jfr_upload_decode },
};

/* ---- a profile as a recording ---- */

/* The parts of a function's name: as Java has it, "<class>.<method>". */
static struct str part_of(const struct profile *profile, size_t function, bool is_method)
{
	const struct str name =
		str_first(profile_string(profile, profile->functions[function].name), LONGEST_NAME);
	const ptrdiff_t dot = str_last_index(name, '.');

	if (is_method)
		return str_skip(name, (size_t)(dot + 1));
	return str_first(name, dot < 0 ? 0 : (size_t)dot);
}

/* Symbols and classes once each, as writers have them: ids are those of the symbols. */
static void put_methods(struct jfr_writer *writer, const struct profile *profile,
                        struct arena *arena)
{
	CLEANUP(strbuf_fini) struct strbuf methods;
	CLEANUP(strbuf_fini) struct strbuf classes;
	CLEANUP(strbuf_fini) struct strbuf symbols;
	struct intern ids = { 0 };
	size_t class_count = 0;

	strbuf_init(&methods, JFR_WRITER_LIMIT);
	strbuf_init(&classes, JFR_WRITER_LIMIT);
	strbuf_init(&symbols, JFR_WRITER_LIMIT);
	for (size_t i = 0; i < profile->function_count; i++) {
		uint64_t id[2];

		for (int part = 0; part < 2; part++) {
			const struct str text = part_of(profile, i, part > 0);
			bool is_new;

			id[part] = 1 + intern_add(&ids, arena, hash128_str((uint64_t)part, text),
			                          &is_new);
			if (!is_new)
				continue;
			jfr_writer_long(writer, &symbols, id[part]);
			jfr_writer_str(writer, &symbols, text);
			if (part == 0) {
				const uint64_t class[] = { id[0], 0, id[0], 0, 1 };

				for (size_t at = 0; at < ARRAY_LENGTH(class); at++)
					jfr_writer_long(writer, &classes, class[at]);
				class_count++;
			}
		}
		const uint64_t method[] = { i + 1, id[0], id[1], 0, 1, 0 };

		for (size_t at = 0; at < ARRAY_LENGTH(method); at++)
			jfr_writer_long(writer, &methods, method[at]);
	}
	jfr_writer_pool(writer, 20, ids.count);
	strbuf_add_str(&writer->pools, strbuf_view(&symbols));
	jfr_writer_pool(writer, 21, class_count);
	strbuf_add_str(&writer->pools, strbuf_view(&classes));
	jfr_writer_pool(writer, 24, profile->function_count);
	strbuf_add_str(&writer->pools, strbuf_view(&methods));
}

static void put_traces(struct jfr_writer *writer, const struct profile *profile)
{
	jfr_writer_pool(writer, 27, profile->sample_count);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample sample = profile->samples[i];

		jfr_writer_long(writer, &writer->pools, i + 1);
		strbuf_add_byte(&writer->pools, 0);
		jfr_writer_int(writer, &writer->pools, sample.depth);
		for (uint32_t frame = 0; frame < sample.depth; frame++) {
			const uint32_t at = profile->stacks[sample.first_frame + frame];
			const struct profile_line line =
				profile->lines[profile->locations[at].first_line];

			jfr_writer_long(writer, &writer->pools, (uint64_t)line.function + 1);
			jfr_writer_int(writer, &writer->pools, line.line);
			jfr_writer_int(writer, &writer->pools, line.line % 200);
			jfr_writer_long(writer, &writer->pools, 1 + line.function % 3);
		}
	}
}

static void put_events(struct jfr_writer *writer, const struct profile *profile)
{
	uint64_t ticks = START_TICKS;

	for (size_t i = 0; i < profile->sample_count; i++) {
		int64_t count = profile->values[i * profile->sample_type_count];

		for (count = count < EVENTS_MAX ? count : EVENTS_MAX; count > 0; count--) {
			ticks += 10000000;
			JFR_WRITER_EVENT(writer, 101, ticks, ticks % THREADS, i + 1, 1, 0, 0, 0);
		}
	}
}

/* The body of one profile, gzip, as a recording of the same. */
static struct str write_recording(struct str body, struct arena *arena)
{
	const struct pprof_options options = { 0 };
	CLEANUP(strbuf_fini) struct strbuf recording;
	CLEANUP(strbuf_fini) struct strbuf packed;
	struct jfr_writer writer;
	struct pprof_input input;
	struct error err;
	struct str plain = body;
	size_t length;

	strbuf_init(&recording, JFR_WRITER_LIMIT);
	strbuf_init(&packed, JFR_WRITER_LIMIT);
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	if ((gzip_is(body) && gzip_inflate(body, BENCH_FILE_MAX, arena, &plain, &err) < 0) ||
	    pprof_read(plain, &options, arena, &input, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.message);
		exit(1);
	}
	put_methods(&writer, &input.profile, arena);
	put_traces(&writer, &input.profile);
	jfr_writer_states(&writer);
	put_events(&writer, &input.profile);
	jfr_writer_chunk(&writer, &recording);
	jfr_writer_fini(&writer);
	gzip_deflate(strbuf_view(&recording), &packed);
	length = packed.length;
	return str_make(strbuf_detach(&packed, &length), length);
}

/* ---- the way in ---- */

/* Adds the plain bytes of a body to *bytes. */
static double run_once(struct str body, enum path path, struct arena *arena, size_t *bytes)
{
	struct ingest_limits limits = ingest_limits_default;
	struct ingest_params params = {
		.name = { .app = STR("bench") },
		.from_unix_ns = INT64_C(1700000000000000000),
		.sample_rate = 100,
		.spy_name = STR("javaspy"),
	};
	const struct format_input input = {
		.body = body,
		.content_type = STR(""),
		.params = &params,
		.limits = &limits,
		.arena = arena,
	};
	const double start = bench_cpu_us();
	struct format_output out;
	struct ingest_result result;
	struct error err = { 0 };
	int status = paths[path].decode(&input, &out, &err);

	limits.reject_older_than_ns = limits.reject_newer_than_ns = 0;
	for (size_t i = 0; status == 0 && i < out.count; i++)
		status = ingest_profile(&out.profiles[i], &limits, params.from_unix_ns, &result,
		                        &err);
	if (status < 0 || out.count == 0) {
		(void)fprintf(stderr, "%s: %s\n", paths[path].name, err.message);
		exit(1);
	}
	*bytes += out.plain_bytes;
	return bench_cpu_us() - start;
}

/* The bodies of a path, and what they cost. */
struct load {
	struct str *bodies;
	size_t count;
	double us_per_mb[BENCH_ROUNDS];
	double us_per_body[BENCH_ROUNDS];
};

static void run_round(struct load *load, enum path path, struct arena *arena, int round)
{
	size_t bytes = 0;
	double us = 0;

	for (size_t i = 0; i < load->count; i++) {
		arena_reset(arena);
		us += run_once(load->bodies[i], path, arena, &bytes);
	}
	load->us_per_mb[round] = us / ((double)bytes / 1e6);
	load->us_per_body[round] = us / (double)load->count;
}

static bool is_recording(struct str body, struct arena *arena)
{
	struct str plain = body;
	struct error err;

	return (!gzip_is(body) || gzip_inflate(body, BENCH_FILE_MAX, arena, &plain, &err) == 0) &&
	       jfr_is(plain);
}

static void add_file(struct load loads[static PATHS], const char *path, struct arena *arena)
{
	const struct str body = bench_read_file(path);
	struct load *recorded = &loads[PATH_RECORDED];
	struct load *pprof = &loads[PATH_PPROF];
	struct load *made = &loads[PATH_MADE];

	arena_reset(arena);
	if (is_recording(body, arena)) {
		recorded->bodies[recorded->count++] = body;
		return;
	}
	pprof->bodies[pprof->count++] = body;
	arena_reset(arena);
	made->bodies[made->count++] = write_recording(body, arena);
}

int main(int argc, char **argv)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct load loads[PATHS] = { 0 };
	double pprof_us_per_mb = 0;

	if (argc < 2) {
		(void)fprintf(stderr, "usage: bench_recording FILE...\n");
		return 2;
	}
	for (int path = 0; path < PATHS; path++)
		loads[path].bodies = mem_zalloc((size_t)argc, sizeof(struct str));
	for (int i = 1; i < argc; i++)
		add_file(loads, argv[i], arena);
	for (int round = 0; round < BENCH_ROUNDS; round++)
		for (int path = 0; path < PATHS; path++)
			if (loads[path].count > 0)
				run_round(&loads[path], (enum path)path, arena, round);
	for (int path = 0; path < PATHS; path++) {
		struct load *load = &loads[path];
		const double us_per_mb = load->count > 0 ? bench_median(load->us_per_mb) : 0;

		if (path == PATH_PPROF)
			pprof_us_per_mb = us_per_mb;
		if (load->count > 0)
			printf("%s bodies=%zu us_per_mb=%.0f us=%.0f ratio=%.2f\n",
			       paths[path].name, load->count, us_per_mb,
			       bench_median(load->us_per_body), us_per_mb / pprof_us_per_mb);
		for (size_t i = 0; i < load->count; i++)
			bench_free(load->bodies[i]);
		free(load->bodies);
	}
	arena_free(arena);
	return 0;
}
