#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/gzip.h"
#include "decoded.h"
#include "vectors.h"

#define ARENA_BYTES ((size_t)16 << 20)
#define FORM_TYPE   "multipart/form-data; boundary=X-BOUNDARY"
#define CONFIG                                                          \
	"{\"samples\":{\"units\":\"samples\",\"display-name\":\"cpu\"," \
	"\"sampled\":true}}"

/* One part of a form with CRLF line ends. */
static void add_part(struct strbuf *form, const char *name, const char *filename,
                     struct str content)
{
	strbuf_printf(form,
	              "--X-BOUNDARY\r\nContent-Disposition: form-data; name=\"%s\"; "
	              "filename=\"%s\"\r\nContent-Type: application/octet-stream\r\n\r\n",
	              name, filename);
	strbuf_add_str(form, content);
	strbuf_add_text(form, "\r\n");
}

static void end_form(struct strbuf *form)
{
	strbuf_add_text(form, "--X-BOUNDARY--\r\n");
}

static int run(struct arena *arena, const char *query, const char *type, struct str body,
               struct format_output *out, struct error *err)
{
	return decoded_run(arena, query, str_of(type), body, out, err);
}

/* What 8.5 says of (a) to (d). */
static void assert_vector(const struct format_output *out)
{
	const struct profile *profile = &out->profiles[0].input->profile;
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&text, 1000);
	assert_int_equal(out->count, 1);
	assert_int_equal(out->plain_bytes, 181);
	decoded_type(out, 0, &text);
	strbuf_add_byte(&text, ' ');
	decoded_type(out, 1, &text);
	assert_string_equal(text.data, "process_cpu:samples:count:cpu:nanoseconds "
	                               "process_cpu:cpu:nanoseconds:cpu:nanoseconds");
	strbuf_reset(&text);
	decoded_samples(out, &text);
	assert_string_equal(text.data, "main;work 3 30000000|main 1 10000000|");
	assert_int_equal(profile->time_unix_ns, VECTOR_TIME_NS);
	assert_true(str_equals(decoded_label(out, "service_name"), "svc-a"));
	assert_true(str_equals(decoded_label(out, "pyroscope_spy"), "gospy"));
	assert_true(str_equals(decoded_label(out, "env"), "dev"));
	assert_true(str_equals(decoded_label(out, "__delta__"), "false"));
}

static void a_plain_body_is_a_profile(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(run(arena, "name=svc-a{env=dev}&spyName=gospy&format=pprof", "",
	                     vector_unhex(arena, VECTOR_PPROF_HEX), &out, &err),
	                 0);
	assert_vector(&out);
}

static void a_gzip_body_is_told_by_its_first_bytes(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	struct format_output out;
	struct str body;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(base64_decode(STR(VECTOR_PPROF_GZIP_BASE64), arena, &body, &err), 0);
	assert_int_equal(run(arena, "name=svc-a{env=dev}&spyName=gospy&format=pprof", "", body,
	                     &out, &err),
	                 0);
	assert_vector(&out);
	assert_true(str_equal(out.profiles[0].payload, body));
}

static void a_form_carries_profile_and_configuration(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf form;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&form, 10000);
	add_part(&form, "profile", "profile.pprof", vector_unhex(arena, VECTOR_PPROF_HEX));
	add_part(&form, "sample_type_config", "sample_type_config.json", STR(CONFIG));
	end_form(&form);
	assert_int_equal(form.length, 549);
	assert_int_equal(run(arena, "name=svc-a{env=dev}&spyName=gospy", FORM_TYPE,
	                     strbuf_view(&form), &out, &err),
	                 0);
	assert_vector(&out);
	assert_int_equal(run(arena, "name=svc-a{env=dev}&spyName=gospy&format=pprof", FORM_TYPE,
	                     strbuf_view(&form), &out, &err),
	                 0);
	assert_vector(&out);
}

/* Of equal names the first counts, and a file before a mere field. */
static void a_file_counts_before_a_field_of_the_same_name(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf form;
	const struct str profile = vector_unhex(arena, VECTOR_PPROF_HEX);
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&form, 10000);
	add_part(&form, "profile", "", STR("no profile at all"));
	add_part(&form, "sample_type_config", "", STR("{"));
	add_part(&form, "profile", "a.pprof", profile);
	add_part(&form, "sample_type_config", "b.json", STR(CONFIG));
	add_part(&form, "profile", "c.pprof", STR("no profile either"));
	end_form(&form);
	assert_int_equal(run(arena, "name=svc-a{env=dev}&spyName=gospy", FORM_TYPE,
	                     strbuf_view(&form), &out, &err),
	                 0);
	assert_vector(&out);

	strbuf_reset(&form);
	add_part(&form, "profile", "", profile);
	end_form(&form);
	assert_int_equal(run(arena, "name=svc-a{env=dev}&spyName=gospy", FORM_TYPE,
	                     strbuf_view(&form), &out, &err),
	                 0);
	assert_vector(&out);
}

