#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "formats/jfr_upload.h"
#include "jfr_decoded.h"

#define ARENA_BYTES ((size_t)160 << 20)
#define FORM_TYPE   "multipart/form-data; boundary=X-BOUNDARY"
#define ONE_SAMPLE                                      \
	"process_cpu:cpu:nanoseconds:cpu:nanoseconds: " \
	"shop/Main.run;shop/Cart.add 10000000|\n"

struct fixture {
	struct strbuf recording;
	struct strbuf packed;
	struct strbuf form;
	struct strbuf text;
	struct arena *arena;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	strbuf_init(&fixture->recording, JFR_WRITER_LIMIT);
	strbuf_init(&fixture->packed, JFR_WRITER_LIMIT);
	strbuf_init(&fixture->form, JFR_WRITER_LIMIT);
	strbuf_init(&fixture->text, JFR_WRITER_LIMIT);
	fixture->arena = arena_new(ARENA_BYTES, NULL);
	jfr_decoded_one(&fixture->recording, false);
	gzip_deflate(strbuf_view(&fixture->recording), &fixture->packed);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	strbuf_fini(&fixture->recording);
	strbuf_fini(&fixture->packed);
	strbuf_fini(&fixture->form);
	strbuf_fini(&fixture->text);
	arena_free(fixture->arena);
	free(fixture);
	return 0;
}

static void add_part(struct strbuf *form, const char *name, const char *filename,
                     struct str content)
{
	strbuf_printf(form,
	              "--X-BOUNDARY\r\nContent-Disposition: form-data; name=\"%s\"%s%s%s\r\n\r\n",
	              name, filename ? "; filename=\"" : "", filename ? filename : "",
	              filename ? "\"" : "");
	strbuf_add_str(form, content);
	strbuf_add_text(form, "\r\n");
}

static int run_form(struct fixture *fixture, struct format_output *out, struct error *err)
{
	strbuf_add_text(&fixture->form, "--X-BOUNDARY--\r\n");
	return decoded_run(fixture->arena, JFR_QUERY, STR(FORM_TYPE), strbuf_view(&fixture->form),
	                   out, err);
}

static void assert_form(struct fixture *fixture)
{
	struct format_output out;
	struct error err = { 0 };

	if (run_form(fixture, &out, &err) < 0)
		fail_msg("%s", err.message);
	jfr_decoded_pairs(&out, &fixture->text);
	assert_string_equal(fixture->text.data, ONE_SAMPLE);
	assert_int_equal(out.plain_bytes, fixture->recording.length);
}

static void a_body_is_a_recording_packed_or_not(void **state)
{
	struct fixture *fixture = *state;
	struct error err = { 0 };

	assert_int_equal(jfr_decoded_run(fixture->arena, JFR_QUERY,
	                                 strbuf_view(&fixture->recording), &fixture->text, &err),
	                 0);
	assert_string_equal(fixture->text.data, ONE_SAMPLE);
	assert_int_equal(jfr_decoded_run(fixture->arena, JFR_QUERY, strbuf_view(&fixture->packed),
	                                 &fixture->text, &err),
	                 0);
	assert_string_equal(fixture->text.data, ONE_SAMPLE);
}

static void a_form_has_a_part_packed_or_not(void **state)
{
	struct fixture *fixture = *state;

	add_part(&fixture->form, "jfr", "jfr", strbuf_view(&fixture->recording));
	assert_form(fixture);
	strbuf_reset(&fixture->form);
	strbuf_reset(&fixture->text);
	add_part(&fixture->form, "other", "x", STR("y"));
	add_part(&fixture->form, "jfr", NULL, STR("a field yields to a file"));
	add_part(&fixture->form, "jfr", "a.jfr", strbuf_view(&fixture->packed));
	add_part(&fixture->form, "jfr", "b.jfr", STR("the first file counts"));
	assert_form(fixture);
}

