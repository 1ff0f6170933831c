#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "server/routes/handlers.h"
#include "write_harness.h"

#define CPU "process_cpu:cpu:nanoseconds:cpu:nanoseconds"

static const struct route ingest = { .method = "POST",
	                             .path = "/ingest",
	                             .handler = serve_ingest,
	                             .flags = ROUTE_TENANT | ROUTE_WRITE };

static int set_up(void **state)
{
	struct harness *harness = calloc(1, sizeof(*harness));

	assert_non_null(harness);
	harness_init(harness);
	*state = harness;
	return 0;
}

static int tear_down(void **state)
{
	harness_fini(*state);
	free(*state);
	return 0;
}

static const struct str *response_header(const struct harness *harness, const char *name)
{
	const struct http_response *response = &harness->exchange.response;

	for (size_t i = 0; i < response->header_count; i++)
		if (str_equal_ignoring_case(response->headers[i].name, str_of(name)))
			return &response->headers[i].value;
	return NULL;
}

static void assert_response(const struct harness *harness, int status, const char *part)
{
	const struct http_response *response = &harness->exchange.response;

	assert_int_equal(response->status, status);
	if (str_find(strbuf_view(&response->body), str_of(part)) < 0)
		assert_string_equal(response->body.data, part);
}

static void what_is_committed_is_answered_with_an_empty_200(void **state)
{
	struct harness *harness = *state;

	harness_post(harness, &ingest, "name=svc.cpu", NULL, STR("a;b 10\na;c 20\n"));
	assert_int_equal(harness->exchange.response.status, 200);
	assert_int_equal(harness->exchange.response.body.length, 0);
	assert_int_equal(harness->exchange.response.header_count, 0);
	assert_true(harness->finished);
	assert_string_equal(harness->stored.data, CPU " 300000000|");
}

static void nothing_to_store_is_answered_at_once(void **state)
{
	static const struct {
		const char *query;
		const char *body;
	} cases[] = {
		{ "name=svc.cpu", "" },
		{ "name=svc.cpu", "a -1\n" },
		{ "name=svc.cpu&sampleRate=2000000000", "a 1\n" },
		{ "name=svc.cpu{profile_id=1}", "a 1\n" },
		{ "name=svc&format=pprof", "" },
	};
	struct harness *harness = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		harness_post(harness, &ingest, cases[i].query, NULL, str_of(cases[i].body));
		assert_int_equal(harness->exchange.response.status, 200);
		assert_false(harness->finished);
		assert_int_equal(harness->writes, 0);
	}
}

static void refusals_have_the_status_of_format_and_stage(void **state)
{
	static const struct {
		const char *query;
		const char *body;
		int status;
		const char *part;
	} cases[] = {
		{ "", "a 1\n", 400,
		  "{\"code\":\"invalid_argument\",\"message\":\"name: service name is required\"}\n" },
		{ "name=my-app{a-b=1}", "a 1\n", 400, "name: invalid label name: a-b" },
		{ "name=svc.cpu", "a x\n", 422,
		  "{\"code\":\"unknown\",\"message\":\"strconv.Atoi: parsing \\\"x\\\": invalid syntax (line 1)\"}\n" },
		{ "name=svc.app", "a 1\n", 400,
		  "{\"code\":\"invalid_argument\",\"message\":\"pyroscopeIngesterAdapter failed "
		  "to convert metadata: "
		  "unknown profile type: app\"}" },
		{ "name=svc.cpu&from=1600000000", "a 1\n", 400, "is outside of ingestion window" },
		{ "name=svc.cpu{service_name=}", "a 1\n", 400, "service name is not provided" },
		{ "name=svc.cpu{pyroscope_spy=x}", "a 1\n", 400,
		  "has duplicate label name: 'pyroscope_spy'" },
		{ "name=svc&format=pprof", "this is no profile", 422,
		  "{\"code\":\"unknown\",\"message\":\"" },
		/* two strings and a time, but no sample type */
		{ "name=svc&format=pprof",
		  "\x32\x01x\x32\x03"
		  "cpu\x48\x01",
		  422,
		  "pushing IngestInput-pprof failed push series with index 0 and id  "
		  "failed: invalid_argument: empty "
		  "profile\"}\n" },
		{ "name=svc&format=jfr", "x", 422, "failed to read magic" },
		{ "name=svc&format=jfr", "no recording at all", 422,
		  "a chunk begins with 6e 6f 20 72" },
		{ "name=svc&format=trie", "x", 422, "has no whole name" },
		{ "name=svc&format=tree", "x", 422, "has no whole name" },
		{ "name=svc&format=speedscope", "x", 422, "JSON, byte 0: expected a map" },
	};
	struct harness *harness = *state;

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		harness_post(harness, &ingest, cases[i].query, NULL, str_of(cases[i].body));
		assert_response(harness, cases[i].status, cases[i].part);
		assert_string_equal(response_header(harness, "Content-Type")->data,
		                    "application/json");
		assert_int_equal(harness->writes, 0);
	}
}

static void errors_of_the_storage_stage_of_text_are_connects(void **state)
{
	struct harness *harness = *state;

	harness_post(harness, &ingest, "name=svc.cpu", NULL, STR("a x\n"));
	assert_non_null(response_header(harness, "X-Content-Type-Options"));
	harness_post(harness, &ingest, "name=svc.app", NULL, STR("a 1\n"));
	assert_null(response_header(harness, "X-Content-Type-Options"));
}

