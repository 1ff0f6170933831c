/*
 * What blocks cost: bytes of each body, CPU time of building and of reading.
 *
 * 	bench_block INSTANCES FILE...
 *
 * FILEs are the bodies of profbench gen --services 1: a profile of each instance, then the
 * next tick. They go the way of every push up to the samples of fresh rows; then blocks are
 * built of these, cut between instances where one block does not hold all. Figures of
 * reading are medians of ROUNDS, and the best one: other load shows in their difference.
 */
#include "base/gzip.h"
#include "bench_rounds.h"
#include "formats/push_request.h"
#include "profile/ingest.h"
#include "storage/block_builder.h"
#include "storage/block_heads.h"
#include "storage/block_rows.h"
#include "storage/block_sums.h"
#include "storage/interner.h"
#include "storage/page.h"

#define ARENA_BYTES ((size_t)1 << 30)
#define ROUNDS      51
#define TICK_NS     (INT64_C(15) * 1000000000)
#define START       (INT64_C(1790000000) * 1000000000)

static void stop(const char *what, const struct error *err)
{
	(void)fprintf(stderr, "%s: %s\n", what, err->message);
	exit(1);
}

/* ---- fresh rows ---- */

struct fresh {
	struct block_profile head;
	struct str samples; /* payload of its sample body */
	size_t body_bytes;
	size_t row_count;
};

struct ingest {
	size_t instances;
	struct interner *interner;
	struct symbol_table *symbols;
	struct arena *kept;
	struct fresh *fresh;
	size_t count;
	size_t capacity;
	size_t series_count;
};

static void keep(struct ingest *ingest, const struct series_profile *profile, size_t instance,
                 const uint32_t *stacks, struct fresh *out)
{
	const int64_t *values[SAMPLE_SERIES_MAX];
	int64_t *totals = arena_array(ingest->kept, profile->series_count, sizeof(*totals));
	struct strbuf raw;
	struct strbuf body;

	for (size_t i = 0; i < profile->series_count; i++) {
		values[i] = profile->series[i].values;
		totals[i] = profile->series[i].total;
	}
	strbuf_init(&raw, PAGE_RAW_MAX);
	strbuf_init(&body, PAGE_RAW_MAX);
	sample_page_encode(&(struct sample_columns){ profile->row_count, profile->series_count,
	                                             stacks, values, NULL, NULL },
	                   &raw);
	page_seal(strbuf_view(&raw), 1, &body);
	*out = (struct fresh){
		.head = { .group = (uint32_t)instance,
		          .time_unix_ns = profile->time_unix_ns,
		          .id = profile->id,
		          .origin = profile->origin,
		          .duration_ns = profile->duration_ns,
		          .received_s = profile->time_unix_ns / 1000000000 + 1,
		          .totals = totals },
		.samples = arena_copy(ingest->kept, strbuf_view(&raw)),
		.body_bytes = body.length,
		.row_count = profile->row_count,
	};
	ingest->series_count = profile->series_count;
	strbuf_fini(&raw);
	strbuf_fini(&body);
}

static void intern(struct ingest *ingest, const struct series_profile *profile, size_t instance,
                   struct fresh *out)
{
	struct write_hashes *hashes = write_hashes_new(profile, 1, 1);
	const struct profile_hashes own = write_hashes_of(hashes, 0);
	uint32_t *stacks = mem_zalloc(profile->row_count + 1, sizeof(*stacks));
	struct error err;

	if (interner_add(ingest->interner, profile, &own, stacks, &err) < 0)
		stop("interner", &err);
	keep(ingest, profile, instance, stacks, out);
	free(stacks);
	write_hashes_free(hashes);
}

