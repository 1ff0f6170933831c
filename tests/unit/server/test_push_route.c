#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base64.h"
#include "base/gzip.h"
#include "base/wire.h"
#include "server/options.h"
#include "server/routes/handlers.h"
#include "write_harness.h"

static const struct route push = { .method = "POST",
	                           .path = "/push.v1.PusherService/Push",
	                           .handler = serve_push,
	                           .flags = ROUTE_CONNECT | ROUTE_WRITE };

static const char *const proto[] = { "Content-Type", "application/proto", NULL, NULL };
static const char *const json[] = { "Content-Type", "application/json", NULL, NULL };

struct bench {
	struct harness harness;
	struct options *options;
	struct strbuf message;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	harness_init(&bench->harness);
	bench->options = calloc(1, sizeof(*bench->options));
	bench->harness.app.options = bench->options;
	strbuf_init(&bench->message, (size_t)16 << 20);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	strbuf_fini(&bench->message);
	harness_fini(&bench->harness);
	free(bench->options);
	free(bench);
	return 0;
}

/* A pprof with type cpu/ns, one sample main of `value`, and `padding` bytes in a string. */
static void put_pprof(struct strbuf *out, const char *type, uint64_t value, size_t padding)
{
	const char *const strings[] = { "", type, "ns", "main" };
	CLEANUP(strbuf_fini) struct strbuf pad;
	size_t begun;

	strbuf_init(&pad, padding);
	for (size_t i = 0; i < padding; i++)
		strbuf_add_byte(&pad, 'x');
	begun = wire_begin(out, 1);
	wire_put_uint(out, 1, 1);
	wire_put_uint(out, 2, 2);
	wire_end(out, begun);
	begun = wire_begin(out, 2);
	wire_put_uint(out, 1, 1);
	wire_put_uint(out, 2, value);
	wire_end(out, begun);
	wire_put_bytes(out, 4, STR("\x08\x01\x22\x02\x08\x01"));
	wire_put_bytes(out, 5, STR("\x08\x01\x10\x03"));
	for (size_t i = 0; i < ARRAY_LENGTH(strings); i++)
		wire_put_bytes(out, 6, str_of(strings[i]));
	wire_put_bytes(out, 6, strbuf_view(&pad));
}

static void put_label(struct strbuf *out, const char *name, const char *value)
{
	const size_t begun = wire_begin(out, 1);

	wire_put_bytes(out, 1, str_of(name));
	wire_put_bytes(out, 2, str_of(value));
	wire_end(out, begun);
}

static void put_series(struct strbuf *out, const char *service, struct str raw_profile)
{
	const size_t series = wire_begin(out, 1);
	size_t sample;

	put_label(out, "__name__", "process_cpu");
	put_label(out, "service_name", service);
	sample = wire_begin(out, 2);
	wire_put_bytes(out, 1, raw_profile);
	wire_end(out, sample);
	wire_end(out, series);
}

static void assert_response(const struct harness *harness, int status, const char *part)
{
	const struct http_response *response = &harness->exchange.response;

	assert_int_equal(response->status, status);
	if (str_find(strbuf_view(&response->body), str_of(part)) < 0)
		assert_string_equal(response->body.data, part);
}

static void a_good_request_is_answered_in_its_codec(void **state)
{
	struct bench *bench = *state;
	struct harness *harness = &bench->harness;
	CLEANUP(strbuf_fini) struct strbuf pprof;
	CLEANUP(strbuf_fini) struct strbuf text;

	strbuf_init(&pprof, 10000);
	strbuf_init(&text, 10000);
	put_pprof(&pprof, "cpu", 7, 0);
	put_series(&bench->message, "svc", strbuf_view(&pprof));
	harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
	assert_int_equal(harness->exchange.response.status, 200);
	assert_int_equal(harness->exchange.response.body.length, 0);
	assert_string_equal(harness->stored.data, "process_cpu:cpu:ns:: 7|");

	strbuf_add_text(
		&text,
		"{\"series\":[{\"labels\":[{\"name\":\"__name__\",\"value\":\"process_cpu\"}],"
		"\"samples\":[{\"rawProfile\":\"");
	base64_encode(strbuf_view(&pprof), &text);
	strbuf_add_text(&text, "\"}]}]}");
	harness_post(harness, &push, "", json, strbuf_view(&text));
	assert_int_equal(harness->exchange.response.status, 200);
	assert_string_equal(harness->exchange.response.body.data, "{}");
	assert_string_equal(harness->stored.data, "process_cpu:cpu:ns:: 7|");
}

static void packed_profiles_are_unpacked(void **state)
{
	struct bench *bench = *state;
	CLEANUP(strbuf_fini) struct strbuf pprof;
	CLEANUP(strbuf_fini) struct strbuf packed;

	strbuf_init(&pprof, 10000);
	strbuf_init(&packed, 10000);
	put_pprof(&pprof, "cpu", 7, 0);
	gzip_deflate(strbuf_view(&pprof), &packed);
	put_series(&bench->message, "svc", strbuf_view(&packed));
	harness_post(&bench->harness, &push, "", proto, strbuf_view(&bench->message));
	assert_string_equal(bench->harness.stored.data, "process_cpu:cpu:ns:: 7|");
}

