#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "formats/jfr_events.h"
#include "jfr_decoded.h"

#define ARENA_BYTES ((size_t)64 << 20)

struct fixture {
	struct jfr_writer writer;
	struct strbuf recording;
	struct strbuf text;
	struct arena *arena;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	jfr_writer_init(&fixture->writer, JFR_WRITER_TYPES);
	strbuf_init(&fixture->recording, JFR_WRITER_LIMIT);
	strbuf_init(&fixture->text, JFR_WRITER_LIMIT);
	fixture->arena = arena_new(ARENA_BYTES, NULL);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	jfr_writer_fini(&fixture->writer);
	strbuf_fini(&fixture->recording);
	strbuf_fini(&fixture->text);
	arena_free(fixture->arena);
	free(fixture);
	return 0;
}

/* Closes the chunk, decodes all chunks so far, and compares. */
static void assert_pairs(struct fixture *fixture, const char *query, const char *pairs)
{
	struct error err = { 0 };

	jfr_writer_chunk(&fixture->writer, &fixture->recording);
	if (jfr_decoded_run(fixture->arena, query, strbuf_view(&fixture->recording), &fixture->text,
	                    &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(fixture->text.data, pairs);
}

static void every_kind_of_event_has_its_profile(void **state)
{
	struct fixture *fixture = *state;
	struct jfr_writer *writer = &fixture->writer;

	jfr_decoded_constants(writer);
	JFR_WRITER_EVENT(writer, 110, 5, 1, 0xffff, 100, 0);
	JFR_WRITER_EVENT(writer, 109, 5, 1, 3, 0);
	JFR_WRITER_EVENT(writer, 108, 5, 2000, 2, 0);
	JFR_WRITER_EVENT(writer, 107, 5, 1500, 1, 0, 0, 0);
	JFR_WRITER_EVENT(writer, 106, 5, 1, 2048, 0);
	JFR_WRITER_EVENT(writer, 105, 5, 2, 4096, 0, 0, 0);
	JFR_WRITER_EVENT(writer, 104, 5, 1, 1, 16, 1024, 0, 0, 0);
	JFR_WRITER_EVENT(writer, 104, 6, 1, 1, 16, 512, 0, 0, 0);
	JFR_WRITER_EVENT(writer, 103, 5, 0, 2, 2, 7, 0, 0, 0);
	JFR_WRITER_EVENT(writer, 101, 5, 0, 1, 1, 0, 0, 0);
	assert_pairs(fixture, JFR_QUERY "&sampleRate=97",
	             "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	             "shop/Main.run;shop/Cart.add 10309278|\n"
	             "wall:wall:nanoseconds:wall:nanoseconds: "
	             "shop/Main.run;.read 72164946|\n"
	             "memory:alloc_in_new_tlab_objects:count:space:bytes "
	             "memory:alloc_in_new_tlab_bytes:bytes:space:bytes: "
	             "shop/Main.run;shop/Cart.add 2 1536|\n"
	             "memory:alloc_outside_tlab_objects:count:space:bytes "
	             "memory:alloc_outside_tlab_bytes:bytes:space:bytes: "
	             "shop/Main.run;.read 1 4096|\n"
	             "memory:alloc_sample_objects:count:space:bytes "
	             "memory:alloc_sample_bytes:bytes:space:bytes: "
	             "shop/Main.run;shop/Cart.add 1 2048|\n"
	             "mutex:contentions:count:mutex:count mutex:delay:nanoseconds:mutex:count: "
	             "shop/Main.run;shop/Cart.add 1 1500|\n"
	             "block:contentions:count:block:count block:delay:nanoseconds:block:count: "
	             "shop/Main.run;.read 1 2000|\n"
	             "memory:live:count:objects:count: shop/Main.run;shop/Cart.add 1|\n"
	             "memory:malloc_objects:count:: memory:malloc_bytes:bytes::: "
	             "shop/Main.run;shop/Cart.add 1 100|\n");
}

static void a_thread_that_sleeps_takes_no_cpu(void **state)
{
	struct fixture *fixture = *state;

	jfr_decoded_constants(&fixture->writer);
	jfr_writer_setting(&fixture->writer, "event", "itimer");
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 1, 1, 0, 0, 0);
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 2, 2, 0, 0, 0); /* asleep */
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 2, 9, 0, 0, 0); /* a state of no name */
	assert_pairs(fixture, JFR_QUERY,
	             "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	             "shop/Main.run;shop/Cart.add 10000000|shop/Main.run;.read 10000000|\n");
}

static void a_recording_of_the_wall_clock_has_both(void **state)
{
	struct fixture *fixture = *state;

	jfr_decoded_constants(&fixture->writer);
	/* before the setting: not of the wall clock */
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 1, 1, 0, 0, 0);
	jfr_writer_setting(&fixture->writer, "interval", "10ms");
	jfr_writer_setting(&fixture->writer, "event", "wall");
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 1, 1, 0, 0, 0);
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 2, 2, 0, 0, 0);
	assert_pairs(fixture, JFR_QUERY,
	             "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	             "shop/Main.run;shop/Cart.add 20000000|\n"
	             "wall:wall:nanoseconds:wall:nanoseconds: "
	             "shop/Main.run;shop/Cart.add 10000000|shop/Main.run;.read 10000000|\n");
}