static void older_python_and_ruby_clients_get_files_before_names(void **state)
{
	static const struct {
		const char *spy;
		const char *samples;
	} cases[] = {
		{ "pyspy", "main.go main;main.go work 3 30000000|main.go main 1 10000000|" },
		{ "rbspy", "main.go main;main.go work 3 30000000|main.go main 1 10000000|" },
		{ "scripting", "main.go main;main.go work 3 30000000|main.go main 1 10000000|" },
		{ "pyroscope-rs", "main;work 3 30000000|main 1 10000000|" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf text;
		const struct str query =
			arena_printf(arena, "name=a&format=pprof&spyName=%s", cases[i].spy);
		struct format_output out;
		struct error err = { 0 };

		strbuf_init(&text, 1000);
		assert_int_equal(run(arena, query.data, "", vector_unhex(arena, VECTOR_PPROF_HEX),
		                     &out, &err),
		                 0);
		decoded_samples(&out, &text);
		assert_string_equal(text.data, cases[i].samples);
	}
}

/* The vector with its file name "main.go" as "/ain.go". */
static void absolute_files_stay_out_of_python_names_only(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf text;
	struct str body = vector_unhex(arena, VECTOR_PPROF_HEX);
	const ptrdiff_t at = str_find(body, STR("main.go"));
	char *bytes = arena_alloc(arena, body.length);
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	assert_non_null(bytes);
	memcpy(bytes, body.data, body.length);
	bytes[at] = '/';
	body.data = bytes;
	strbuf_init(&text, 1000);
	assert_int_equal(run(arena, "name=a&format=pprof&spyName=pyspy", "", body, &out, &err), 0);
	decoded_samples(&out, &text);
	assert_string_equal(text.data, "main;work 3 30000000|main 1 10000000|");
	strbuf_reset(&text);
	assert_int_equal(run(arena, "name=a&format=pprof&spyName=rbspy", "", body, &out, &err), 0);
	decoded_samples(&out, &text);
	assert_string_equal(text.data,
	                    "/ain.go main;/ain.go work 3 30000000|/ain.go main 1 10000000|");
}

static void a_time_in_1970_becomes_from(void **state)
{
	/* One sample type, then time_nanos (field 9) as a varint. */
	static const struct {
		const char *time;
		int64_t expected_ns;
	} cases[] = {
		{ "4800", INT64_C(1600000000000000000) },
		{ "4880d095ffbc31", INT64_C(1600000000000000000) },     /* in milliseconds */
		{ "48ffff8bedb2ba8238", INT64_C(1600000000000000000) }, /* the last of 1970 */
		{ "4880808cedb2ba8238", INT64_C(31536000000000000) },   /* the first of 1971 */
		{ "48fbffffffffffffffff01", -5 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		const struct str hex = arena_printf(
			arena, "0a0408011002320032037370753205636f756e74%s", cases[i].time);
		struct format_output out;
		struct error err = { 0 };

		assert_int_equal(run(arena, "name=a&format=pprof&from=1600000000", "",
		                     vector_unhex(arena, hex.data), &out, &err),
		                 0);
		assert_int_equal(out.profiles[0].input->profile.time_unix_ns, cases[i].expected_ns);
	}
}

static void old_dotnet_profiles_are_repaired(void **state)
{
	/* types cpu/count and alloc-size/count; location 7, whose function has no id */
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf text;
	const struct str body = vector_unhex(arena, "0a0408011002"
	                                            "0a0408031002"
	                                            "1207"
	                                            "0a0107"
	                                            "12020505"
	                                            "2206"
	                                            "0807"
	                                            "22020807"
	                                            "2a02"
	                                            "1004"
	                                            "3200"
	                                            "3203637075"
	                                            "3205636f756e74"
	                                            "320a616c6c6f632d73697a65"
	                                            "32044d61696e");
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&text, 1000);
	assert_int_equal(run(arena, "name=a&format=pprof&spyName=dotnetspy", "", body, &out, &err),
	                 0);
	decoded_type(&out, 0, &text);
	strbuf_add_byte(&text, ' ');
	decoded_type(&out, 1, &text);
	assert_string_equal(text.data, "process_cpu:cpu:count:: process_cpu:alloc_size:count::");
	strbuf_reset(&text);
	decoded_samples(&out, &text);
	assert_string_equal(text.data, "Main 5 5|");
	assert_int_equal(out.profiles[0].input->faults, 0);

	assert_int_equal(run(arena, "name=a&format=pprof&spyName=gospy", "", body, &out, &err), 0);
	assert_int_equal(out.profiles[0].input->faults, PPROF_FUNCTION_ID_ZERO);
	strbuf_reset(&text);
	decoded_type(&out, 1, &text);
	assert_string_equal(text.data, "process_cpu:alloc-size:count::");
}

static void nothing_to_store_is_a_success(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf form;
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&form, 10000);
	assert_int_equal(run(arena, "name=a&format=pprof", "", STR(""), &out, &err), 0);
	assert_int_equal(out.count, 0);

	add_part(&form, "other", "x", STR("y"));
	add_part(&form, "profile", "profile.pprof", STR(""));
	add_part(&form, "profile", "profile.pprof", STR("the second one does not count"));
	end_form(&form);
	assert_int_equal(run(arena, "name=a", FORM_TYPE, strbuf_view(&form), &out, &err), 0);
	assert_int_equal(out.count, 0);
}

