#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/http_client.h"
#include "server/http/metrics_port.h"

static int ask(const struct metrics_port *port, const char *method, const char *path,
               struct strbuf *answer)
{
	CLEANUP(http_client_freep) struct http_client *client = NULL;
	struct error err = { 0 };
	char url[64];
	int status = 0;

	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", metrics_port_number(port), path);
	strbuf_reset(answer);
	assert_int_equal(http_client_new(&client, &err), 0);
	assert_int_equal(
		http_client_do(client,
	                       &(struct http_client_request){ .method = method, .url = url },
	                       answer, &status, &err),
		0);
	return status;
}

static void the_text_that_was_set_last_is_answered(void **state)
{
	CLEANUP(metrics_port_closep) struct metrics_port *port = NULL;
	struct strbuf answer;
	struct error err;

	(void)state;
	strbuf_init(&answer, 1000);
	assert_int_equal(metrics_port_open("127.0.0.1:0", &port, &err), 0);
	assert_int_equal(ask(port, "GET", "/metrics", &answer), 200);
	assert_int_equal(answer.length, 0);
	metrics_port_set(port, STR("a 1\n"));
	metrics_port_set(port, STR("a 2\n"));
	assert_int_equal(ask(port, "GET", "/metrics", &answer), 200);
	assert_true(str_equals(strbuf_view(&answer), "a 2\n"));
	strbuf_fini(&answer);
}

static void nothing_else_is_there(void **state)
{
	CLEANUP(metrics_port_closep) struct metrics_port *port = NULL;
	struct strbuf answer;
	struct error err;

	(void)state;
	strbuf_init(&answer, 1000);
	assert_int_equal(metrics_port_open("127.0.0.1:0", &port, &err), 0);
	assert_int_equal(ask(port, "GET", "/ready", &answer), 200);
	assert_int_equal(ask(port, "GET", "/", &answer), 404);
	assert_int_equal(ask(port, "GET", "/metrics/", &answer), 404);
	assert_int_equal(ask(port, "POST", "/metrics", &answer), 405);
	strbuf_fini(&answer);
}

static void what_is_no_address_is_refused(void **state)
{
	static const char *const addresses[] = {
		"", "2224", "127.0.0.1:http", "127.0.0.1:70000", "[::1:80", "nowhere.invalid:1"
	};
	struct metrics_port *port = NULL;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		err = (struct error){ 0 };
		assert_int_equal(metrics_port_open(addresses[i], &port, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
	}
}

static void a_port_that_is_taken_is_an_error(void **state)
{
	CLEANUP(metrics_port_closep) struct metrics_port *port = NULL;
	struct metrics_port *second = NULL;
	struct error err;
	char address[64];

	(void)state;
	assert_int_equal(metrics_port_open("127.0.0.1:0", &port, &err), 0);
	(void)snprintf(address, sizeof(address), "127.0.0.1:%u", metrics_port_number(port));
	assert_int_equal(metrics_port_open(address, &second, &err), -1);
	assert_int_equal(err.code, ERROR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_that_was_set_last_is_answered),
		cmocka_unit_test(nothing_else_is_there),
		cmocka_unit_test(what_is_no_address_is_refused),
		cmocka_unit_test(a_port_that_is_taken_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
