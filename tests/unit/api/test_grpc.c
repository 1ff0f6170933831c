#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/grpc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "base/mem.h"

#define LIMIT   ((size_t)1 << 20)
#define MESSAGE 1000 /* the limit of a message here */

/* One request with its headers, and what came of it. */
struct rpc_case {
	struct arena *arena;
	struct http_header headers[4];
	struct http_request request;
	struct connect_call call;
	struct http_response response;
	bool accepted;
};

static void add_header(struct rpc_case *one, const char *name, const char *value)
{
	one->request.headers = one->headers;
	one->headers[one->request.header_count++] =
		(struct http_header){ str_of(name), str_of(value) };
}

static struct rpc_case *begin(const char *content_type, struct str body)
{
	struct rpc_case *one = mem_zalloc(1, sizeof(*one));

	one->arena = arena_new(LIMIT, NULL);
	one->request.method = STR("POST");
	one->request.body = body;
	http_response_init(&one->response, LIMIT);
	add_header(one, "Content-Type", content_type);
	return one;
}

static void send_it(struct rpc_case *one)
{
	one->accepted = grpc_accept(&one->request, MESSAGE, one->arena, &one->call, &one->response);
}

static void answer(struct rpc_case *one)
{
	grpc_answer(&one->request, MESSAGE, one->arena, &one->response);
}

static void end(struct rpc_case *one)
{
	http_response_fini(&one->response);
	arena_free(one->arena);
	free(one);
}

static void is_text(struct str found, const char *expected)
{
	assert_int_equal(found.length, strlen(expected));
	assert_memory_equal(found.data, expected, found.length);
}

static void is_trailer(const struct rpc_case *one, size_t index, const char *name,
                       const char *value)
{
	assert_true(index < one->response.trailer_count);
	is_text(one->response.trailers[index].name, name);
	is_text(one->response.trailers[index].value, value);
}

#define FRAME(bytes) str_make(bytes, sizeof(bytes) - 1)

static void content_types_choose_form_and_codec(void **state)
{
	static const struct {
		const char *type;
		bool is_grpc;
		bool is_known;
		enum connect_codec codec;
	} cases[] = {
		{ "application/grpc", true, true, CONNECT_PROTO },
		{ "Application/GRPC+proto", true, true, CONNECT_PROTO },
		{ "application/grpc; charset=utf-8", true, true, CONNECT_PROTO },
		{ "application/grpc+json", true, true, CONNECT_JSON },
		{ "application/grpc-web", true, true, CONNECT_PROTO },
		{ "application/grpc-web+proto", true, true, CONNECT_PROTO },
		{ "application/grpc-web+json", true, true, CONNECT_JSON },
		{ "application/grpc+thrift", true, false, CONNECT_PROTO },
		{ "application/grp", false, false, CONNECT_PROTO },
		{ "application/proto", false, false, CONNECT_PROTO },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct rpc_case *one = begin(cases[i].type, FRAME("\0\0\0\0\2{}"));

		assert_int_equal(grpc_is(&one->request), cases[i].is_grpc);
		assert_int_equal(grpc_is_known(&one->request), cases[i].is_known);
		if (cases[i].is_known) {
			send_it(one);
			assert_true(one->accepted);
			assert_int_equal(one->call.codec, cases[i].codec);
			is_text(one->call.message, "{}");
		}
		end(one);
	}
}

static void a_message_is_taken_out_of_its_frame(void **state)
{
	/* a frame that the reference sent: an empty message, packed by Go's gzip */
	static const char packed[] =
		"\1\0\0\0\x14\x1f\x8b\x08\0\0\x09\x6e\x88\0\xff\3\0\0\0\0\0\0\0\0\0";
	struct rpc_case *one = begin("application/grpc", FRAME("\0\0\0\0\3abc"));

	(void)state;
	send_it(one);
	assert_true(one->accepted);
	is_text(one->call.message, "abc");
	end(one);

	one = begin("application/grpc", FRAME(packed));
	add_header(one, "grpc-encoding", "gzip");
	send_it(one);
	assert_true(one->accepted);
	assert_int_equal(one->call.message.length, 0);
	end(one);

	/* base64 in two pieces, each padded: 00 00 00 00 | 03 61 62 63 */
	one = begin("application/grpc-web-text", STR("AAAAAA==A2FiYw=="));
	send_it(one);
	assert_true(one->accepted);
	is_text(one->call.message, "abc");
	end(one);

	/* a browser's empty trailers */
	one = begin("application/grpc-web", FRAME("\0\0\0\0\3abc\x80\0\0\0\0"));
	send_it(one);
	assert_true(one->accepted);
	is_text(one->call.message, "abc");
	end(one);
}

