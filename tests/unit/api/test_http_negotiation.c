#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/http_negotiation.h"
#include "base/gzip.h"

#define LIMIT ((size_t)1 << 20)

static bool says(bool (*question)(const struct http_request *request), const char *name,
                 const char *value)
{
	const struct http_header header = { str_of(name), str_of(value) };
	const struct http_request request = { .headers = &header, .header_count = 1 };

	return question(&request);
}

static void the_capability_is_found_in_any_spelling(void **state)
{
	static const struct {
		const char *accept;
		bool expected;
	} cases[] = {
		{ "*/*", false },
		{ "*/*; allow-utf8-labelnames=true", true },
		{ "*/*;allow-utf8-labelnames=true", true },
		{ "text/html, */*;q=0.8; Allow-UTF8-LabelNames=\"true\"", true },
		{ "*/*; allow-utf8-labelnames=false", false },
		{ "*/*; allow-utf8-labelnames", false },
		{ "allow-utf8-labelnames=true", true },
		{ "", false },
		{ ",,;;=,/", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(says(http_accepts_utf8_label_names, "accept", cases[i].accept),
		                 cases[i].expected);
}

static void qualities_decide_on_plain_routes(void **state)
{
	static const struct {
		const char *accept;
		bool expected;
	} cases[] = {
		{ "gzip", true },
		{ "GZIP", true },
		{ "deflate, gzip;q=1.0, *;q=0.5", true },
		{ "gzip;q=0", false },
		{ "gzip; q=0.000, *", false },
		{ "gzip;q=0.001", true },
		{ "*", true },
		{ "identity", false },
		{ "gzipped", false },
		{ "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(says(http_accepts_gzip, "Accept-Encoding", cases[i].accept),
		                 cases[i].expected);
}

static void connect_routes_look_for_the_bare_word(void **state)
{
	static const struct {
		const char *accept;
		bool expected;
	} cases[] = {
		{ "gzip", true },        { "deflate,gzip", true },
		{ "br gzip", true },     { "gzip, deflate, br, zstd", true },
		{ "gzip;q=1.0", false }, { "*", false },
		{ "GZIP", false },       { "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(says(http_lists_gzip, "Accept-Encoding", cases[i].accept),
		                 cases[i].expected);
}

/*
 * The size of a body of `length` bytes once it was offered to a client that accepts gzip.
 */
static bool compresses(size_t length)
{
	const struct http_header header = { STR("Accept-Encoding"), STR("gzip") };
	const struct http_request request = { .headers = &header, .header_count = 1 };
	struct http_response response;
	bool compressed;

	http_response_init(&response, LIMIT);
	for (size_t i = 0; i < length; i++)
		strbuf_add_byte(&response.body, 'x');
	http_compress_response(&request, &response);
	compressed = gzip_is(strbuf_view(&response.body));
	assert_int_equal(http_response_find_header(&response, "Content-Encoding") != NULL,
	                 compressed);
	assert_non_null(http_response_find_header(&response, "Vary"));
	http_response_fini(&response);
	return compressed;
}

static void small_bodies_stay_as_they_are(void **state)
{
	(void)state;
	assert_false(compresses(0));
	assert_false(compresses(HTTP_COMPRESS_MIN - 1));
	assert_true(compresses(HTTP_COMPRESS_MIN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_capability_is_found_in_any_spelling),
		cmocka_unit_test(qualities_decide_on_plain_routes),
		cmocka_unit_test(connect_routes_look_for_the_bare_word),
		cmocka_unit_test(small_bodies_stay_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
