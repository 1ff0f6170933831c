#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_pools.h"
#include "jfr_decoded.h"

#define ARENA_BYTES ((size_t)64 << 20)
#define ONE_SAMPLE                                      \
	"process_cpu:cpu:nanoseconds:cpu:nanoseconds: " \
	"shop/Main.run;shop/Cart.add 10000000|\n"

static void assert_recording(const struct strbuf *recording, const char *pairs)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	strbuf_init(&text, 100000);
	if (jfr_decoded_run(arena, JFR_QUERY, strbuf_view(recording), &text, &err) < 0)
		fail_msg("%s", err.message);
	assert_string_equal(text.data, pairs);
}

static void assert_refused(const struct strbuf *recording, const char *message)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf text;
	struct error err = { 0 };

	strbuf_init(&text, 100000);
	assert_int_equal(jfr_decoded_run(arena, JFR_QUERY, strbuf_view(recording), &text, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_INVALID);
	if (!strstr(err.message, message))
		fail_msg("%s", err.message);
}

/* The newest record has the traces, which refer to what older ones have. */
static void constants_may_stand_in_a_chain_of_records(void **state)
{
	static const char *const names[][2] = { { "shop/Main", "run" }, { "shop/Cart", "add" } };
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_writer_methods(&writer, names, 2);
	jfr_writer_checkpoint(&writer);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 1, 1, 0, 0, 0);
	jfr_writer_states(&writer);
	jfr_writer_checkpoint(&writer);
	jfr_writer_pool(&writer, 27, 1);
	jfr_writer_trace(&writer, 1, (uint64_t[]){ 2, 1 }, 2);
	jfr_writer_chunk(&writer, &recording);
	assert_recording(&recording, ONE_SAMPLE);
	jfr_writer_fini(&writer);
}

static void a_chain_that_leads_into_a_record_is_refused(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;
	size_t delta;

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_decoded_constants(&writer);
	jfr_writer_checkpoint(&writer);
	/* size, type, start, duration: the way back is the eighth byte; 1 leads into it */
	delta = JFR_WRITER_HEAD + 7;
	jfr_writer_states(&writer);
	jfr_writer_chunk(&writer, &recording);
	assert_int_equal(recording.data[delta], 0);
	recording.data[delta] = 1;
	assert_refused(&recording, "size that does not fit");
	jfr_writer_fini(&writer);
}

static void a_chain_of_two_that_lead_to_each_other_is_refused(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	/* The older one leads ten bytes on, behind itself, to the newer one. */
	jfr_writer_checkpoint(&writer);
	assert_int_equal(writer.records.length, 10);
	writer.records.data[7] = 10;
	jfr_writer_chunk(&writer, &recording);
	assert_refused(&recording, "goes in a circle");
	jfr_writer_fini(&writer);
}

static void strings_may_be_keys_of_other_strings(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;
	struct strbuf *pools;

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	pools = &writer.pools;
	jfr_writer_pool(&writer, 12, 2);
	jfr_writer_long(&writer, pools, 900);
	jfr_writer_text(&writer, pools, "shop/Main");
	jfr_writer_long(&writer, pools, 901);
	strbuf_add(pools, "\x02", 1);
	jfr_writer_long(&writer, pools, 900); /* leads no further */
	jfr_writer_pool(&writer, 20, 3);
	for (uint64_t i = 0; i < 2; i++) {
		jfr_writer_long(&writer, pools, i + 1);
		strbuf_add(pools, "\x02", 1);
		jfr_writer_long(&writer, pools, 900 + i);
	}
	jfr_writer_long(&writer, pools, 3);
	strbuf_add(pools, "\x04\x02io", 4);
	jfr_writer_pool(&writer, 21, 1);
	for (int i = 0; i < 5; i++)
		jfr_writer_long(&writer, pools, i == 1 ? 0 : 1); /* its name is symbol 1 */
	jfr_writer_pool(&writer, 24, 2);
	for (uint64_t i = 0; i < 2; i++) {
		const uint64_t method[] = { i + 1, 1, i + 2, 0, 1, 0 };

		for (size_t part = 0; part < 6; part++)
			jfr_writer_long(&writer, pools, method[part]);
	}
	jfr_writer_pool(&writer, 27, 1);
	jfr_writer_trace(&writer, 1, (uint64_t[]){ 1, 2 }, 2);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 1, 1, 0, 0, 0);
	jfr_writer_chunk(&writer, &recording);
	assert_recording(&recording, "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	                             "shop/Main.io;shop/Main. 10000000|\n");
	jfr_writer_fini(&writer);
}