/* The setting holds over the border of chunks; a count is that of its event alone. */
static void wall_clock_samples_count_for_themselves(void **state)
{
	struct fixture *fixture = *state;

	jfr_decoded_constants(&fixture->writer);
	jfr_writer_setting(&fixture->writer, "event", "wall");
	jfr_writer_chunk(&fixture->writer, &fixture->recording);
	jfr_decoded_constants(&fixture->writer);
	JFR_WRITER_EVENT(&fixture->writer, 103, 5, 0, 1, 1, 5, 0, 0, 0);
	JFR_WRITER_EVENT(&fixture->writer, 103, 5, 0, 2, 2, 3, 0, 0, 0);
	JFR_WRITER_EVENT(&fixture->writer, 109, 5, 1, 3, 0);
	assert_pairs(fixture, JFR_QUERY "&sampleRate=1000000000",
	             "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	             "shop/Main.run;shop/Cart.add 5|\n"
	             "wall:wall:nanoseconds:wall:nanoseconds: "
	             "shop/Main.run;shop/Cart.add 5|shop/Main.run;.read 3|\n"
	             "memory:live:count:objects:count: shop/Main.run;shop/Cart.add 1|\n");
}

static void a_rate_of_zero_scales_cpu_to_nothing(void **state)
{
	static const char *const rates[] = { "&sampleRate=0", "&sampleRate=2000000000" };

	for (size_t i = 0; i < ARRAY_LENGTH(rates); i++) {
		struct fixture *fixture = *state;
		CLEANUP(strbuf_fini) struct strbuf query;

		strbuf_init(&query, 1000);
		strbuf_printf(&query, "%s%s", JFR_QUERY, rates[i]);
		strbuf_reset(&fixture->recording);
		jfr_decoded_constants(&fixture->writer);
		JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 1, 1, 0, 0, 0);
		JFR_WRITER_EVENT(&fixture->writer, 108, 5, 2000, 2, 0);
		assert_pairs(fixture, query.data,
		             "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
		             "shop/Main.run;shop/Cart.add 0|\n"
		             "block:contentions:count:block:count "
		             "block:delay:nanoseconds:block:count: "
		             "shop/Main.run;.read 1 2000|\n");
	}
}

static void events_without_a_stack_are_left_out(void **state)
{
	struct fixture *fixture = *state;

	jfr_decoded_constants(&fixture->writer);
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 0, 1, 0, 0, 0);
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 77, 1, 0, 0, 0);
	JFR_WRITER_EVENT(&fixture->writer, 5000, 1, 2, 3); /* of a type nobody describes */
	JFR_WRITER_EVENT(&fixture->writer, 29, 1, 2, 3);   /* of a type that is no event */
	assert_pairs(fixture, JFR_QUERY, "");
}

static void chunks_with_other_numbers_add_up(void **state)
{
	static const char *const other[][2] = { { "shop/Cart", "add" }, { "shop/Main", "run" } };
	struct fixture *fixture = *state;
	struct jfr_writer *writer = &fixture->writer;

	jfr_decoded_constants(writer);
	JFR_WRITER_EVENT(writer, 101, 5, 0, 1, 1, 0, 0, 0);
	jfr_writer_chunk(writer, &fixture->recording);
	jfr_writer_methods(writer, other, 2);
	jfr_writer_pool(writer, 27, 1);
	jfr_writer_long(writer, &writer->pools, UINT64_C(0x8000000000000001));
	strbuf_add_byte(&writer->pools, 0);
	jfr_writer_int(writer, &writer->pools, 2);
	for (uint64_t i = 1; i <= 2; i++) {
		jfr_writer_long(writer, &writer->pools, i);
		jfr_writer_int(writer, &writer->pools, i == 1 ? 20 : 10); /* as in chunk 1 */
		jfr_writer_int(writer, &writer->pools, 3);
		jfr_writer_long(writer, &writer->pools, 1);
	}
	JFR_WRITER_EVENT(writer, 101, 5, 0, UINT64_C(0x8000000000000001), 1, 0, 0, 0);
	assert_pairs(fixture, JFR_QUERY,
	             "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	             "shop/Main.run;shop/Cart.add 20000000|\n");
}

static void sums_wrap(void **state)
{
	struct fixture *fixture = *state;

	jfr_decoded_constants(&fixture->writer);
	JFR_WRITER_EVENT(&fixture->writer, 110, 5, 1, 0, INT64_MAX, 0);
	JFR_WRITER_EVENT(&fixture->writer, 110, 5, 1, 0, 2, 0);
	assert_pairs(fixture, JFR_QUERY,
	             "memory:malloc_objects:count:: memory:malloc_bytes:bytes::: "
	             "shop/Main.run;shop/Cart.add 2 -9223372036854775807|\n");
}

static void an_event_that_is_too_short_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };

	jfr_decoded_constants(&fixture->writer);
	JFR_WRITER_EVENT(&fixture->writer, 101, 5, 0, 1);
	jfr_writer_chunk(&fixture->writer, &fixture->recording);
	assert_int_equal(jfr_decoded_run(fixture->arena, JFR_QUERY,
	                                 strbuf_view(&fixture->recording), &fixture->text, &err),
	                 -1);
	assert_non_null(strstr(err.message, "an event jdk.ExecutionSample is shorter"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(every_kind_of_event_has_its_profile, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_thread_that_sleeps_takes_no_cpu, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_recording_of_the_wall_clock_has_both, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(wall_clock_samples_count_for_themselves, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_rate_of_zero_scales_cpu_to_nothing, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(events_without_a_stack_are_left_out, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(chunks_with_other_numbers_add_up, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(sums_wrap, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_event_that_is_too_short_is_refused, set_up,
		                                tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
