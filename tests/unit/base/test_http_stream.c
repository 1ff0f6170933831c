#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/http_client.h"
#include "tests/unit/base/http_peer.h"

struct taken {
	struct http_client *client;
	struct strbuf bytes;
	size_t enough; /* as many are all that is wanted */
	bool cancels;
};

static int take(void *context, struct str bytes)
{
	struct taken *taken = context;

	strbuf_add_str(&taken->bytes, bytes);
	if (taken->cancels)
		http_client_cancel(taken->client);
	return taken->bytes.length < taken->enough ? 0 : -1;
}

static int stream(struct str answer, struct taken *taken, struct http_client_answer *out,
                  struct error *err)
{
	const struct http_client_body body = { take, taken };
	struct peer peer;
	int result;

	*err = (struct error){ 0 };
	strbuf_init(&taken->bytes, 1000);
	assert_int_equal(http_client_new(&taken->client, err), 0);
	peer_start(&peer, answer);
	result = http_client_stream(taken->client,
	                            &(struct http_client_request){ .method = "GET",
	                                                           .url = peer_url(&peer, "/") },
	                            &body, out, err);
	http_client_free(taken->client);
	peer_stop(&peer);
	strbuf_fini(&peer.seen);
	return result;
}

static void a_stream_hands_on_what_comes(void **state)
{
	struct taken taken = { .enough = SIZE_MAX };
	struct http_client_answer answer;
	struct error err;

	(void)state;
	assert_int_equal(stream(STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe\0lo"), &taken,
	                        &answer, &err),
	                 0);
	assert_int_equal(answer.status, 200);
	assert_int_equal(answer.retry_after_s, 0);
	assert_true(str_equal(strbuf_view(&taken.bytes), STR("he\0lo")));
	strbuf_fini(&taken.bytes);
}

/* Of a body that says it is large, and that is not the answer, nothing is taken. */
static void a_stream_of_an_error_is_its_status(void **state)
{
	struct taken taken = { .enough = SIZE_MAX };
	struct http_client_answer answer;
	struct error err;

	(void)state;
	assert_int_equal(stream(STR("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n"
	                            "Content-Length: 100000000\r\n\r\nlate"),
	                        &taken, &answer, &err),
	                 0);
	assert_int_equal(answer.status, 429);
	assert_int_equal(answer.retry_after_s, 7);
	assert_int_equal(taken.bytes.length, 0);
	strbuf_fini(&taken.bytes);
}

static void a_stream_ends_when_nobody_wants_more(void **state)
{
	struct taken taken = { .enough = 4 };
	struct http_client_answer answer = { .status = 1 };
	struct error err;

	(void)state;
	assert_int_equal(stream(STR("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nmuch"), &taken,
	                        &answer, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_TOO_LARGE);
	assert_int_equal(answer.status, 1);
	strbuf_fini(&taken.bytes);
}

/* The peer says that more will come, and never sends it. */
static void a_stream_that_is_cancelled_ends(void **state)
{
	struct taken taken = { .enough = SIZE_MAX, .cancels = true };
	struct http_client_answer answer;
	struct error err;

	(void)state;
	assert_int_equal(stream(STR("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nmuch"), &taken,
	                        &answer, &err),
	                 -1);
	assert_int_equal(err.code, ERROR_CANCELLED);
	strbuf_fini(&taken.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_hands_on_what_comes),
		cmocka_unit_test(a_stream_of_an_error_is_its_status),
		cmocka_unit_test(a_stream_ends_when_nobody_wants_more),
		cmocka_unit_test(a_stream_that_is_cancelled_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
