#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/connect_message.h"
#include "api/proto_bytes.h"
#include "base/gzip.h"
#include "proto/querier.pb-c.h"

#define LIMIT ((size_t)1 << 20)

/* One request with up to four headers, and what came of it. */
struct exchange_case {
	struct arena *arena;
	struct http_header headers[4];
	struct http_request request;
	struct connect_call call;
	struct http_response response;
	bool accepted;
};

static void add_header(struct exchange_case *one, const char *name, const char *value)
{
	one->headers[one->request.header_count++] =
		(struct http_header){ str_of(name), str_of(value) };
}

static struct exchange_case one_of(const char *content_type, struct str body)
{
	struct exchange_case one = { .arena = arena_new(LIMIT, NULL) };

	one.request.method = STR("POST");
	one.request.body = body;
	http_response_init(&one.response, LIMIT);
	if (content_type)
		add_header(&one, "Content-Type", content_type);
	return one;
}

static void send_it(struct exchange_case *one)
{
	one->request.headers = one->headers;
	one->accepted = connect_accept(&one->request, 1000, one->arena, &one->call, &one->response);
}

static void end(struct exchange_case *one)
{
	http_response_fini(&one->response);
	arena_free(one->arena);
}

static void is_header(const struct exchange_case *one, const char *name, const char *value)
{
	const struct str *found = http_response_find_header(&one->response, name);

	if (!found)
		fail_msg("no %s", name);
	assert_true(str_equals(*found, value));
}

static void only_post_is_a_call(void **state)
{
	static const char *const methods[] = { "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "post" };

	(void)state;
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		struct exchange_case one = one_of("application/json", STR("{}"));

		one.request.method = str_of(methods[i]);
		send_it(&one);
		assert_false(one.accepted);
		assert_int_equal(one.response.status, 405);
		assert_int_equal(one.response.body.length, 0);
		is_header(&one, "Allow", "POST");
		end(&one);
	}
}

static void content_types_are_read_in_every_spelling(void **state)
{
	static const struct {
		const char *sent;
		const char *canonical;
		enum connect_codec codec;
	} cases[] = {
		{ "application/proto", "application/proto", CONNECT_PROTO },
		{ "application/json", "application/json", CONNECT_JSON },
		{ "Application/JSON", "application/json", CONNECT_JSON },
		{ "application/json;charset=UTF-8", "application/json; charset=utf-8",
		  CONNECT_JSON },
		{ "application/json ;  Charset=\"utf-8\"", "application/json; charset=utf-8",
		  CONNECT_JSON },
		{ "application/json;", "application/json", CONNECT_JSON },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct exchange_case one = one_of(cases[i].sent, STR("{}"));

		send_it(&one);
		assert_true(one.accepted);
		assert_int_equal(one.call.codec, cases[i].codec);
		strbuf_add_str(&one.response.body, STR("{}"));
		connect_reply(&one.call, &one.response);
		assert_int_equal(one.response.status, 200);
		is_header(&one, "Content-Type", cases[i].canonical);
		is_header(&one, "Accept-Encoding", "gzip");
		end(&one);
	}
}

static void other_content_types_are_refused_with_a_list(void **state)
{
	static const char *const types[] = {
		NULL,
		"",
		"text/plain",
		"application/x-www-form-urlencoded",
		"application/protobuf",
		"application/x-protobuf",
		"application/json; charset=latin1",
		"application/json; foo=bar",
		"application/json; charset=utf-8; charset=utf-8",
		"application/json; charset",
		"application/json; charset=",
		"application/json;;",
		"application/proto; charset=utf-8",
		"application/connect+json",
		"application/grpc",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct exchange_case one = one_of(types[i], STR("{}"));

		send_it(&one);
		if (one.accepted)
			fail_msg("accepted %s", types[i]);
		assert_int_equal(one.response.status, 415);
		assert_int_equal(one.response.body.length, 0);
		is_header(&one, "Accept-Post",
		          "application/grpc, application/grpc+json, application/grpc+json; "
		          "charset=utf-8, application/grpc+proto, application/grpc-web, "
		          "application/grpc-web+json, application/grpc-web+json; charset=utf-8, "
		          "application/grpc-web+proto, application/json, application/json; "
		          "charset=utf-8, application/proto");
		end(&one);
	}
}