/* The limit is the pipeline's, so the lines are good ones: a bad argument. */
static void text_of_too_many_stacks_is_a_bad_argument(void **state)
{
	struct harness *harness = *state;
	CLEANUP(strbuf_fini) struct strbuf body;

	strbuf_init(&body, 1 << 20);
	for (int i = 0; i < 16001; i++)
		strbuf_printf(&body, "f%d 1\n", i);
	harness_post(harness, &ingest, "name=svc.cpu", NULL, strbuf_view(&body));
	assert_response(harness, 400, "exceeds the samples count limit");
	strbuf_add_text(&body, "f x\n");
	harness_post(harness, &ingest, "name=svc.cpu", NULL, strbuf_view(&body));
	assert_response(harness, 422, "invalid syntax");
}

static void a_gzip_body_is_decoded_when_header_and_bytes_agree(void **state)
{
	static const char *const gzip[] = { "Content-Encoding", "GZIP", NULL, NULL };
	struct harness *harness = *state;
	CLEANUP(strbuf_fini) struct strbuf packed;

	strbuf_init(&packed, 10000);
	gzip_deflate(STR("a;b 10\n"), &packed);
	harness_post(harness, &ingest, "name=svc.cpu", gzip, strbuf_view(&packed));
	assert_string_equal(harness->stored.data, CPU " 100000000|");
	/* the header alone, or the bytes alone, do not make it gzip */
	harness_post(harness, &ingest, "name=svc.cpu", gzip, STR("a;b 10\n"));
	assert_string_equal(harness->stored.data, CPU " 100000000|");
	harness_post(harness, &ingest, "name=svc.cpu", NULL, strbuf_view(&packed));
	assert_int_equal(harness->writes, 0);

	harness_post(harness, &ingest, "name=svc.cpu", gzip, str_first(strbuf_view(&packed), 15));
	assert_int_equal(harness->exchange.response.status, 422);
	harness->limits.ingestion_body_bytes = 5;
	harness_post(harness, &ingest, "name=svc.cpu", gzip, strbuf_view(&packed));
	assert_int_equal(harness->exchange.response.status, 413);
}

static void a_tenant_over_its_rate_is_told_429(void **state)
{
	struct harness *harness = *state;

	harness->limits.ingestion_rate_bytes = 1;
	harness->limits.ingestion_burst_bytes = 1;
	harness_post(harness, &ingest, "name=svc.cpu", NULL, STR("a 1\n"));
	assert_response(harness, 429, "{\"code\":\"resource_exhausted\"");
	assert_int_equal(harness->writes, 0);
	assert_int_equal((int)harness_metric(harness->app.metrics->discarded_samples,
	                                     "rate_limited", "anonymous"),
	                 1);
}

static void failures_of_the_store_are_not_the_senders(void **state)
{
	static const struct {
		enum error_code code;
		int status;
	} cases[] = {
		{ ERROR_UNAVAILABLE, 503 },
		{ ERROR_NO_SPACE, 507 },
		{ ERROR_IO, 500 },
	};
	static const enum harness_store modes[] = { HARNESS_REFUSES, HARNESS_FAILS };
	struct harness *harness = *state;

	for (size_t mode = 0; mode < ARRAY_LENGTH(modes); mode++)
		for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
			harness->mode = modes[mode];
			harness->code = cases[i].code;
			harness_post(harness, &ingest, "name=svc.cpu", NULL, STR("a 1\n"));
			assert_response(harness, cases[i].status, "the store ");
			assert_true((response_header(harness, "Retry-After") != NULL) ==
			            (cases[i].code == ERROR_UNAVAILABLE));
			assert_true(harness->finished == (modes[mode] == HARNESS_FAILS));
		}
}

static void requests_and_refusals_are_counted(void **state)
{
	struct harness *harness = *state;
	const struct app_metrics *metrics = harness->app.metrics;

	harness_post(harness, &ingest, "name=svc.cpu", NULL, STR("a;b 10\na 1\n"));
	harness_post(harness, &ingest, "name=svc.cpu&format=lines", NULL, STR("a\n"));
	harness_post(harness, &ingest, "name=svc.cpu", NULL, STR("a x\n"));
	harness_post(harness, &ingest, "name=svc.cpu&from=1600000000", NULL, STR("a 1\n"));
	assert_int_equal((int)harness_metric(metrics->ingest_requests, "groups", "ok"), 1);
	assert_int_equal((int)harness_metric(metrics->ingest_requests, "lines", "ok"), 1);
	assert_int_equal((int)harness_metric(metrics->ingest_requests, "groups", "refused"), 2);
	assert_int_equal((int)harness_metric(metrics->ingest_samples, "groups", NULL), 2);
	assert_int_equal((int)harness_metric(metrics->ingest_profiles, "groups", NULL), 1);
	assert_int_equal((int)harness_metric(metrics->discarded_samples, "not_in_ingestion_window",
	                                     "anonymous"),
	                 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_committed_is_answered_with_an_empty_200,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_to_store_is_answered_at_once, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(refusals_have_the_status_of_format_and_stage,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(errors_of_the_storage_stage_of_text_are_connects,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(text_of_too_many_stacks_is_a_bad_argument, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(a_gzip_body_is_decoded_when_header_and_bytes_agree,
		                                set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_tenant_over_its_rate_is_told_429, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(failures_of_the_store_are_not_the_senders, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(requests_and_refusals_are_counted, set_up,
		                                tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