static void a_request_without_profiles_is_refused(void **state)
{
	struct bench *bench = *state;
	struct harness *harness = &bench->harness;

	harness_post(harness, &push, "", proto, STR(""));
	assert_response(harness, 400,
	                "{\"code\":\"invalid_argument\",\"message\":\"no profiles received\"}");
	harness_post(harness, &push, "", json, STR("{\"series\":[{}]}"));
	assert_response(harness, 400, "no profiles received");
	harness_post(harness, &push, "", json, STR(""));
	assert_response(harness, 400, "unmarshal message: ");
	harness_post(harness, &push, "", proto, STR("\x0a\x05"));
	assert_response(harness, 400, "unmarshal message: ");
}

static void good_profiles_are_stored_although_others_fail(void **state)
{
	struct bench *bench = *state;
	struct harness *harness = &bench->harness;
	CLEANUP(strbuf_fini) struct strbuf pprof;

	strbuf_init(&pprof, 10000);
	put_pprof(&pprof, "cpu", 7, 0);
	put_series(&bench->message, "a", strbuf_view(&pprof));
	put_series(&bench->message, "b", STR("garbage garbage"));
	strbuf_reset(&pprof);
	put_pprof(&pprof, "cpu", 8, 0);
	put_series(&bench->message, "c", strbuf_view(&pprof));
	harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
	assert_response(harness, 400, "{\"code\":\"invalid_argument\"");
	assert_true(harness->finished);
	assert_string_equal(harness->stored.data, "process_cpu:cpu:ns:: 7|process_cpu:cpu:ns:: 8|");
}

static void bad_profiles_are_bad_arguments(void **state)
{
	struct bench *bench = *state;
	struct harness *harness = &bench->harness;
	CLEANUP(strbuf_fini) struct strbuf pprof;
	const struct {
		struct str raw;
		const char *part;
	} cases[] = {
		{ STR(""), "{\"code\":\"invalid_argument\"" },
		{ STR("short"), "{\"code\":\"invalid_argument\"" },
		{ STR("\x1f\x8b\x08\x00 damaged gzip"), "{\"code\":\"invalid_argument\"" },
		{ STR("\x32\x00\x32\x00\x32\x00\x32\x00\x32\x00"),
		  "{\"code\":\"invalid_argument\",\"message\":\"empty profile\"}" },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		strbuf_reset(&bench->message);
		put_series(&bench->message, "svc", cases[i].raw);
		harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
		assert_response(harness, 400, cases[i].part);
	}
	strbuf_init(&pprof, 10000);
	strbuf_reset(&bench->message);
	put_pprof(&pprof, "alloc-space", 1, 0);
	put_series(&bench->message, "svc", strbuf_view(&pprof));
	harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
	assert_response(harness, 400,
	                "{\"code\":\"invalid_argument\",\"message\":\"sample type contains -\"}");
}

static void sizes_after_decompression_are_limited(void **state)
{
	struct bench *bench = *state;
	struct harness *harness = &bench->harness;
	CLEANUP(strbuf_fini) struct strbuf pprof;
	CLEANUP(strbuf_fini) struct strbuf packed;

	strbuf_init(&pprof, (size_t)16 << 20);
	strbuf_init(&packed, (size_t)16 << 20);
	put_pprof(&pprof, "cpu", 7, 5000000);
	gzip_deflate(strbuf_view(&pprof), &packed);
	put_series(&bench->message, "svc", strbuf_view(&packed));
	harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
	assert_response(harness, 400, "uncompressed profile payload size exceeds limit of 4.2 MB");

	strbuf_reset(&pprof);
	strbuf_reset(&packed);
	strbuf_reset(&bench->message);
	put_pprof(&pprof, "cpu", 7, 600000);
	gzip_deflate(strbuf_view(&pprof), &packed);
	put_series(&bench->message, "a", strbuf_view(&packed));
	put_series(&bench->message, "b", strbuf_view(&packed));
	harness->limits.ingestion_body_bytes = 1 << 20;
	harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
	assert_response(harness, 400,
	                "uncompressed batched profile payload size exceeds limit of 1.0 MB");
	assert_int_equal(harness->writes, 0);
}

static void failures_of_the_store_and_rates_have_their_codes(void **state)
{
	struct bench *bench = *state;
	struct harness *harness = &bench->harness;
	CLEANUP(strbuf_fini) struct strbuf pprof;

	strbuf_init(&pprof, 10000);
	put_pprof(&pprof, "cpu", 7, 0);
	put_series(&bench->message, "svc", strbuf_view(&pprof));
	harness->mode = HARNESS_FAILS;
	harness->code = ERROR_UNAVAILABLE;
	harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
	assert_response(harness, 503, "{\"code\":\"unavailable\"");
	harness->mode = HARNESS_REFUSES;
	harness->code = ERROR_NO_SPACE;
	harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
	assert_response(harness, 507, "{\"code\":\"resource_exhausted\"");

	harness->limits.ingestion_rate_bytes = 4 << 20;
	harness->limits.ingestion_burst_bytes = 1;
	harness_post(harness, &push, "", proto, strbuf_view(&bench->message));
	assert_response(harness, 429,
	                "{\"code\":\"resource_exhausted\",\"message\":\"push rate limit (4.0 MiB)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_good_request_is_answered_in_its_codec, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(packed_profiles_are_unpacked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_request_without_profiles_is_refused, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(good_profiles_are_stored_although_others_fail,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_profiles_are_bad_arguments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(sizes_after_decompression_are_limited, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(failures_of_the_store_and_rates_have_their_codes,
		                                set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