static void what_is_no_upload_is_refused(void **state)
{
	static const struct {
		const char *part;
		const char *content;
		const char *message;
	} cases[] = {
		{ "prev_profile", "x",
		  "unsupported client version. Please update "
		  "github.com/grafana/pyroscope-go to the latest "
		  "version" },
		{ "sample_type_config", "[]", "sample_type_config: not a JSON object" },
		{ "sample_type_config", "{\"a\":5}", "sample_type_config: \"a\" has a wrong type" },
		{ "sample_type_config", "{\"a\":{\"units\":5}}",
		  "sample_type_config: \"a\" has a wrong type" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		CLEANUP(strbuf_fini) struct strbuf form;
		struct format_output out;
		struct error err = { 0 };

		strbuf_init(&form, 10000);
		add_part(&form, "profile", "profile.pprof", vector_unhex(arena, VECTOR_PPROF_HEX));
		add_part(&form, cases[i].part, "x", str_of(cases[i].content));
		end_form(&form);
		assert_int_equal(run(arena, "name=a", FORM_TYPE, strbuf_view(&form), &out, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_int_equal(out.stage, FORMAT_PARSING);
		assert_string_equal(err.message, cases[i].message);
	}
}

static void broken_bytes_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} cases[] = {
		{ "this is no profile", 18 },
		{ "\x1f\x8b", 2 },
		{ "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x00\x00", 12 },
		{ "x", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
		struct format_output out;
		struct error err = { 0 };

		assert_int_equal(run(arena, "name=a&format=pprof", "",
		                     (struct str){ cases[i].bytes, cases[i].length }, &out, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void large_profiles_are_refused_packed_or_not(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(ARENA_BYTES, NULL);
	CLEANUP(strbuf_fini) struct strbuf packed;
	const size_t length = decoded_limits.max_profile_size_bytes + 1;
	const struct str plain = { arena_alloc(arena, length), length };
	struct format_output out;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&packed, length);
	gzip_deflate(plain, &packed);
	assert_int_equal(run(arena, "name=a&format=pprof", "", strbuf_view(&packed), &out, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_string_equal(err.message,
	                    "decompressed size exceeds maximum allowed size of 4194304 bytes");
	assert_int_equal(run(arena, "name=a&format=pprof", "", plain, &out, &err), -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_body_is_a_profile),
		cmocka_unit_test(a_gzip_body_is_told_by_its_first_bytes),
		cmocka_unit_test(a_form_carries_profile_and_configuration),
		cmocka_unit_test(a_file_counts_before_a_field_of_the_same_name),
		cmocka_unit_test(older_python_and_ruby_clients_get_files_before_names),
		cmocka_unit_test(absolute_files_stay_out_of_python_names_only),
		cmocka_unit_test(a_time_in_1970_becomes_from),
		cmocka_unit_test(old_dotnet_profiles_are_repaired),
		cmocka_unit_test(nothing_to_store_is_a_success),
		cmocka_unit_test(what_is_no_upload_is_refused),
		cmocka_unit_test(broken_bytes_are_refused),
		cmocka_unit_test(large_profiles_are_refused_packed_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
