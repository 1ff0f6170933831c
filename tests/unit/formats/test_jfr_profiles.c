#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "formats/jfr_profiles.h"
#include "jfr_decoded.h"

#define ARENA_BYTES ((size_t)64 << 20)

static struct str label_of(struct ingest_profile *pair, const char *name)
{
	const struct format_output one = { .profiles = pair, .count = 1 };

	return decoded_label(&one, name);
}

/* A CPU sample and an allocation, decoded with this query. */
static void decode(struct arena *arena, const char *query, struct format_output *out)
{
	CLEANUP(strbuf_fini) struct strbuf recording;
	struct jfr_writer writer;
	struct error err = { 0 };
	struct str body;

	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	strbuf_init(&recording, JFR_WRITER_LIMIT);
	jfr_decoded_constants(&writer);
	jfr_writer_setting(&writer, "event", "cpu");
	jfr_writer_setting(&writer, "event", "itimer");
	jfr_writer_setting(&writer, "alloc", "512k");
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 1, 1, 0, 0, 0);
	JFR_WRITER_EVENT(&writer, 101, 5, 0, 2, 1, 0, 0, 0);
	JFR_WRITER_EVENT(&writer, 104, 5, 1, 1, 16, 1024, 0, 0, 0);
	jfr_writer_chunk(&writer, &recording);
	jfr_writer_fini(&writer);
	body = arena_copy(arena, strbuf_view(&recording));
	assert_int_equal(decoded_run(arena, query, STR(""), body, out, &err), 0);
	assert_int_equal(out->count, 2);
	assert_int_equal(out->stage, FORMAT_STORING);
	assert_true(str_equal(out->profiles[0].payload, body));
}

static void pairs_have_the_labels_of_the_request(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;

	(void)state;
	decode(arena, JFR_QUERY, &out);
	for (size_t i = 0; i < out.count; i++) {
		struct ingest_profile *pair = &out.profiles[i];

		assert_true(str_equals(label_of(pair, "env"), "dev"));
		assert_true(str_equals(label_of(pair, "pyroscope_spy"), "javaspy"));
		assert_true(str_equals(label_of(pair, "__delta__"), "false"));
		assert_true(str_equals(label_of(pair, "jfr_event"), "itimer"));
		assert_true(str_equals(label_of(pair, "service_name"), "shop"));
		assert_null(label_of(pair, "app_name").data);
		assert_int_equal(pair->input->profile.time_unix_ns, INT64_C(1700000000000000000));
		assert_int_equal(pair->input->profile.duration_ns, INT64_C(10000000000));
	}
	assert_true(str_equals(label_of(&out.profiles[0], "__name__"), "process_cpu"));
	assert_true(str_equals(label_of(&out.profiles[1], "__name__"), "memory"));
}

static void an_application_keeps_its_name_beside_a_service(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;

	(void)state;
	/* a dotted name is whole: nothing of it is a type */
	decode(arena,
	       "name=my.shop.cpu{service_name=front}&format=jfr&from=1700000010&until=1700000000",
	       &out);
	assert_true(str_equals(label_of(&out.profiles[0], "service_name"), "front"));
	assert_true(str_equals(label_of(&out.profiles[0], "app_name"), "my.shop.cpu"));
	assert_true(str_equals(label_of(&out.profiles[0], "pyroscope_spy"), "unknown"));
	assert_int_equal(out.profiles[0].input->profile.duration_ns, 0);
}

static void frames_have_lines_and_a_mapping_of_functions(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;
	const struct profile *profile;

	(void)state;
	decode(arena, JFR_QUERY, &out);
	profile = &out.profiles[0].input->profile;
	assert_int_equal(profile->mapping_count, 1);
	assert_int_equal(profile->mappings[0].flags, PROFILE_HAS_FUNCTIONS);
	assert_ptr_not_equal(profile->mappings, out.profiles[1].input->profile.mappings);
	assert_int_equal(profile->period, 10000000);
	assert_int_equal(profile->string_count, 1 + 9 * 6 + 3);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct profile_sample sample = profile->samples[i];
		const uint32_t leaf = profile->stacks[sample.first_frame];
		const uint32_t root = profile->stacks[sample.first_frame + 1];

		/* method 2 at line 20, then 3 at 30, both called by 1 at 10 */
		assert_int_equal(profile->lines[leaf].line, i == 0 ? 20 : 30);
		assert_int_equal(profile->lines[root].line, 10);
		assert_int_equal(profile->locations[leaf].mapping, 0);
	}
}

/* What a message of the same profile takes, tables of others left out. */
static void the_size_is_about_that_of_a_pprof(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf message;
	struct format_output out;
	struct profile profile;
	size_t unused = 0;

	(void)state;
	strbuf_init(&message, 100000);
	decode(arena, JFR_QUERY, &out);
	profile = out.profiles[0].input->profile;
	/* the types of other profiles are in the table, and in no message of its own */
	for (size_t i = 7; i < 1 + 9 * 6; i++)
		unused += 2 + profile.strings[i].length;
	pprof_write(&profile, &message);
	assert_in_range(out.profiles[0].input->encoded_bytes, message.length - unused - 20,
	                message.length - unused + 60);
}

/* Two labels of a name are refused later on. */
static void labels_that_the_sender_named_come_once(void **state)
{
	static const char *const names[] = { "service_name", "app_name", "jfr_event", "env" };
	static const char *const values[] = { "front", "own", "itimer", "dev" };
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;

	(void)state;
	decode(arena,
	       "name=shop{service_name=front,app_name=own,jfr_event=mine,env=dev}&format=jfr",
	       &out);
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		const struct label_set *labels = &out.profiles[0].labels;
		size_t found = 0;

		for (size_t j = 0; j < labels->count; j++)
			found += str_equals(labels->labels[j].name, names[i]);
		assert_int_equal(found, 1);
		assert_true(str_equals(label_of(&out.profiles[0], names[i]), values[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pairs_have_the_labels_of_the_request),
		cmocka_unit_test(an_application_keeps_its_name_beside_a_service),
		cmocka_unit_test(frames_have_lines_and_a_mapping_of_functions),
		cmocka_unit_test(the_size_is_about_that_of_a_pprof),
		cmocka_unit_test(labels_that_the_sender_named_come_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
