#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/routes/admin_access.h"

static struct exchange from_in(const char *address)
{
	struct exchange exchange = { 0 };
	struct sockaddr_in peer = { .sin_family = AF_INET, .sin_port = htons(40000) };

	assert_int_equal(inet_pton(AF_INET, address, &peer.sin_addr), 1);
	memcpy(exchange.peer, &peer, sizeof(peer));
	return exchange;
}

static struct exchange from_in6(const char *address)
{
	struct exchange exchange = { 0 };
	struct sockaddr_in6 peer = { .sin6_family = AF_INET6, .sin6_port = htons(40000) };

	assert_int_equal(inet_pton(AF_INET6, address, &peer.sin6_addr), 1);
	memcpy(exchange.peer, &peer, sizeof(peer));
	return exchange;
}

static bool allows(enum admin_access access, const struct exchange *exchange)
{
	struct error err = { 0 };
	const int result = admin_access_check(access, exchange, &err);

	assert_true((result < 0) == (err.code == ERROR_FORBIDDEN));
	return result == 0;
}

static void this_machine_is_its_loopback_addresses(void **state)
{
	static const char *const here[] = { "127.0.0.1", "127.255.255.254" };
	static const char *const here6[] = { "::1", "::ffff:127.0.0.1" };
	static const char *const there[] = { "128.0.0.1", "10.0.0.1", "0.0.0.0",
		                             "126.255.255.255" };
	static const char *const there6[] = { "::", "::2", "fe80::1", "::ffff:10.0.0.1",
		                              "7f00::1" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(here); i++) {
		const struct exchange exchange = from_in(here[i]);

		assert_true(allows(ADMIN_ACCESS_LOCAL, &exchange));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(here6); i++) {
		const struct exchange exchange = from_in6(here6[i]);

		assert_true(allows(ADMIN_ACCESS_LOCAL, &exchange));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(there); i++) {
		const struct exchange exchange = from_in(there[i]);

		assert_false(allows(ADMIN_ACCESS_LOCAL, &exchange));
		assert_true(allows(ADMIN_ACCESS_ANY, &exchange));
	}
	for (size_t i = 0; i < ARRAY_LENGTH(there6); i++) {
		const struct exchange exchange = from_in6(there6[i]);

		assert_false(allows(ADMIN_ACCESS_LOCAL, &exchange));
	}
}

static void an_end_that_is_not_known_is_elsewhere(void **state)
{
	const struct exchange nobody = { 0 };

	(void)state;
	assert_false(allows(ADMIN_ACCESS_LOCAL, &nobody));
	assert_true(allows(ADMIN_ACCESS_ANY, &nobody));
}

static void a_proxy_here_asks_for_others(void **state)
{
	static const char *const names[] = { "x-forwarded-for", "Forwarded", "X-REAL-IP", "Via" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		const struct http_header header = { str_of(names[i]), STR("192.0.2.1") };
		struct exchange exchange = from_in("127.0.0.1");

		exchange.request.headers = &header;
		exchange.request.header_count = 1;
		assert_false(allows(ADMIN_ACCESS_LOCAL, &exchange));
	}
}

static void off_is_nobody(void **state)
{
	const struct exchange exchange = from_in("127.0.0.1");

	(void)state;
	assert_false(allows(ADMIN_ACCESS_OFF, &exchange));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_machine_is_its_loopback_addresses),
		cmocka_unit_test(an_end_that_is_not_known_is_elsewhere),
		cmocka_unit_test(a_proxy_here_asks_for_others),
		cmocka_unit_test(off_is_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
