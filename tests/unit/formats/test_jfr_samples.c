#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_samples.h"
#include "tests/unit/growth.h"
#include "vectors.h"

#define ARENA_BYTES ((size_t)64 << 20)

/*
 * Contexts 7: {1: 2}, 8: {1: 2, 4: 5, 1: 9}, 0: {4: 5}; strings 1 thread_name,
 * 2 worker-1, 3 checkout, 4 tier, 5 gold. 9 is none.
 */
#define LABELS_HEX                                                       \
	"0a0a080712060a0408011002"                                       \
	"0a16080812120a04080110020a04080410050a0408011009"               \
	"0a0a080012060a0408041005"                                       \
	"120f0801120b7468726561645f6e616d65120c08021208776f726b65722d31" \
	"120c08031208636865636b6f7574"                                   \
	"12080804120474696572"                                           \
	"120808051204676f6c64"

struct fixture {
	struct arena *arena;
	struct jfr_labels names;
	struct jfr_samples samples;
};

static void begin(struct fixture *fixture, const char *labels, size_t max_samples)
{
	struct error err = { 0 };

	fixture->arena = arena_new(ARENA_BYTES, NULL);
	assert_int_equal(jfr_labels_read(vector_unhex(fixture->arena, labels), fixture->arena,
	                                 &fixture->names, &err),
	                 0);
	assert_int_equal(jfr_samples_init(&fixture->samples, &fixture->names, max_samples,
	                                  fixture->arena, &err),
	                 0);
}

static void add(struct fixture *fixture, uint32_t stack, struct jfr_context context)
{
	const uint64_t values[2] = { 1, 10 };
	struct error err = { 0 };

	assert_int_equal(
		jfr_samples_add(&fixture->samples, JFR_MUTEX, stack, &context, values, &err), 0);
}

/* "name=value ..." of a sample. */
static void assert_labels(const struct fixture *fixture, size_t sample, const char *text)
{
	const struct jfr_samples *samples = &fixture->samples;
	const struct jfr_label_set set = samples->sets[samples->samples[sample].set];
	CLEANUP(strbuf_fini) struct strbuf found;

	strbuf_init(&found, 1000);
	for (uint32_t i = 0; i < set.label_count; i++) {
		const struct profile_label label = samples->labels[set.first_label + i];

		strbuf_printf(&found, "%.*s=%.*s ", STR_ARGS(samples->texts[label.key]),
		              STR_ARGS(samples->texts[label.value]));
	}
	assert_string_equal(found.data, text);
}

static void numbers_become_labels(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture, LABELS_HEX, 0);
	add(&fixture, 1, (struct jfr_context){ .context = 7 });
	add(&fixture, 1, (struct jfr_context){ .context = 8 });
	add(&fixture, 1, (struct jfr_context){ .context = 9 });
	add(&fixture, 1, (struct jfr_context){ .context = 0 });
	add(&fixture, 1, (struct jfr_context){ .context = 7, .span = 42, .span_name = 3 });
	add(&fixture, 1,
	    (struct jfr_context){ .context = 9, .span = UINT64_C(1) << 63, .span_name = 9 });
	assert_labels(&fixture, 0, "thread_name=worker-1 ");
	assert_labels(&fixture, 1, "thread_name=worker-1 tier=gold ");
	assert_labels(&fixture, 2, "");
	assert_labels(&fixture, 3, "tier=gold ");
	assert_labels(&fixture, 4,
	              "thread_name=worker-1 profile_id=000000000000002a span_name=checkout ");
	assert_labels(&fixture, 5, "profile_id=8000000000000000 ");
	assert_int_equal(fixture.samples.most_labels, 3);
	arena_free(fixture.arena);
}

static void without_names_only_spans_are_labels(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture, "", 0);
	add(&fixture, 1, (struct jfr_context){ .context = 7, .span_name = 3 });
	add(&fixture, 1, (struct jfr_context){ .span = 1 });
	assert_labels(&fixture, 0, "");
	assert_labels(&fixture, 1, "profile_id=0000000000000001 ");
	arena_free(fixture.arena);
}

static void equal_events_are_one_sample(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture, LABELS_HEX, 0);
	for (int i = 0; i < 3; i++) {
		add(&fixture, 1, (struct jfr_context){ .context = 7 });
		add(&fixture, 1, (struct jfr_context){ .span = 7 });
		add(&fixture, 2, (struct jfr_context){ .context = 7 });
	}
	assert_int_equal(fixture.samples.sample_count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(fixture.samples.samples[i].count, 3);
		assert_int_equal(fixture.samples.samples[i].amount, 30);
	}
	assert_int_equal(fixture.samples.kept[JFR_MUTEX], 3);
	assert_int_equal(fixture.samples.kept[JFR_CPU], 0);
	arena_free(fixture.arena);
}

static void more_than_the_limit_is_counted_and_not_kept(void **state)
{
	struct fixture fixture;

	(void)state;
	begin(&fixture, "", 100);
	for (uint32_t i = 0; i < 1000; i++)
		add(&fixture, i, (struct jfr_context){ .span = i });
	add(&fixture, 0, (struct jfr_context){ 0 });
	assert_int_equal(fixture.samples.kept[JFR_MUTEX], 100);
	assert_int_equal(fixture.samples.sent[JFR_MUTEX], 101);
	assert_true(fixture.samples.label_count <= 101);
	arena_free(fixture.arena);
}