static void nothing_is_nothing_to_store(void **state)
{
	struct fixture *fixture = *state;
	struct format_output out;
	struct error err = { 0 };

	assert_int_equal(decoded_run(fixture->arena, JFR_QUERY, STR(""), STR(""), &out, &err), 0);
	assert_int_equal(out.count, 0);
}

static void what_cannot_be_a_recording_is_refused(void **state)
{
	static const struct {
		const char *part;
		struct str content;
		const char *message;
	} cases[] = {
		{ "other", STR("y"), "jfr field is required" },
		{ "jfr", STR(""), "failed to read magic" },
		{ "jfr", STR("F"), "failed to read magic" },
		{ "jfr", STR("no recording at all"), "a chunk begins with 6e 6f 20 72" },
		{ "jfr", STR("\x1f\x8b\x08\x00"), "jfr: " },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct format_output out;
		struct error err = { 0 };

		strbuf_reset(&fixture->form);
		add_part(&fixture->form, cases[i].part, "x", cases[i].content);
		assert_int_equal(run_form(fixture, &out, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_int_equal(out.stage, FORMAT_PARSING);
		assert_non_null(strstr(err.message, cases[i].message));
	}
}

static void labels_that_cannot_be_read_are_refused(void **state)
{
	static const struct {
		struct str labels;
		const char *message;
	} cases[] = {
		{ STR("\x0a\x07garbage"), "failed to parse labels form field" },
		{ STR(""), "failed to read magic" },
	};
	struct fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct format_output out;
		struct error err = { 0 };

		strbuf_reset(&fixture->form);
		add_part(&fixture->form, "jfr", "jfr", strbuf_view(&fixture->packed));
		add_part(&fixture->form, "labels", "labels", cases[i].labels);
		assert_int_equal(run_form(fixture, &out, &err), -1);
		assert_non_null(strstr(err.message, cases[i].message));
	}
}

static void a_recording_that_is_cut_anywhere_is_refused(void **state)
{
	struct fixture *fixture = *state;

	for (size_t length = 1; length < fixture->recording.length; length++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct error err = { 0 };

		assert_int_equal(jfr_decoded_run(arena, JFR_QUERY,
		                                 str_make(fixture->recording.data, length),
		                                 &fixture->text, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

/* The chunk says that it is as short as what is left of it. */
static void a_chunk_that_ends_too_early_is_refused_or_whole(void **state)
{
	struct fixture *fixture = *state;

	for (size_t length = JFR_WRITER_HEAD; length < fixture->recording.length; length++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct error err = { 0 };

		jfr_writer_patch(&fixture->recording, 8, length);
		assert_int_equal(jfr_decoded_run(arena, JFR_QUERY,
		                                 str_make(fixture->recording.data, length),
		                                 &fixture->text, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static int run_limited(struct fixture *fixture, size_t limit, struct str body, struct error *err)
{
	struct ingest_params params;
	const struct ingest_limits limits = { .max_recording_bytes = limit };
	const struct format_input input = {
		.body = body,
		.params = &params,
		.limits = &limits,
		.arena = fixture->arena,
	};
	struct format_output out;

	assert_int_equal(ingest_params_parse(STR(JFR_QUERY), DECODED_NOW_NS, fixture->arena,
	                                     &params, err),
	                 0);
	return jfr_upload_decode(&input, &out, err);
}

static void a_limit_holds_for_what_is_unpacked(void **state)
{
	struct fixture *fixture = *state;
	const size_t size = fixture->recording.length;
	struct error err = { 0 };

	assert_true(fixture->packed.length < size / 2);
	assert_int_equal(run_limited(fixture, size, strbuf_view(&fixture->packed), &err), 0);
	assert_int_equal(run_limited(fixture, 0, strbuf_view(&fixture->packed), &err), 0);
	assert_int_equal(run_limited(fixture, size - 1, strbuf_view(&fixture->packed), &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_non_null(strstr(err.message, "decompressed size exceeds maximum allowed size of"));
	assert_int_equal(run_limited(fixture, size - 1, strbuf_view(&fixture->recording), &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

static void chunks_have_a_limit(void **state)
{
	struct fixture *fixture = *state;
	struct strbuf many;
	struct error err = { 0 };

	strbuf_init(&many, JFR_WRITER_LIMIT);
	for (size_t i = 0; i < 4097; i++)
		strbuf_add_str(&many, strbuf_view(&fixture->recording));
	assert_int_equal(
		run_limited(fixture, 0,
	                    str_first(strbuf_view(&many), 4096 * fixture->recording.length), &err),
		0);
	arena_reset(fixture->arena);
	assert_int_equal(run_limited(fixture, 0, strbuf_view(&many), &err), -1);
	assert_non_null(strstr(err.message, "more than 4096 chunks"));
	strbuf_fini(&many);
}

/* 500 methods, 4,000 stacks of 40 frames, 30,000 events: some 1.5 MB. */
static void memory_is_bounded_by_four_times_the_recording(void **state)
{
	struct fixture *fixture = *state;
	struct jfr_writer writer;
	uint64_t frames[40];
	uint32_t seed = 1;
	struct error err = { 0 };

	jfr_writer_init(&writer, JFR_WRITER_TYPES);
	jfr_writer_pool(&writer, 20, 1000);
	for (uint64_t i = 1; i <= 1000; i++) {
		char name[64];

		(void)snprintf(name, sizeof(name), "com/example/shop/%s%u",
		               i % 2 ? "catalog/Item" : "method", (unsigned)i);
		jfr_writer_long(&writer, &writer.pools, i);
		jfr_writer_text(&writer, &writer.pools, name);
	}
	jfr_writer_pool(&writer, 21, 500);
	for (uint64_t i = 1; i <= 500; i++)
		for (int part = 0; part < 5; part++)
			jfr_writer_long(&writer, &writer.pools,
			                part == 0   ? i
			                : part == 2 ? 2 * i - 1
			                            : 0);
	jfr_writer_pool(&writer, 24, 500);
	for (uint64_t i = 1; i <= 500; i++)
		for (int part = 0; part < 6; part++)
			jfr_writer_long(&writer, &writer.pools,
			                part <= 1   ? i
			                : part == 2 ? 2 * i
			                            : 0);
	jfr_writer_pool(&writer, 27, 4000);
	for (uint64_t trace = 1; trace <= 4000; trace++) {
		for (size_t i = 0; i < ARRAY_LENGTH(frames); i++) {
			seed = seed * 1664525 + 1013904223;
			frames[i] = 1 + (seed >> 16) % 500;
		}
		jfr_writer_trace(&writer, trace, frames, ARRAY_LENGTH(frames));
	}
	jfr_writer_states(&writer);
	for (uint64_t i = 0; i < 30000; i++)
		JFR_WRITER_EVENT(&writer, i % 3 ? 101 : 104, UINT32_MAX + 1000 * i, 100,
		                 1 + i % 4000, 1, 0, 0, 0, 0);
	strbuf_reset(&fixture->recording);
	jfr_writer_chunk(&writer, &fixture->recording);
	jfr_writer_fini(&writer);
	assert_in_range(fixture->recording.length, 1000000, 3000000);
	if (run_limited(fixture, 0, strbuf_view(&fixture->recording), &err) < 0)
		fail_msg("%s", err.message);
	assert_in_range(arena_used(fixture->arena), 1, 4 * fixture->recording.length);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_body_is_a_recording_packed_or_not),
		TEST(a_form_has_a_part_packed_or_not),
		TEST(nothing_is_nothing_to_store),
		TEST(what_cannot_be_a_recording_is_refused),
		TEST(labels_that_cannot_be_read_are_refused),
		TEST(a_recording_that_is_cut_anywhere_is_refused),
		TEST(a_chunk_that_ends_too_early_is_refused_or_whole),
		TEST(a_limit_holds_for_what_is_unpacked),
		TEST(chunks_have_a_limit),
		TEST(memory_is_bounded_by_four_times_the_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
