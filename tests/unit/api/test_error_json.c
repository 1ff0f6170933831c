#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/error_json.h"

static void every_code_has_its_name_and_status(void **state)
{
	/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order it is read */
	static const struct {
		enum error_code code;
		const char *name;
		int status;
	} cases[] = {
		{ ERROR_INVALID, "invalid_argument", 400 },
		{ ERROR_UNAUTHENTICATED, "unauthenticated", 401 },
		{ ERROR_FORBIDDEN, "permission_denied", 403 },
		{ ERROR_NOT_FOUND, "not_found", 404 },
		{ ERROR_EXISTS, "already_exists", 409 },
		{ ERROR_TOO_LARGE, "resource_exhausted", 429 },
		{ ERROR_RATE_LIMITED, "resource_exhausted", 429 },
		{ ERROR_CANCELLED, "canceled", 499 },
		{ ERROR_TIMED_OUT, "deadline_exceeded", 504 },
		{ ERROR_UNIMPLEMENTED, "unimplemented", 501 },
		{ ERROR_UNAVAILABLE, "unavailable", 503 },
		{ ERROR_NO_SPACE, "resource_exhausted", 507 },
		{ ERROR_CORRUPT, "data_loss", 500 },
		{ ERROR_IO, "internal", 500 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_string_equal(error_connect_name(cases[i].code), cases[i].name);
		assert_int_equal(error_connect_status(cases[i].code), cases[i].status);
	}
}

static void a_connect_error_replaces_what_was_written(void **state)
{
	const struct error err = { ERROR_INVALID, "a <b> & \"c\"" };
	struct http_response response;

	(void)state;
	http_response_init(&response, 1000);
	http_response_header(&response, "Content-Type", STR("application/proto"));
	strbuf_add_str(&response.body, STR("half an answer"));
	error_json_connect(&err, &response);
	assert_int_equal(response.status, 400);
	assert_true(str_equals(*http_response_find_header(&response, "content-type"),
	                       "application/json"));
	assert_string_equal(response.body.data,
	                    "{\"code\":\"invalid_argument\",\"message\":\"a \\u003cb\\u003e "
	                    "\\u0026 \\\"c\\\"\"}");
	assert_null(http_response_find_header(&response, "Retry-After"));
	http_response_fini(&response);
}

static void an_empty_message_is_left_out(void **state)
{
	const struct error err = { ERROR_UNAVAILABLE, "" };
	struct http_response response;

	(void)state;
	http_response_init(&response, 1000);
	error_json_connect(&err, &response);
	assert_string_equal(response.body.data, "{\"code\":\"unavailable\"}");
	assert_non_null(http_response_find_header(&response, "Retry-After"));
	http_response_fini(&response);
}

static void a_plain_error_is_named_by_its_status(void **state)
{
	static const struct {
		int status;
		const char *name;
	} cases[] = {
		{ 400, "invalid_argument" },  { 413, "invalid_argument" },
		{ 401, "unauthenticated" },   { 404, "unimplemented" },
		{ 422, "unknown" },           { 429, "resource_exhausted" },
		{ 503, "unavailable" },       { 500, "unknown" },
		{ 504, "deadline_exceeded" }, { 403, "permission_denied" },
	};
	struct http_response response;

	(void)state;
	http_response_init(&response, 1000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[100];

		error_json_plain(cases[i].status, "no org id", &response);
		assert_int_equal(response.status, cases[i].status);
		(void)snprintf(expected, sizeof(expected),
		               "{\"code\":\"%s\",\"message\":\"no org id\"}\n", cases[i].name);
		assert_string_equal(response.body.data, expected);
		assert_true(
			str_equals(*http_response_find_header(&response, "X-Content-Type-Options"),
		                   "nosniff"));
	}
	http_response_fini(&response);
}

static void a_failure_counts_wherever_it_is_told(void **state)
{
	const struct error err = { ERROR_NOT_FOUND, "no" };
	struct http_response response;

	(void)state;
	http_response_init(&response, 1000);
	assert_int_equal(error_http_status(&response), 200);
	error_json_connect(&err, &response);
	assert_int_equal(error_http_status(&response), 404);
	response.status = 200; /* as gRPC has it */
	assert_int_equal(error_http_status(&response), 404);
	http_response_reset(&response, 415);
	assert_int_equal(error_http_status(&response), 415);
	http_response_fini(&response);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_code_has_its_name_and_status),
		cmocka_unit_test(a_connect_error_replaces_what_was_written),
		cmocka_unit_test(an_empty_message_is_left_out),
		cmocka_unit_test(a_plain_error_is_named_by_its_status),
		cmocka_unit_test(a_failure_counts_wherever_it_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