/* Context 1 has 1,001 labels, all of string 1. */
static void labels_of_a_sample_have_a_limit(void **state)
{
	const struct jfr_context context = { .context = 1 };
	const uint64_t values[2] = { 1, 0 };
	CLEANUP(strbuf_fini) struct strbuf snapshot;
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct jfr_labels names;
	struct jfr_samples samples;
	struct error err = { 0 };
	size_t entry;
	size_t inner;

	(void)state;
	strbuf_init(&snapshot, 100000);
	entry = wire_begin(&snapshot, 2);
	wire_put_uint(&snapshot, 1, 1);
	wire_put_bytes(&snapshot, 2, STR("a"));
	wire_end(&snapshot, entry);
	entry = wire_begin(&snapshot, 1);
	wire_put_uint(&snapshot, 1, 1);
	inner = wire_begin(&snapshot, 2);
	for (int i = 0; i < 1001; i++) {
		const size_t label = wire_begin(&snapshot, 1);

		wire_put_uint(&snapshot, 1, 1);
		wire_put_uint(&snapshot, 2, 1);
		wire_end(&snapshot, label);
	}
	wire_end(&snapshot, inner);
	wire_end(&snapshot, entry);
	assert_int_equal(jfr_labels_read(strbuf_view(&snapshot), arena, &names, &err), 0);
	assert_int_equal(jfr_samples_init(&samples, &names, 0, arena, &err), 0);
	assert_int_equal(jfr_samples_add(&samples, JFR_CPU, 1, &context, values, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_non_null(strstr(err.message, "more than 1000 labels"));
}

static void put_string(struct strbuf *snapshot, uint64_t number, struct str text)
{
	const size_t entry = wire_begin(snapshot, 2);

	wire_put_uint(snapshot, 1, number);
	wire_put_bytes(snapshot, 2, text);
	wire_end(snapshot, entry);
}

/* A context of `pairs` labels, all of them with that string as name and value. */
static void put_context(struct strbuf *snapshot, uint64_t number, size_t pairs, uint64_t string)
{
	const size_t entry = wire_begin(snapshot, 1);
	size_t inner;

	wire_put_uint(snapshot, 1, number);
	inner = wire_begin(snapshot, 2);
	for (size_t i = 0; i < pairs; i++) {
		const size_t label = wire_begin(snapshot, 1);

		wire_put_uint(snapshot, 1, string);
		wire_put_uint(snapshot, 2, string);
		wire_end(snapshot, label);
	}
	wire_end(snapshot, inner);
	wire_end(snapshot, entry);
}

static void read_snapshot(struct fixture *fixture, const struct strbuf *snapshot)
{
	struct error err = { 0 };

	fixture->arena = arena_new(ARENA_BYTES, NULL);
	assert_int_equal(
		jfr_labels_read(strbuf_view(snapshot), fixture->arena, &fixture->names, &err), 0);
	assert_int_equal(
		jfr_samples_init(&fixture->samples, &fixture->names, 0, fixture->arena, &err), 0);
}

/* Context 1 has labels of strings that nobody knows, for as many spans as it has labels. */
static void name_a_context_of_many_pairs(size_t count)
{
	CLEANUP(strbuf_fini) struct strbuf snapshot;
	struct fixture fixture;

	strbuf_init(&snapshot, 1 << 20);
	put_context(&snapshot, 1, count, 99);
	read_snapshot(&fixture, &snapshot);
	for (uint64_t i = 1; i <= count; i++)
		add(&fixture, 1, (struct jfr_context){ .context = 1, .span = i });
	assert_int_equal(fixture.samples.most_labels, 1);
	arena_free(fixture.arena);
}

/* A string of that many bytes, for a context for each eighth of them. */
static void name_a_long_string(size_t size)
{
	CLEANUP(strbuf_fini) struct strbuf snapshot;
	CLEANUP(strbuf_fini) struct strbuf text;
	struct fixture fixture;

	strbuf_init(&snapshot, 16 << 20);
	strbuf_init(&text, size);
	while (text.length < size)
		strbuf_add_byte(&text, 'x');
	put_string(&snapshot, 1, strbuf_view(&text));
	for (uint64_t i = 1; i <= size / 8; i++)
		put_context(&snapshot, i, 1, 1);
	read_snapshot(&fixture, &snapshot);
	for (uint64_t i = 1; i <= size / 8; i++)
		add(&fixture, 1, (struct jfr_context){ .context = i });
	assert_int_equal(fixture.samples.text_ids.count, 1);
	arena_free(fixture.arena);
}

static void contexts_and_strings_are_read_once(void **state)
{
	(void)state;
	growth_is_linear(name_a_context_of_many_pairs, 3000);
	growth_is_linear(name_a_long_string, 64 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_become_labels),
		cmocka_unit_test(without_names_only_spans_are_labels),
		cmocka_unit_test(equal_events_are_one_sample),
		cmocka_unit_test(more_than_the_limit_is_counted_and_not_kept),
		cmocka_unit_test(labels_of_a_sample_have_a_limit),
		cmocka_unit_test(contexts_and_strings_are_read_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
