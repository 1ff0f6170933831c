#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "base/http_client.h"
#include "tests/unit/base/http_peer.h"

/* One request to a peer that answers `answer`; returns http_client_do()'s result. */
static int ask(struct str answer, struct http_client_request request, size_t limit,
               struct strbuf *out_body, int *out_status, struct error *err, struct peer *peer)
{
	struct http_client *client = NULL;
	int result;

	*err = (struct error){ 0 };
	strbuf_init(out_body, limit);
	assert_int_equal(http_client_new(&client, err), 0);
	peer_start(peer, answer);
	request.url = peer_url(peer, "/path?a=b");
	result = http_client_do(client, &request, out_body, out_status, err);
	http_client_free(client);
	peer_stop(peer);
	return result;
}

static void a_request_is_sent_as_it_was_given(void **state)
{
	static const char *const headers[] = { "X-Scope-OrgID: me",
		                               "content-type: application/json", NULL };
	struct peer peer;
	struct strbuf body;
	struct error err;
	int status = 0;

	(void)state;
	assert_int_equal(ask(STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe\0lo"),
	                     (struct http_client_request){ .method = "POST",
	                                                   .headers = headers,
	                                                   .body = STR("{\"a\":\0}") },
	                     1000, &body, &status, &err, &peer),
	                 0);
	assert_int_equal(status, 200);
	assert_true(str_equal(strbuf_view(&body), STR("he\0lo")));
	assert_true(str_starts_with(strbuf_view(&peer.seen), STR("POST /path?a=b HTTP/1.1\r\n")));
	assert_true(str_ends_with(strbuf_view(&peer.seen), STR("\r\n\r\n{\"a\":\0}")));
	assert_true(str_find(strbuf_view(&peer.seen), STR("X-Scope-OrgID: me\r\n")) > 0);
	assert_true(str_find(strbuf_view(&peer.seen), STR("content-type: application/json\r\n")) >
	            0);
	assert_int_equal(str_find(strbuf_view(&peer.seen), STR("urlencoded")), -1);
	strbuf_fini(&body);
	strbuf_fini(&peer.seen);
}

static void a_request_without_a_body_adds_nothing(void **state)
{
	static const char *const methods[] = { "GET", "POST", "DELETE" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(methods); i++) {
		struct peer peer;
		struct strbuf body;
		struct error err;
		int status = 0;

		assert_int_equal(ask(STR("HTTP/1.1 204 No Content\r\n\r\n"),
		                     (struct http_client_request){ .method = methods[i] }, 1000,
		                     &body, &status, &err, &peer),
		                 0);
		assert_int_equal(status, 204);
		assert_true(str_starts_with(strbuf_view(&peer.seen), str_of(methods[i])));
		assert_int_equal(str_find(strbuf_view(&peer.seen), STR("Content-Type")), -1);
		assert_int_equal(str_find(strbuf_view(&peer.seen), STR("Expect")), -1);
		strbuf_fini(&body);
		strbuf_fini(&peer.seen);
	}
}