/* The way of a push up to its rows: the n-th profile of all is the n-th instance's. */
static void add_sample(struct ingest *ingest, const struct label_set *labels,
                       const struct push_sample *sample)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct pprof_options options = { 0 };
	const size_t instance = ingest->count % ingest->instances;
	const size_t tick = ingest->count / ingest->instances;
	struct ingest_limits limits = ingest_limits_default;
	struct str body = sample->raw_profile;
	struct pprof_input input = { 0 };
	struct ingest_profile profile = {
		.input = &input,
		.labels = *labels,
		.payload = sample->raw_profile,
	};
	struct ingest_result result;
	struct error err;

	limits.reject_older_than_ns = limits.reject_newer_than_ns = 0;
	if ((gzip_is(body) && gzip_inflate(body, (size_t)64 << 20, arena, &body, &err) < 0) ||
	    pprof_read(body, &options, arena, &input, &err) < 0)
		stop("pprof", &err);
	input.profile.time_unix_ns = START + (int64_t)tick * TICK_NS + (int64_t)instance;
	if (ingest_profile(&profile, &limits, START, &result, &err) < 0)
		stop("profile", &err);
	if (ingest->count == ingest->capacity) {
		ingest->capacity = ingest->capacity * 2 + 1024;
		ingest->fresh = mem_resize(ingest->fresh, ingest->capacity, sizeof(*ingest->fresh));
	}
	intern(ingest, &result.profiles[0], instance, &ingest->fresh[ingest->count++]);
	arena_free(arena);
}

static void add_file(struct ingest *ingest, const char *path)
{
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	const struct str file = bench_read_file(path);
	struct push_request request;
	struct error err;

	if (push_request_decode(file, arena, &request, &err) < 0)
		stop(path, &err);
	for (size_t i = 0; i < request.series_count; i++)
		for (size_t j = 0; j < request.series[i].sample_count; j++)
			add_sample(ingest, &request.series[i].labels,
			           &request.series[i].samples[j]);
	bench_free(file);
	arena_free(arena);
}

/* By instance, then by time: as a block wants them. */
static int compare_fresh(const void *a, const void *b)
{
	const struct block_profile *left = &((const struct fresh *)a)->head;
	const struct block_profile *right = &((const struct fresh *)b)->head;

	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return (left->time_unix_ns > right->time_unix_ns) -
	       (left->time_unix_ns < right->time_unix_ns);
}

/* Stacks get their ids in the order of time. */
static struct ingest ingest_all(char **files, size_t count, size_t instances)
{
	struct ingest ingest = {
		.symbols = symbol_table_new(),
		.kept = arena_new(ARENA_BYTES, NULL),
		.instances = instances,
	};
	struct error err;

	if (interner_new(ingest.symbols, 1, &ingest.interner, &err) < 0)
		stop("interner", &err);
	for (size_t i = 0; i < count; i++)
		add_file(&ingest, files[i]);
	qsort(ingest.fresh, ingest.count, sizeof(*ingest.fresh), compare_fresh);
	return ingest;
}

/* ---- building ---- */

#define BLOCKS_MAX 64

struct blocks {
	struct block_bodies bodies[BLOCKS_MAX];
	size_t count;
};

static void add_fresh(struct block_builder *builder, const struct fresh *fresh)
{
	struct arena *scratch = arena_new(ARENA_BYTES, NULL);
	struct sample_page page;
	struct error err;

	if (sample_page_decode(fresh->samples, scratch, &page, &err) < 0 ||
	    block_builder_add(builder, &fresh->head, &page, scratch, &err) < 0)
		stop("add", &err);
	arena_free(scratch);
}

static size_t rows_of(const struct fresh *fresh, size_t count)
{
	size_t rows = 0;

	for (size_t i = 0; i < count; i++)
		rows += fresh[i].row_count;
	return rows;
}

/* Whole instances, as many as fit. Returns where the next block begins. */
static size_t build_one(const struct ingest *ingest, size_t first, size_t ticks,
                        struct block_bodies *out)
{
	struct block_builder *builder;
	struct error err;
	size_t at = first;

	if (block_builder_new(ingest->series_count, NULL, &builder, &err) < 0)
		stop("builder", &err);
	while (at < ingest->count &&
	       block_builder_fits(builder, rows_of(ingest->fresh + at, ticks)))
		for (size_t i = 0; i < ticks; i++)
			add_fresh(builder, &ingest->fresh[at++]);
	if (block_builder_finish(builder, out, &err) < 0)
		stop("finish", &err);
	block_builder_free(builder);
	return at;
}

