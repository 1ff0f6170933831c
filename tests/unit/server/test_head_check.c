#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/http/head_check.h"

#define HEADERS_MAX 4

#define HOST                          \
	{                             \
		STR("Host"), STR("x") \
	}

/* RFC 9112, 3.2, 6.1 and 6.3. */
/* NOLINTNEXTLINE(readability-function-size): a table */
static void heads_are_checked(void **state)
{
	/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order it is read */
	static const struct {
		enum head_version version;
		struct http_header headers[HEADERS_MAX];
		int status;
		struct head head;
	} cases[] = {
		{ HEAD_HTTP_1_1, { HOST }, 0, { 0, false, false } },
		{ HEAD_HTTP_1_0, { { STR("A"), STR("b") } }, 0, { 0, false, false } },
		{ HEAD_HTTP_1_1, { { STR("A"), STR("b") } }, 400, { 0, false, false } },
		{ HEAD_HTTP_1_1, { HOST, HOST }, 400, { 0, false, false } },
		{ HEAD_HTTP_1_1, { { STR("hOsT"), STR("[::1]:80") } }, 0, { 0, false, false } },
		{ HEAD_HTTP_1_1, { { STR("Host"), STR("") } }, 0, { 0, false, false } },
		{ HEAD_HTTP_1_1, { { STR("Host"), STR("a b") } }, 400, { 0, false, false } },
		{ HEAD_HTTP_1_1, { { STR("Host"), STR("a/b") } }, 400, { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("content-length"), STR("42") } },
		  0,
		  { 42, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Content-Length "), STR("42") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST,
		    { STR("Content-Length"), STR("4") },
		    { STR("Content-Length"), STR("4") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Content-Length"), STR("+4") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Content-Length"), STR("4,4") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Content-Length"), STR("") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Content-Length"), STR("9223372036854775807") } },
		  0,
		  { INT64_MAX, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Content-Length"), STR("9223372036854775808") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Transfer-Encoding"), STR("Chunked") } },
		  0,
		  { 0, true, false } },
		{ HEAD_HTTP_1_0,
		  { HOST, { STR("Transfer-Encoding"), STR("chunked") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Transfer-Encoding"), STR("gzip, chunked") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST,
		    { STR("Transfer-Encoding"), STR("chunked") },
		    { STR("Transfer-Encoding"), STR("chunked") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST,
		    { STR("Transfer-Encoding"), STR("chunked") },
		    { STR("Content-Length"), STR("4") } },
		  400,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Expect"), STR("100-Continue") } },
		  0,
		  { 0, false, true } },
		{ HEAD_HTTP_1_1,
		  { HOST, { STR("Expect"), STR("tea") } },
		  417,
		  { 0, false, false } },
		{ HEAD_HTTP_1_1, { HOST, { STR("X\0Y"), STR("a") } }, 400, { 0, false, false } },
		{ HEAD_HTTP_1_1, { HOST, { STR("X"), STR("a\0b") } }, 400, { 0, false, false } },
		{ HEAD_HTTP_1_1, { HOST, { STR("X"), STR("a\r\nb") } }, 400, { 0, false, false } },
		{ HEAD_HTTP_1_1, { HOST, { STR("X"), STR("\ta \xff") } }, 0, { 0, false, false } },
		{ HEAD_HTTP_1_1, { HOST, { STR("X(Y)"), STR("a") } }, 400, { 0, false, false } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct head head = { 0 };
		const char *reason = NULL;
		size_t count = 0;

		while (count < HEADERS_MAX && cases[i].headers[count].name.data)
			count++;
		assert_int_equal(head_check(cases[i].version, cases[i].headers, count, &head,
		                            &reason),
		                 cases[i].status);
		assert_int_equal(reason != NULL, cases[i].status != 0);
		assert_true(head.content_length == cases[i].head.content_length);
		assert_int_equal(head.is_chunked, cases[i].head.is_chunked);
		assert_int_equal(head.expects_continue, cases[i].head.expects_continue);
	}
}

static void targets_are_cut_into_path_and_query(void **state)
{
	static const struct {
		struct str target;
		bool is_fine;
		struct str path;
		struct str query;
	} cases[] = {
		{ STR("/"), true, STR("/"), STR("") },
		{ STR("/a/b?c=%zz&d"), true, STR("/a/b"), STR("c=%zz&d") },
		{ STR("/a?"), true, STR("/a"), STR("") },
		{ STR("/a?b?c"), true, STR("/a"), STR("b?c") },
		{ STR("http://h:1/a?b"), true, STR("/a"), STR("b") },
		{ STR("HTTP://h"), true, STR("/"), STR("") },
		{ STR("http://h?b=/c"), true, STR("/c"), STR("") },
		{ STR("*"), false, { NULL, 0 }, { NULL, 0 } },
		{ STR(""), false, { NULL, 0 }, { NULL, 0 } },
		{ STR("a/b"), false, { NULL, 0 }, { NULL, 0 } },
		{ STR("ftp://h/a"), false, { NULL, 0 }, { NULL, 0 } },
		{ STR("/a b"), false, { NULL, 0 }, { NULL, 0 } },
		{ STR("/a\rb"), false, { NULL, 0 }, { NULL, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct str path = { NULL, 0 };
		struct str query = { NULL, 0 };

		assert_int_equal(head_split_target(cases[i].target, &path, &query),
		                 cases[i].is_fine);
		assert_true(str_equal(path, cases[i].path));
		assert_true(str_equal(query, cases[i].query));
	}
}

static void versions_other_than_1_0_and_1_1_are_refused(void **state)
{
	enum head_version version;

	(void)state;
	assert_true(head_version_parse(STR("HTTP/1.0"), &version));
	assert_int_equal(version, HEAD_HTTP_1_0);
	assert_true(head_version_parse(STR("HTTP/1.1"), &version));
	assert_int_equal(version, HEAD_HTTP_1_1);
	assert_false(head_version_parse(STR("HTTP/2.0"), &version));
	assert_false(head_version_parse(STR("HTTP/1.10"), &version));
	assert_false(head_version_parse(STR("http/1.1"), &version));
	assert_false(head_version_parse(STR(""), &version));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_checked),
		cmocka_unit_test(targets_are_cut_into_path_and_query),
		cmocka_unit_test(versions_other_than_1_0_and_1_1_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