/* A header that makes the call fail, and how. */
static void headers_that_are_wrong_are_named(void **state)
{
	static const struct {
		const char *name;
		const char *value;
		int status;
		const char *body;
	} cases[] = {
		{ "Connect-Protocol-Version", "2", 400,
		  "{\"code\":\"invalid_argument\",\"message\":\"Connect-Protocol-Version must be "
		  "\\\"1\\\": got \\\"2\\\"\"}" },
		{ "Content-Encoding", "zstd", 501,
		  "{\"code\":\"unimplemented\",\"message\":\"unknown compression \\\"zstd\\\": "
		  "supported encodings are gzip\"}" },
		{ "Content-Encoding", "gzip, gzip", 501,
		  "{\"code\":\"unimplemented\",\"message\":\"unknown compression \\\"gzip, "
		  "gzip\\\": supported encodings are gzip\"}" },
		{ "Connect-Timeout-Ms", "99999999999", 400,
		  "{\"code\":\"invalid_argument\",\"message\":\"parse timeout: "
		  "\\\"99999999999\\\" has \\u003e10 digits\"}" },
		{ "Connect-Timeout-Ms", "0", 504,
		  "{\"code\":\"deadline_exceeded\",\"message\":\"context deadline exceeded\"}" },
		{ "Connect-Timeout-Ms", "-5", 504,
		  "{\"code\":\"deadline_exceeded\",\"message\":\"context deadline exceeded\"}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct exchange_case one = one_of("application/proto", STR(""));

		add_header(&one, cases[i].name, cases[i].value);
		add_header(&one, "Accept-Encoding", "gzip");
		send_it(&one);
		assert_false(one.accepted);
		assert_int_equal(one.response.status, cases[i].status);
		assert_string_equal(one.response.body.data, cases[i].body);
		is_header(&one, "Content-Type", "application/json");
		is_header(&one, "Accept-Encoding", "gzip");
		assert_null(http_response_find_header(&one.response, "Content-Encoding"));
		end(&one);
	}
}

static void a_timeout_that_is_no_number_is_refused(void **state)
{
	struct exchange_case one = one_of("application/json", STR("{}"));

	(void)state;
	add_header(&one, "Connect-Timeout-Ms", "abc");
	send_it(&one);
	assert_false(one.accepted);
	assert_int_equal(one.response.status, 400);
	end(&one);
}

static void usual_headers_are_accepted(void **state)
{
	struct exchange_case one = one_of("application/json", STR("{}"));

	(void)state;
	add_header(&one, "Connect-Timeout-Ms", "30000");
	add_header(&one, "connect-protocol-version", "1");
	add_header(&one, "Content-Encoding", "identity");
	send_it(&one);
	assert_true(one.accepted);
	assert_int_equal(one.call.timeout_ns, INT64_C(30000000000));
	assert_false(one.call.gzip_answer);
	assert_false(one.call.utf8_label_names);
	end(&one);
}

static void a_gzip_request_has_a_gzip_answer(void **state)
{
	CLEANUP(arena_freep) struct arena *arena = arena_new(LIMIT, NULL);
	struct strbuf packed;
	struct str plain;
	struct error err = { 0 };
	struct exchange_case one;

	(void)state;
	strbuf_init(&packed, LIMIT);
	gzip_deflate(STR("{\"start\":1}"), &packed);
	one = one_of("application/json", strbuf_view(&packed));
	add_header(&one, "Content-Encoding", "gzip");
	send_it(&one);
	assert_true(one.accepted);
	assert_true(str_equals(one.call.message, "{\"start\":1}"));
	strbuf_add_str(&one.response.body, STR("{}"));
	connect_reply(&one.call, &one.response);
	is_header(&one, "Content-Encoding", "gzip");
	assert_int_equal(gzip_inflate(strbuf_view(&one.response.body), LIMIT, arena, &plain, &err),
	                 0);
	assert_true(str_equals(plain, "{}"));
	end(&one);
	strbuf_fini(&packed);
}

static void an_empty_answer_is_not_compressed(void **state)
{
	struct exchange_case one = one_of("application/proto", STR(""));

	(void)state;
	add_header(&one, "Content-Encoding", "gzip");
	send_it(&one);
	assert_true(one.accepted);
	assert_int_equal(one.call.message.length, 0);
	connect_reply(&one.call, &one.response);
	assert_int_equal(one.response.body.length, 0);
	assert_null(http_response_find_header(&one.response, "Content-Encoding"));
	end(&one);
}

static void damaged_gzip_is_the_clients_mistake(void **state)
{
	struct exchange_case one = one_of("application/proto", STR("\x1f\x8b no gzip"));

	(void)state;
	add_header(&one, "Content-Encoding", "gzip");
	send_it(&one);
	assert_false(one.accepted);
	assert_int_equal(one.response.status, 400);
	end(&one);
}

static void a_message_over_the_limit_is_refused_before_and_after_inflating(void **state)
{
	char zeros[2000] = { 0 };
	struct strbuf packed;
	struct exchange_case one = one_of("application/proto", str_make(zeros, sizeof(zeros)));

	(void)state;
	send_it(&one);
	assert_false(one.accepted);
	assert_int_equal(one.response.status, 429);
	assert_string_equal(one.response.body.data,
	                    "{\"code\":\"resource_exhausted\",\"message\":\"message size 2000 is "
	                    "larger than configured max 1000\"}");
	end(&one);
	strbuf_init(&packed, LIMIT);
	gzip_deflate(str_make(zeros, sizeof(zeros)), &packed);
	one = one_of("application/proto", strbuf_view(&packed));
	add_header(&one, "Content-Encoding", "gzip");
	send_it(&one);
	assert_false(one.accepted);
	assert_int_equal(one.response.status, 429);
	end(&one);
	strbuf_fini(&packed);
}

static void an_empty_json_body_is_no_message(void **state)
{
	struct exchange_case one = one_of("application/json", STR(""));

	(void)state;
	send_it(&one);
	assert_false(one.accepted);
	assert_string_equal(one.response.body.data,
	                    "{\"code\":\"invalid_argument\",\"message\":\"unmarshal message: "
	                    "zero-length payload is not a valid JSON object\"}");
	end(&one);
}

static void an_answer_that_does_not_fit_is_an_error(void **state)
{
	struct exchange_case one = one_of("application/json", STR("{}"));

	(void)state;
	send_it(&one);
	assert_true(one.accepted);
	assert_null(strbuf_reserve(&one.response.body, LIMIT + 1));
	connect_reply(&one.call, &one.response);
	assert_int_equal(one.response.status, 429);
	end(&one);
}

static void messages_are_read_in_either_codec(void **state)
{
	static const struct {
		const char *type;
		struct str body;
	} cases[] = {
		{ "application/proto", { "\x08\xe8\x07\x10\xa0\x1f", 6 } },
		{ "application/json", { "{\"start\":1000,\"end\":4000}", 25 } },
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct exchange_case one = one_of(cases[i].type, cases[i].body);
		ProtobufCMessage *message = NULL;
		const Querier__V1__ProfileTypesRequest *request;
		struct error err = { 0 };

		send_it(&one);
		assert_true(one.accepted);
		assert_int_equal(connect_read(&one.call,
		                              &querier__v1__profile_types_request__descriptor,
		                              one.arena, &message, &err),
		                 0);
		request = (const void *)message;
		assert_int_equal(request->start, 1000);
		assert_int_equal(request->end, 4000);
		end(&one);
	}
}

static void malformed_messages_are_refused_in_either_codec(void **state)
{
	static const struct {
		const char *type;
		struct str body;
	} cases[] = {
		{ "application/proto", { "\x08", 1 } },
		{ "application/proto", { "\x7b\x7d", 2 } },
		{ "application/proto",
		  { "\x0a\x09"
		    "abc",
		    5 } },
		{ "application/json", { "[]", 2 } },
		{ "application/json", { "{\"start\":1.5}", 13 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct exchange_case one = one_of(cases[i].type, cases[i].body);
		ProtobufCMessage *message = NULL;
		struct error err = { 0 };

		send_it(&one);
		assert_true(one.accepted);
		assert_int_equal(connect_read(&one.call, &querier__v1__series_request__descriptor,
		                              one.arena, &message, &err),
		                 -1);
		assert_int_equal(err.code, ERROR_INVALID);
		assert_int_equal(strncmp(err.message, "unmarshal message: ", 19), 0);
		end(&one);
	}
}

static void messages_are_written_in_the_codec_of_the_call(void **state)
{
	ProtobufCBinaryData names[] = { proto_bytes(STR("eu")), proto_bytes(STR("us")) };
	Types__V1__LabelValuesResponse message = TYPES__V1__LABEL_VALUES_RESPONSE__INIT;
	struct exchange_case proto = one_of("application/proto", STR(""));
	struct exchange_case json = one_of("application/json", STR("{}"));

	(void)state;
	message.n_names = 2;
	message.names = names;
	send_it(&proto);
	connect_write(&proto.call, &message.base, &proto.response);
	assert_true(str_equal(strbuf_view(&proto.response.body), STR("\x0a\x02"
	                                                             "eu\x0a\x02us")));
	send_it(&json);
	connect_write(&json.call, &message.base, &json.response);
	assert_string_equal(json.response.body.data, "{\"names\":[\"eu\",\"us\"]}");
	end(&proto);
	end(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_post_is_a_call),
		cmocka_unit_test(content_types_are_read_in_every_spelling),
		cmocka_unit_test(other_content_types_are_refused_with_a_list),
		cmocka_unit_test(headers_that_are_wrong_are_named),
		cmocka_unit_test(a_timeout_that_is_no_number_is_refused),
		cmocka_unit_test(usual_headers_are_accepted),
		cmocka_unit_test(a_gzip_request_has_a_gzip_answer),
		cmocka_unit_test(an_empty_answer_is_not_compressed),
		cmocka_unit_test(damaged_gzip_is_the_clients_mistake),
		cmocka_unit_test(a_message_over_the_limit_is_refused_before_and_after_inflating),
		cmocka_unit_test(an_empty_json_body_is_no_message),
		cmocka_unit_test(an_answer_that_does_not_fit_is_an_error),
		cmocka_unit_test(messages_are_read_in_either_codec),
		cmocka_unit_test(malformed_messages_are_refused_in_either_codec),
		cmocka_unit_test(messages_are_written_in_the_codec_of_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