static void free_blocks(struct blocks *blocks)
{
	for (size_t i = 0; i < blocks->count; i++)
		block_bodies_fini(&blocks->bodies[i]);
	blocks->count = 0;
}

/* Builds all blocks BENCH_ROUNDS times, and keeps the last ones. */
static void build(const struct ingest *ingest, struct blocks *out)
{
	const size_t ticks = ingest->count / ingest->instances;
	double rounds[BENCH_ROUNDS];

	for (size_t i = 0; i < BENCH_ROUNDS; i++) {
		const double start = bench_cpu_us();

		free_blocks(out);
		for (size_t at = 0; at < ingest->count && out->count < BLOCKS_MAX; out->count++)
			at = build_one(ingest, at, ticks, &out->bodies[out->count]);
		rounds[i] = (bench_cpu_us() - start) / (double)ingest->count;
	}
	(void)printf("build: %.1f us a profile, ", bench_median(rounds));
	(void)printf("at best %.1f; %zu blocks\n", rounds[0], out->count);
}

static void print_bytes(const struct ingest *ingest, const struct blocks *blocks)
{
	size_t fresh = 0;
	size_t heads = 0;
	size_t origins = 0;
	size_t sums = 0;
	size_t detail = 0;
	const double count = (double)ingest->count;

	for (size_t i = 0; i < ingest->count; i++)
		fresh += ingest->fresh[i].body_bytes;
	for (size_t i = 0; i < blocks->count; i++) {
		heads += blocks->bodies[i].heads.length;
		origins += blocks->bodies[i].origins.length;
		sums += blocks->bodies[i].sums.length;
		detail += blocks->bodies[i].detail.length;
	}
	(void)printf("bytes a profile: fresh %.1f; heads %.1f + sums %.1f + detail %.1f = %.1f; "
	             "origins %.1f\n",
	             (double)fresh / count, (double)heads / count, (double)sums / count,
	             (double)detail / count, (double)(heads + sums + detail) / count,
	             (double)origins / count);
}

/* ---- reading ---- */

/* What is being measured: adds all of a block to the accumulator, counts what it added. */
typedef size_t (*reading)(const struct block_bodies *bodies, struct arena *arena,
                          struct accumulator *accumulator);

static struct str open_body(const struct strbuf *body, struct arena *arena)
{
	struct str payload;
	struct error err;

	if (page_open(strbuf_view(body), arena, &payload, &err) < 0)
		stop("open", &err);
	return payload;
}

static size_t open_sums(const struct block_bodies *bodies, struct arena *arena,
                        struct accumulator *accumulator)
{
	struct block_sums sums;
	struct error err;

	(void)accumulator;
	if (block_sums_decode(open_body(&bodies->sums, arena), arena, &sums, &err) < 0)
		stop("sums", &err);
	return sums.firsts[sums.group_count];
}

static size_t read_sums(const struct block_bodies *bodies, struct arena *arena,
                        struct accumulator *accumulator)
{
	struct block_sums sums;
	uint32_t *groups;
	struct error err;

	if (block_sums_decode(open_body(&bodies->sums, arena), arena, &sums, &err) < 0)
		stop("sums", &err);
	groups = arena_array_raw(arena, sums.group_count, sizeof(*groups));
	for (uint32_t i = 0; i < sums.group_count; i++)
		groups[i] = i;
	if (block_sums_add(&sums, &(struct block_group_list){ groups, sums.group_count },
	                   sums.series_count - 1, arena, accumulator, &err) < 0)
		stop("sums", &err);
	return sums.firsts[sums.group_count];
}

/* The middle half of each group. */
static size_t read_cut(const struct block_bodies *bodies, struct arena *arena,
                       struct accumulator *accumulator)
{
	struct block_span *spans;
	struct block_heads heads;
	struct block_detail detail;
	struct error err;