static void frames_of_unknown_methods_are_left_out(void **state)
{
	static const char *const names[][2] = { { "shop/Main", "run" }, { "shop/Cart", "add" } };
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_writer_methods(&writer, names, 2);
	/* method 9 is of a class that is not there */
	jfr_writer_pool(&writer, 24, 1);
	for (size_t part = 0; part < 6; part++)
		jfr_writer_long(&writer, &writer.pools, part == 5 ? 0 : 9);
	jfr_writer_pool(&writer, 27, 2);
	jfr_writer_trace(&writer, 1, (uint64_t[]){ 2, 77, 9, 1, 0 }, 5);
	jfr_writer_trace(&writer, 2, (uint64_t[]){ 77 }, 1);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 1, 1, 0, 0, 0);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 2, 1, 0, 0, 0);
	jfr_writer_chunk(&writer, &recording);
	/* the second stack has no frame left: a value without a stack */
	assert_recording(&recording, "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	                             "shop/Main.run;shop/Cart.add 10000000| 10000000|\n");
	jfr_writer_fini(&writer);
}

static void the_newest_of_equal_keys_counts(void **state)
{
	static const char *const old[][2] = { { "old", "old" }, { "old", "old" } };
	static const char *const new[][2] = { { "shop/Main", "run" }, { "shop/Cart", "add" } };
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_writer_methods(&writer, old, 2);
	jfr_writer_checkpoint(&writer);
	jfr_writer_methods(&writer, new, 2);
	jfr_writer_pool(&writer, 27, 1);
	jfr_writer_trace(&writer, 1, (uint64_t[]){ 2, 1 }, 2);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 1, 1, 0, 0, 0);
	jfr_writer_chunk(&writer, &recording);
	assert_recording(&recording, ONE_SAMPLE);
	jfr_writer_fini(&writer);
}

static void constants_of_a_type_that_nobody_describes_are_refused(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_writer_pool(&writer, 4711, 0);
	jfr_writer_chunk(&writer, &recording);
	assert_refused(&recording, "constants of the class 4711");
	jfr_writer_fini(&writer);
}

static void a_count_that_cannot_be_there_takes_no_memory(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(100000, NULL);
	CLEANUP(strbuf_fini) struct strbuf recording;
	CLEANUP(strbuf_fini) struct strbuf text;
	struct jfr_writer writer;
	struct error err = { 0 };

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	strbuf_init(&text, 1000);
	jfr_writer_pool(&writer, 27, UINT32_MAX);
	jfr_writer_chunk(&writer, &recording);
	assert_int_equal(jfr_decoded_run(arena, JFR_QUERY, strbuf_view(&recording), &text, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_INVALID);
	jfr_writer_fini(&writer);
}

/* Keys as the JDK has them: large, far from each other. */
static void large_keys_are_found(void **state)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;
	const uint64_t step = UINT64_C(0x123456789ab);

	(void)state;
	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_decoded_constants(&writer);
	jfr_writer_pool(&writer, 27, 1000);
	for (uint64_t i = 0; i < 1000; i++)
		jfr_writer_trace(&writer, i * step + 3, (uint64_t[]){ 2, 1 }, 2);
	for (uint64_t i = 0; i < 1000; i++)
		JFR_WRITER_EVENT(&writer, 101, 5, 0, i * step + 3, 1, 0, 0, 0);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, step + 4, 1, 0, 0, 0);
	jfr_writer_chunk(&writer, &recording);
	assert_recording(&recording, "process_cpu:cpu:nanoseconds:cpu:nanoseconds: "
	                             "shop/Main.run;shop/Cart.add 10000000000|\n");
	jfr_writer_fini(&writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constants_may_stand_in_a_chain_of_records),
		cmocka_unit_test(a_chain_that_leads_into_a_record_is_refused),
		cmocka_unit_test(a_chain_of_two_that_lead_to_each_other_is_refused),
		cmocka_unit_test(strings_may_be_keys_of_other_strings),
		cmocka_unit_test(frames_of_unknown_methods_are_left_out),
		cmocka_unit_test(the_newest_of_equal_keys_counts),
		cmocka_unit_test(constants_of_a_type_that_nobody_describes_are_refused),
		cmocka_unit_test(a_count_that_cannot_be_there_takes_no_memory),
		cmocka_unit_test(large_keys_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