static void a_broken_frame_is_refused(void **state)
{
	const struct {
		struct str body;
		const char *encoding;
		const char *status;
		const char *says;
	} cases[] = {
		{ FRAME(""), NULL, "3", "zero messages" },
		{ FRAME("\0\0\0\0"), NULL, "3", "has no length" },
		{ FRAME("\0\0\0\0\4abc"), NULL, "3", "promised 4 bytes in a frame, got 3" },
		{ FRAME("\0\xff\xff\xff\xff"), NULL, "8", "4294967295 vs. 1000" },
		{ FRAME("\0\0\0\3\xe9"), NULL, "8", "1001 vs. 1000" },
		{ FRAME("\2\0\0\0\0"), NULL, "3", "invalid frame flags 2" },
		{ FRAME("\x80\0\0\0\0"), NULL, "3", "invalid frame flags 128" },
		{ FRAME("\0\0\0\0\0\0\0\0\0\0"), NULL, "3", "multiple messages" },
		{ FRAME("\0\0\0\0\0\x80\0\0\0\0"), NULL, "3", "multiple messages" },
		{ FRAME("\1\0\0\0\3abc"), NULL, "3", "without grpc-encoding" },
		{ FRAME("\1\0\0\0\3abc"), "identity", "3", "without grpc-encoding" },
		{ FRAME("\1\0\0\0\3abc"), "gzip", "3", "decompress" },
		{ FRAME("\0\0\0\0\0"), "zstd", "12", "unknown compression \"zstd\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct rpc_case *one = begin("application/grpc", cases[i].body);

		if (cases[i].encoding)
			add_header(one, "grpc-encoding", cases[i].encoding);
		send_it(one);
		assert_false(one->accepted);
		assert_non_null(strstr(one->response.failure.message, cases[i].says));
		answer(one);
		assert_int_equal(one->response.status, 200);
		assert_int_equal(one->response.body.length, 0);
		is_trailer(one, 0, "grpc-status", cases[i].status);
		assert_true(arena_used(one->arena) < 4096);
		end(one);
	}
}

static void what_unpacks_to_too_much_is_refused(void **state)
{
	static const char zeros[100000];
	struct rpc_case *one = begin("application/grpc", STR(""));
	struct strbuf body;

	(void)state;
	strbuf_init(&body, LIMIT);
	strbuf_add(&body, "\1\0\0\0", 5);
	gzip_deflate(str_make(zeros, sizeof(zeros)), &body);
	assert_true(body.length - 5 < 1000);
	body.data[3] = (char)((body.length - 5) >> 8);
	body.data[4] = (char)(body.length - 5);
	one->request.body = strbuf_view(&body);
	add_header(one, "grpc-encoding", "gzip");
	send_it(one);
	assert_false(one->accepted);
	answer(one);
	is_trailer(one, 0, "grpc-status", "8");
	strbuf_fini(&body);
	end(one);
}

static void timeouts_are_read_in_all_units(void **state)
{
	static const struct {
		const char *text;
		int64_t ns; /* -1: refused, -2: over at once */
	} cases[] = {
		{ "10S", 10 * NS_PER_S },
		{ "4998816u", INT64_C(4998816000) },
		{ "1n", 1 },
		{ "20m", 20 * NS_PER_MS },
		{ "3M", 180 * NS_PER_S },
		{ "2H", 7200 * NS_PER_S },
		{ "99999999H", INT64_MAX / 4 },
		{ "0m", -2 },
		{ "123456789S", -1 },
		{ "", -1 },
		{ "S", -1 },
		{ "5", -1 },
		{ "-5S", -1 },
		{ "5s", -1 },
		{ "5 S", -1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct rpc_case *one = begin("application/grpc", FRAME("\0\0\0\0\0"));

		add_header(one, "Grpc-Timeout", cases[i].text);
		send_it(one);
		assert_int_equal(one->accepted, cases[i].ns >= 0);
		if (one->accepted)
			assert_int_equal(one->call.timeout_ns, cases[i].ns);
		else
			assert_int_equal(one->response.failure.code,
			                 cases[i].ns == -1 ? ERROR_INVALID : ERROR_TIMED_OUT);
		end(one);
	}
}

static void an_answer_has_its_status_behind_it(void **state)
{
	const struct {
		const char *type;
		struct str body;
	} cases[] = {
		{ "application/grpc", FRAME("\0\0\0\0\3abc") },
		{ "application/grpc+proto", FRAME("\0\0\0\0\3abc") },
		{ "application/grpc-web+proto",
		  FRAME("\0\0\0\0\3abc\x80\0\0\0\x10grpc-status: 0\r\n") },
		/* the same bytes in base64, by Python's base64.b64encode */
		{ "application/grpc-web-text", FRAME("AAAAAANhYmOAAAAAEGdycGMtc3RhdHVzOiAwDQo=") },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct rpc_case *one = begin(cases[i].type, FRAME("AAAAAAA="));

		strbuf_add_text(&one->response.body, "abc");
		answer(one);
		assert_int_equal(one->response.status, 200);
		is_text(*http_response_find_header(&one->response, "content-type"), cases[i].type);
		assert_int_equal(one->response.body.length, cases[i].body.length);
		assert_memory_equal(one->response.body.data, cases[i].body.data,
		                    cases[i].body.length);
		if (i < 2)
			is_trailer(one, 0, "grpc-status", "0");
		assert_int_equal(one->response.trailer_count, i < 2 ? 1 : 0);
		end(one);
	}
}

/* A committed write is not answered "unknown" because its request has used up its memory. */
static void a_status_is_told_when_no_memory_is_left(void **state)
{
	struct rpc_case *one = begin("application/grpc", STR(""));

	(void)state;
	while (arena_alloc_raw(one->arena, 1))
		continue;
	answer(one);
	is_trailer(one, 0, "grpc-status", "0");
	end(one);
}

static void an_empty_message_is_a_frame_of_five_bytes(void **state)
{
	struct rpc_case *one = begin("application/grpc", STR(""));

	(void)state;
	answer(one);
	assert_int_equal(one->response.body.length, 5);
	assert_memory_equal(one->response.body.data, "\0\0\0\0\0", 5);
	is_trailer(one, 0, "grpc-status", "0");
	end(one);
}

static void a_failure_is_told_in_trailers_only(void **state)
{
	struct rpc_case *one = begin("application/grpc", STR(""));
	struct error err;

	(void)state;
	(void)error_set(&err, ERROR_INVALID, "100%% of \xc3\xbc\x7f is ~ bad");
	strbuf_add_text(&one->response.body, "half an answer");
	connect_fail(&err, &one->response);
	answer(one);
	assert_int_equal(one->response.status, 200);
	assert_int_equal(one->response.body.length, 0);
	is_trailer(one, 0, "grpc-status", "3");
	is_trailer(one, 1, "grpc-message", "100%25 of %C3%BC%7F is ~ bad");
	end(one);

	one = begin("application/grpc-web", STR(""));
	(void)error_set(&err, ERROR_UNAVAILABLE, "busy");
	connect_fail(&err, &one->response);
	answer(one);
	assert_int_equal(one->response.trailer_count, 0);
	assert_int_equal(one->response.body.length, 5 + 37);
	assert_memory_equal(one->response.body.data,
	                    "\x80\0\0\0\x25grpc-status: 14\r\ngrpc-message: busy\r\n", 42);
	end(one);
}

/* Ingest specification, 5.6, and gRPC's list of codes. */
static void errors_have_their_status(void **state)
{
	static const struct {
		enum error_code code;
		int status;
	} cases[] = {
		{ ERROR_NONE, 0 },
		{ ERROR_CANCELLED, 1 },
		{ ERROR_INVALID, 3 },
		{ ERROR_TIMED_OUT, 4 },
		{ ERROR_NOT_FOUND, 5 },
		{ ERROR_EXISTS, 6 },
		{ ERROR_FORBIDDEN, 7 },
		{ ERROR_TOO_LARGE, 8 },
		{ ERROR_RATE_LIMITED, 8 },
		{ ERROR_UNIMPLEMENTED, 12 },
		{ ERROR_UNAVAILABLE, 14 },
		{ ERROR_NO_SPACE, 14 },
		{ ERROR_IO, 14 },
		{ ERROR_CORRUPT, 15 },
		{ ERROR_UNAUTHENTICATED, 16 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(error_grpc_status(cases[i].code), cases[i].status);
}

static void a_path_that_is_none_is_unimplemented(void **state)
{
	struct rpc_case *one = begin("application/grpc+cbor", STR(""));

	(void)state;
	grpc_unknown_path(STR("/a.B/C"), &one->response);
	answer(one);
	assert_int_equal(one->response.status, 200);
	is_text(*http_response_find_header(&one->response, "content-type"), "application/grpc");
	is_trailer(one, 0, "grpc-status", "12");
	is_trailer(one, 1, "grpc-message", "unknown method /a.B/C");
	end(one);
}

static void what_http_refuses_stays_http(void **state)
{
	static const int statuses[] = { 400, 405, 415, 431 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++) {
		struct rpc_case *one = begin("application/grpc", STR(""));

		http_response_text(&one->response, statuses[i], "text/plain", STR("no"));
		answer(one);
		assert_int_equal(one->response.status, statuses[i]);
		is_text(strbuf_view(&one->response.body), "no");
		assert_int_equal(one->response.trailer_count, 0);
		end(one);
	}
}

static void a_large_answer_is_packed_for_who_reads_it(void **state)
{
	static const char text[] = "abcdefgh";
	struct rpc_case *one = begin("application/grpc", STR(""));
	struct str plain;
	struct error err;

	(void)state;
	add_header(one, "grpc-accept-encoding", "snappy,zstd, gzip");
	for (int i = 0; i < 250; i++) /* 2000 bytes; more may be sent than received here */
		strbuf_add_text(&one->response.body, text);
	grpc_answer(&one->request, LIMIT, one->arena, &one->response);
	is_text(*http_response_find_header(&one->response, "grpc-encoding"), "gzip");
	assert_true(one->response.body.length < 200);
	assert_int_equal(one->response.body.data[0], 1);
	assert_int_equal((unsigned char)one->response.body.data[4], one->response.body.length - 5);
	assert_int_equal(gzip_inflate(str_skip(strbuf_view(&one->response.body), 5), 2000,
	                              one->arena, &plain, &err),
	                 0);
	assert_int_equal(plain.length, 2000);
	assert_memory_equal(plain.data, text, 8);
	end(one);

	one = begin("application/grpc", STR(""));
	for (int i = 0; i < 250; i++)
		strbuf_add_text(&one->response.body, text);
	grpc_answer(&one->request, LIMIT, one->arena, &one->response);
	assert_null(http_response_find_header(&one->response, "grpc-encoding"));
	assert_int_equal(one->response.body.length, 2005);
	end(one);
}

static void an_answer_over_the_limit_is_resource_exhausted(void **state)
{
	struct rpc_case *one = begin("application/grpc", STR(""));

	(void)state;
	for (int i = 0; i < MESSAGE + 1; i++)
		strbuf_add_byte(&one->response.body, 'x');
	answer(one);
	assert_int_equal(one->response.body.length, 0);
	is_trailer(one, 0, "grpc-status", "8");
	assert_int_equal(one->response.failure.code, ERROR_TOO_LARGE);
	end(one);
}

static void a_prefix_announces_the_body(void **state)
{
	struct rpc_case *one = begin("application/grpc", STR(""));
	struct rpc_case *text = begin("application/grpc-web-text", STR(""));

	(void)state;
	assert_int_equal(grpc_announced(&one->request, FRAME("\0\0\0\1")), 0);
	assert_int_equal(grpc_announced(&one->request, FRAME("\0\0\0\1\2abc")), 263);
	assert_int_equal(grpc_announced(&one->request, FRAME("\1\xff\xff\xff\xff")),
	                 UINT64_C(4294967300));
	assert_int_equal(grpc_announced(&text->request, FRAME("AAAAAAAA")), 0);
	assert_int_equal(grpc_body_limit(&one->request, 100), 105);
	assert_true(grpc_body_limit(&text->request, 100) >= 140);
	end(one);
	end(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content_types_choose_form_and_codec),
		cmocka_unit_test(a_message_is_taken_out_of_its_frame),
		cmocka_unit_test(a_broken_frame_is_refused),
		cmocka_unit_test(what_unpacks_to_too_much_is_refused),
		cmocka_unit_test(timeouts_are_read_in_all_units),
		cmocka_unit_test(an_answer_has_its_status_behind_it),
		cmocka_unit_test(a_status_is_told_when_no_memory_is_left),
		cmocka_unit_test(an_empty_message_is_a_frame_of_five_bytes),
		cmocka_unit_test(a_failure_is_told_in_trailers_only),
		cmocka_unit_test(errors_have_their_status),
		cmocka_unit_test(a_path_that_is_none_is_unimplemented),
		cmocka_unit_test(what_http_refuses_stays_http),
		cmocka_unit_test(a_large_answer_is_packed_for_who_reads_it),
		cmocka_unit_test(an_answer_over_the_limit_is_resource_exhausted),
		cmocka_unit_test(a_prefix_announces_the_body),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