	if (block_heads_decode(open_body(&bodies->heads, arena), arena, &heads, &err) < 0 ||
	    block_detail_decode(open_body(&bodies->detail, arena), arena, &detail, &err) < 0)
		stop("detail", &err);
	spans = arena_array(arena, heads.group_count, sizeof(*spans));
	for (uint32_t i = 0; i < heads.group_count; i++) {
		const uint32_t quarter = (heads.firsts[i + 1] - heads.firsts[i]) / 4;

		spans[i] = (struct block_span){ heads.firsts[i] + quarter,
			                        heads.firsts[i + 1] - quarter };
	}
	if (block_detail_add(&detail, detail.series_count - 1, spans, heads.group_count, arena,
	                     accumulator, &err) < 0)
		stop("detail", &err);
	return detail.row_count;
}

static size_t read_rows(const struct block_bodies *bodies, struct arena *arena,
                        struct accumulator *accumulator)
{
	static const uint32_t series[] = { 0 };
	struct block_detail detail;
	struct block_rows rows;
	struct error err;

	(void)accumulator;
	if (block_detail_decode(open_body(&bodies->detail, arena), arena, &detail, &err) < 0 ||
	    block_detail_rows(&detail, &(struct block_span){ 0, detail.profile_count }, 1, series,
	                      1, arena, &rows, &err) < 0)
		stop("rows", &err);
	return detail.row_count;
}

static size_t read_totals(const struct block_bodies *bodies, struct arena *arena,
                          struct accumulator *accumulator)
{
	struct block_heads heads;
	struct error err;
	int64_t *totals;

	(void)accumulator;
	if (block_heads_decode(open_body(&bodies->heads, arena), arena, &heads, &err) < 0 ||
	    block_heads_totals(&heads, 0, arena, &totals, &err) < 0)
		stop("heads", &err);
	return heads.profile_count;
}

static size_t unpack_detail(const struct block_bodies *bodies, struct arena *arena,
                            struct accumulator *accumulator)
{
	(void)accumulator;
	return open_body(&bodies->detail, arena).length;
}

static void measure(const struct ingest *ingest, const struct blocks *blocks, const char *what,
                    reading read)
{
	struct accumulator accumulator = { 0 };
	struct arena *arena = arena_new(ARENA_BYTES, NULL);
	double rounds[ROUNDS];
	size_t count = 0;
	struct error err;

	if (accumulator_reserve(&accumulator, ingest->symbols->counts[SYMBOL_STACK], &err) < 0)
		stop(what, &err);
	for (size_t i = 0; i < ROUNDS; i++) {
		const double start = bench_cpu_us();

		count = 0;
		for (size_t j = 0; j < blocks->count; j++) {
			count += read(&blocks->bodies[j], arena, &accumulator);
			arena_reset(arena);
		}
		rounds[i] = bench_cpu_us() - start;
	}
	qsort(rounds, ROUNDS, sizeof(*rounds), bench_compare);
	(void)printf("%s: %.0f us a block, %.2f ns each of %zu; at best %.2f\n", what,
	             rounds[ROUNDS / 2] / (double)blocks->count,
	             rounds[ROUNDS / 2] * 1e3 / (double)count, count,
	             rounds[0] * 1e3 / (double)count);
	accumulator_fini(&accumulator);
	arena_free(arena);
}

int main(int argc, char **argv)
{
	struct blocks blocks = { .count = 0 };
	struct ingest ingest;
	size_t instances;

	if (argc < 3) {
		(void)fputs("usage: bench_block INSTANCES FILE...\n", stderr);
		return 2;
	}
	instances = strtoul(argv[1], NULL, 10);
	ingest = ingest_all(argv + 2, (size_t)argc - 2, instances);
	build(&ingest, &blocks);
	print_bytes(&ingest, &blocks);
	measure(&ingest, &blocks, "open sums", open_sums);
	measure(&ingest, &blocks, "open and add sums", read_sums);
	measure(&ingest, &blocks, "open and add a cut", read_cut);
	measure(&ingest, &blocks, "unpack detail alone", unpack_detail);
	measure(&ingest, &blocks, "rows by profile", read_rows);
	measure(&ingest, &blocks, "totals", read_totals);
	free_blocks(&blocks);
	interner_free(ingest.interner);
	symbol_table_free(ingest.symbols);
	arena_free(ingest.kept);
	free(ingest.fresh);
	return 0;
}