static void an_error_status_and_a_redirect_are_answers(void **state)
{
	static const struct {
		struct str answer;
		int status;
		const char *body;
	} cases[] = {
		{ STR("HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\nno"), 404, "no" },
		{ STR("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), 503, "" },
		{ STR("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n"
		      "\r\n"),
		  302, "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct peer peer;
		struct strbuf body;
		struct error err;
		int status = 0;

		assert_int_equal(ask(cases[i].answer,
		                     (struct http_client_request){ .method = "GET" }, 1000, &body,
		                     &status, &err, &peer),
		                 0);
		assert_int_equal(status, cases[i].status);
		assert_string_equal(body.data, cases[i].body);
		strbuf_fini(&body);
		strbuf_fini(&peer.seen);
	}
}

static void an_answer_past_the_limit_is_an_error(void **state)
{
	struct peer peer;
	struct strbuf body;
	struct error err;
	int status = 7;

	(void)state;
	assert_int_equal(ask(STR("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world"),
	                     (struct http_client_request){ .method = "GET" }, 10, &body, &status,
	                     &err, &peer),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(status, 7);
	strbuf_fini(&body);
	strbuf_fini(&peer.seen);
}

static void a_compressed_answer_is_inflated_within_the_limit(void **state)
{
	static const size_t limits[] = { 100000, 99999 };
	char *zeros = calloc(1, 100000);
	struct strbuf packed;

	(void)state;
	strbuf_init(&packed, 1 << 20);
	gzip_deflate(str_make(zeros, 100000), &packed);
	for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
		struct strbuf answer;
		struct strbuf body;
		struct peer peer;
		struct error err;
		int status = 0;

		strbuf_init(&answer, 1 << 20);
		strbuf_printf(&answer,
		              "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n"
		              "\r\n",
		              packed.length);
		strbuf_add_str(&answer, strbuf_view(&packed));
		assert_int_equal(ask(strbuf_view(&answer),
		                     (struct http_client_request){ .method = "GET", .gzip = true },
		                     limits[i], &body, &status, &err, &peer),
		                 i == 0 ? 0 : -1);
		assert_true(str_find(strbuf_view(&peer.seen), STR("Accept-Encoding: gzip\r\n")) >
		            0);
		if (i == 0)
			assert_int_equal(body.length, 100000);
		else
			assert_int_equal(err.code, ERROR_TOO_LARGE);
		strbuf_fini(&answer);
		strbuf_fini(&body);
		strbuf_fini(&peer.seen);
	}
	strbuf_fini(&packed);
	free(zeros);
}

static void who_never_answers_is_given_up(void **state)
{
	struct peer peer;
	struct strbuf body;
	struct error err;
	int status = 0;

	(void)state;
	assert_int_equal(ask((struct str){ NULL, 0 },
	                     (struct http_client_request){ .method = "GET", .timeout_ms = 50 },
	                     1000, &body, &status, &err, &peer),
	                 -1);
	assert_int_equal(err.code, ERROR_TIMED_OUT);
	strbuf_fini(&body);
	strbuf_fini(&peer.seen);
}

static void connections_are_reused(void **state)
{
	CLEANUP(http_client_freep) struct http_client *client = NULL;
	struct peer peer; /* which accepts one connection only */
	struct strbuf body;
	struct error err = { 0 };

	(void)state;
	strbuf_init(&body, 1000);
	assert_int_equal(http_client_new(&client, &err), 0);
	peer_start(&peer, STR("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"));
	for (int i = 0; i < 3; i++) {
		int status = 0;

		assert_int_equal(
			http_client_do(client,
		                       &(struct http_client_request){ .method = "GET",
		                                                      .url = peer_url(&peer, "/") },
		                       &body, &status, &err),
			0);
		assert_int_equal(status, 200);
	}
	assert_string_equal(body.data, "xxx");
	http_client_free(TAKE(client));
	peer_stop(&peer);
	strbuf_fini(&body);
	strbuf_fini(&peer.seen);
}

static void bad_urls_and_dead_ports_are_told_apart(void **state)
{
	static const struct {
		const char *url;
		enum error_code code;
	} cases[] = {
		{ "http://127.0.0.1:1/", ERROR_UNAVAILABLE },
		{ "file:///etc/passwd", ERROR_INVALID },
		{ "ftp://127.0.0.1/", ERROR_INVALID },
		{ "http://[::1", ERROR_INVALID },
		{ "http://127.0.0.1:99999/", ERROR_INVALID },
		{ "", ERROR_INVALID },
	};
	CLEANUP(http_client_freep) struct http_client *client = NULL;
	struct error err = { 0 };
	struct strbuf body;

	(void)state;
	strbuf_init(&body, 1000);
	assert_int_equal(http_client_new(&client, &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		int status = 0;

		assert_int_equal(http_client_do(client,
		                                &(struct http_client_request){
							.method = "GET", .url = cases[i].url },
		                                &body, &status, &err),
		                 -1);
		assert_int_equal(err.code, cases[i].code);
	}
	strbuf_fini(&body);
}

static void what_is_no_url_is_known_before_it_is_asked(void **state)
{
	static const char *const good[] = {
		"http://localhost", "http://127.0.0.1:4040/",   "https://a.b:443/prefix",
		"HTTP://[::1]:1",   "http://[fe80::1%25lo]:80",
	};
	static const char *const bad[] = {
		"",
		"localhost:4040",
		"127.0.0.1",
		"ftp://a",
		"file:///etc/passwd",
		"http://",
		"http:///x",
		"http://:4040",
		"http://a b",
		"http://a/b c",
		"http://a\nb",
		"http://a:0",
		"http://a:70000",
		"http://a:-1",
		"http://a:b",
		"http://a:1:2",
		"http://[::1",
		"http://[::1]x",
		"http://[::gg]",
		"http://%zz",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		struct error err = { 0 };

		if (http_client_check_url(good[i], &err) < 0)
			fail_msg("%s: %s", good[i], err.message);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		struct error err = { 0 };

		if (http_client_check_url(bad[i], &err) == 0)
			fail_msg("'%s' was taken", bad[i]);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

/* Status and pause of an answer that is refused for the size of its body. */
static void what_came_of_an_answer_is_known(void **state)
{
	static const char answer[] = "HTTP/1.1 503 Busy\r\nRetry-After: 7\r\n"
				     "Content-Length: 4\r\n\r\nlate";
	CLEANUP(http_client_freep) struct http_client *client = NULL;
	struct http_client_answer last;
	struct error err = { 0 };
	struct strbuf body;
	struct peer peer;
	int status = 0;

	(void)state;
	strbuf_init(&body, 3);
	assert_int_equal(http_client_new(&client, &err), 0);
	assert_int_equal(http_client_last(client).status, 0);
	peer_start(&peer, str_of(answer));
	assert_int_equal(http_client_do(client,
	                                &(struct http_client_request){
						.method = "GET", .url = peer_url(&peer, "/") },
	                                &body, &status, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	last = http_client_last(client);
	assert_int_equal(last.status, 503);
	assert_int_equal(last.retry_after_s, 7);
	/* nobody is there: nothing is left of it */
	assert_int_equal(http_client_do(client,
	                                &(struct http_client_request){
						.method = "GET", .url = "http://127.0.0.1:1/" },
	                                &body, &status, &err),
	                 -1);
	assert_int_equal(http_client_last(client).status, 0);
	http_client_free(TAKE(client));
	peer_stop(&peer);
	strbuf_fini(&peer.seen);
	strbuf_fini(&body);
}

struct asking {
	struct http_client *client;
	const char *url;
	struct error err;
};

static void *ask_for_ever(void *context)
{
	struct asking *asking = context;
	struct strbuf body;
	int status;

	strbuf_init(&body, 1000);
	assert_int_equal(http_client_do(asking->client,
	                                &(struct http_client_request){ .method = "GET",
	                                                               .url = asking->url,
	                                                               .timeout_ms = 3600000 },
	                                &body, &status, &asking->err),
	                 -1);
	strbuf_fini(&body);
	return NULL;
}

static void a_request_that_is_cancelled_ends(void **state)
{
	struct asking asking = { 0 };
	struct peer peer;
	pthread_t thread;

	(void)state;
	assert_int_equal(http_client_new(&asking.client, &asking.err), 0);
	peer_start(&peer, STR("")); /* never answers */
	asking.url = peer_url(&peer, "/");
	pthread_create(&thread, NULL, ask_for_ever, &asking);
	http_client_cancel(asking.client);
	pthread_join(thread, NULL); /* not in an hour */
	assert_int_equal(asking.err.code, ERROR_CANCELLED);
	http_client_free(asking.client);
	peer_stop(&peer);
	strbuf_fini(&peer.seen);
}

static void proxies_of_the_environment_are_not_used(void **state)
{
	struct peer peer;
	struct strbuf body;
	struct error err;
	int status = 0;

	(void)state;
	assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
	assert_int_equal(setenv("ALL_PROXY", "http://127.0.0.1:1", 1), 0);
	assert_int_equal(ask(STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
	                     (struct http_client_request){ .method = "GET" }, 1000, &body, &status,
	                     &err, &peer),
	                 0);
	assert_int_equal(status, 200);
	strbuf_fini(&body);
	strbuf_fini(&peer.seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_sent_as_it_was_given),
		cmocka_unit_test(a_request_without_a_body_adds_nothing),
		cmocka_unit_test(an_error_status_and_a_redirect_are_answers),
		cmocka_unit_test(an_answer_past_the_limit_is_an_error),
		cmocka_unit_test(a_compressed_answer_is_inflated_within_the_limit),
		cmocka_unit_test(who_never_answers_is_given_up),
		cmocka_unit_test(connections_are_reused),
		cmocka_unit_test(bad_urls_and_dead_ports_are_told_apart),
		cmocka_unit_test(what_is_no_url_is_known_before_it_is_asked),
		cmocka_unit_test(what_came_of_an_answer_is_known),
		cmocka_unit_test(a_request_that_is_cancelled_ends),
		cmocka_unit_test(proxies_of_the_environment_are_not_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
