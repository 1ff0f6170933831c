#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/guard/credentials.h"
#include "server/guard/role.h"

#define SECRET "abcdefghijklmnop"
/* what sha256sum makes of SECRET */
#define HASH "f39dac6cbaba535e2c207cd0cd8f154974223c848f727f98b3564cea569b41cf"
/* and of "another-secret-text" */
#define HASH_OF_ANOTHER "4543ac92bd9a24828bf728269bd835d72a5bea33e90f81270e045eaa073a69b2"
/* what base64 makes of "grafana:" SECRET */
#define PAIR "Z3JhZmFuYTphYmNkZWZnaGlqa2xtbm9w"

struct fixture {
	struct credentials *credentials;
	struct arena *arena;
};

static void read_text(struct fixture *fixture, const char *text)
{
	struct error err = { 0 };

	fixture->arena = arena_new((size_t)64 << 10, NULL);
	if (credentials_parse(str_of(text), "file", &fixture->credentials, &err) < 0)
		fail_msg("%s", err.message);
}

static void forget(struct fixture *fixture)
{
	credentials_free(fixture->credentials);
	arena_free(fixture->arena);
}

static bool finds(const struct fixture *fixture, const char *authorization, const char *name)
{
	const struct credential *found =
		credentials_find(fixture->credentials, str_of(authorization), fixture->arena);

	return name ? found && str_equals(found->name, name) : !found;
}

static void a_secret_is_found_by_itself_or_behind_its_name(void **state)
{
	struct fixture fixture;

	(void)state;
	read_text(&fixture, "# who\n\n grafana\tread * " SECRET "\r\n"
	                    "node write a,b sha256:" HASH_OF_ANOTHER "\n");
	assert_int_equal(credentials_count(fixture.credentials), 2);
	assert_true(finds(&fixture, "Bearer " SECRET, "grafana"));
	assert_true(finds(&fixture, "bearer   " SECRET, "grafana"));
	assert_true(finds(&fixture, "Basic " PAIR, "grafana"));
	assert_true(finds(&fixture, "BASIC " PAIR, "grafana"));
	assert_true(finds(&fixture, "Bearer another-secret-text", "node"));
	forget(&fixture);
}

static void what_does_not_fit_is_nobody(void **state)
{
	static const char *const strangers[] = {
		"",
		" ",
		"Bearer",
		"Bearer ",
		"Bearer abcdefghijklmno",
		"Bearer abcdefghijklmnopq",
		"Bearer ABCDEFGHIJKLMNOP",
		"Bearer " HASH,
		"Bearer sha256:" HASH,
		"Basic",
		"Basic ***",
		"Basic " SECRET,
		"Basic bm9kZTphYmNkZWZnaGlqa2xtbm9w", /* node:abcdefghijklmnop */
		"Basic OmFiY2RlZmdoaWprbG1ub3A=",     /* :abcdefghijklmnop */
		"Digest " SECRET,
		SECRET,
	};
	struct fixture fixture;

	(void)state;
	read_text(&fixture, "grafana read * sha256:" HASH "\n");
	assert_true(finds(&fixture, "Bearer " SECRET, "grafana"));
	for (size_t i = 0; i < ARRAY_LENGTH(strangers); i++)
		if (!finds(&fixture, strangers[i], NULL))
			fail_msg("'%s' comes in", strangers[i]);
	forget(&fixture);
}

static void roles_and_tenants_are_those_of_the_line(void **state)
{
	struct fixture fixture;
	const struct credential *one;

	(void)state;
	read_text(&fixture, "r read * " SECRET "1\nw write team-a " SECRET "2\n"
	                    "b read,write team-a,team-b " SECRET "3\na admin * " SECRET "4");
	one = credentials_at(fixture.credentials, 0);
	assert_int_equal(one->roles, ROLE_READ | ROLE_METRICS);
	assert_true(credential_is_for(one, STR("anything")));
	one = credentials_at(fixture.credentials, 1);
	assert_int_equal(one->roles, ROLE_WRITE);
	assert_true(credential_is_for(one, STR("team-a")));
	assert_false(credential_is_for(one, STR("team-b")));
	assert_false(credential_is_for(one, STR("team-")));
	one = credentials_at(fixture.credentials, 2);
	assert_int_equal(one->roles, ROLE_READ | ROLE_WRITE | ROLE_METRICS);
	assert_true(credential_is_for(one, STR("team-b")));
	one = credentials_at(fixture.credentials, 3);
	assert_int_equal(one->roles, ROLE_READ | ROLE_WRITE | ROLE_ADMIN | ROLE_METRICS);
	forget(&fixture);
}

static void what_is_wrong_is_told_with_its_line_and_without_secrets(void **state)
{
	static const struct {
		const char *text;
		const char *says;
	} cases[] = {
		{ "", "file: no credentials" },
		{ "# nobody\n", "file: no credentials" },
		{ "a read *\n", "file:1: NAME ROLES TENANTS SECRET" },
		{ "\na read * " SECRET " more\n", "file:2: NAME ROLES TENANTS SECRET" },
		{ "a reader * " SECRET "\n", "file:1: 'reader' is no role" },
		{ "a read, * " SECRET "\n", "file:1: '' is no role" },
		{ "a read te/am " SECRET "\n", "file:1: tenant ID 'te/am'" },
		{ "a read * abcdefghijklmno\n", "file:1: a secret has 16" },
		{ "a read * abcdefghijklmno\x7f\n", "file:1: a secret has 16" },
		{ "a read * sha256:abc\n", "file:1: behind sha256:" },
		{ "a:b read * " SECRET "\n", "file:1: a name has" },
		{ "a read * " SECRET "\na read * " SECRET "\n", "file:2: 'a' is given twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct credentials *credentials = NULL;
		struct error err = { 0 };

		assert_int_equal(
			credentials_parse(str_of(cases[i].text), "file", &credentials, &err), -1);
		assert_int_equal(err.code, ERROR_INVALID);
		if (strstr(err.message, cases[i].says) != err.message)
			fail_msg("'%s' does not begin '%s'", err.message, cases[i].says);
		assert_null(strstr(err.message, "abcdefgh"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_secret_is_found_by_itself_or_behind_its_name),
		cmocka_unit_test(what_does_not_fit_is_nobody),
		cmocka_unit_test(roles_and_tenants_are_those_of_the_line),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line_and_without_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
