#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/tenant.h"

#define A50  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define A150 A50 A50 A50

/* Read specification, 5.1. */
static void tenants_are_read_from_the_header(void **state)
{
	/* NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order it is read */
	static const struct {
		struct str header;
		enum tenant_use use;
		struct str tenant;
		enum error_code code;
		const char *message;
	} cases[] = {
		{ STR("team"), TENANT_READ, STR("team"), ERROR_NONE, "" },
		{ STR("  team\t"), TENANT_READ, STR("team"), ERROR_NONE, "" },
		{ STR("a!-_.*'()Z9"), TENANT_WRITE, STR("a!-_.*'()Z9"), ERROR_NONE, "" },
		{ STR(A150), TENANT_READ, STR(A150), ERROR_NONE, "" },
		{ STR("team:x=y/z"), TENANT_WRITE, STR("team"), ERROR_NONE, "" },
		{ STR("team|"), TENANT_WRITE, STR("team"), ERROR_NONE, "" },
		{ STR("|team"), TENANT_WRITE, STR("team"), ERROR_NONE, "" },
		{ STR("team|team"), TENANT_WRITE, STR("team"), ERROR_NONE, "" },
		{ STR(""), TENANT_READ, { NULL, 0 }, ERROR_UNAUTHENTICATED, "no org id" },
		{ STR("   "), TENANT_READ, { NULL, 0 }, ERROR_UNAUTHENTICATED, "no org id" },
		{ STR("|"), TENANT_READ, { NULL, 0 }, ERROR_UNAUTHENTICATED, "no org id" },
		{ STR(":x"), TENANT_READ, { NULL, 0 }, ERROR_UNAUTHENTICATED, "no org id" },
		{ STR("a/b"),
		  TENANT_READ,
		  { NULL, 0 },
		  ERROR_UNAUTHENTICATED,
		  "tenant ID 'a/b' contains unsupported character '/'" },
		{ STR("a b"),
		  TENANT_READ,
		  { NULL, 0 },
		  ERROR_UNAUTHENTICATED,
		  "tenant ID 'a b' contains unsupported character ' '" },
		{ STR("a\0b"), TENANT_READ, { NULL, 0 }, ERROR_UNAUTHENTICATED, "tenant ID 'a" },
		{ STR(A150 "a"),
		  TENANT_READ,
		  { NULL, 0 },
		  ERROR_UNAUTHENTICATED,
		  "tenant ID is too long: max 150 characters" },
		{ STR("."),
		  TENANT_READ,
		  { NULL, 0 },
		  ERROR_UNAUTHENTICATED,
		  "tenant ID is '.' or '..'" },
		{ STR(".."),
		  TENANT_READ,
		  { NULL, 0 },
		  ERROR_UNAUTHENTICATED,
		  "tenant ID is '.' or '..'" },
		{ STR("a|b"), TENANT_READ, { NULL, 0 }, ERROR_INVALID, "multiple org IDs present" },
		{ STR("a|b"),
		  TENANT_WRITE,
		  { NULL, 0 },
		  ERROR_UNAUTHENTICATED,
		  "multiple org IDs present" },
		{ STR("a|b/"), TENANT_READ, { NULL, 0 }, ERROR_UNAUTHENTICATED, "tenant ID 'b/'" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct str tenant = { NULL, 0 };
		struct error err = { 0 };
		const int status = tenant_parse(&cases[i].header, cases[i].use, &tenant, &err);

		assert_int_equal(status, cases[i].code == ERROR_NONE ? 0 : -1);
		assert_int_equal(err.code, cases[i].code);
		assert_non_null(strstr(err.message, cases[i].message));
		assert_true(str_equal(tenant, cases[i].tenant));
	}
}

static void no_header_is_no_tenant(void **state)
{
	struct str tenant;
	struct error err = { 0 };

	(void)state;
	assert_int_equal(tenant_parse(NULL, TENANT_READ, &tenant, &err), -1);
	assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
	assert_string_equal(err.message, "no org id");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tenants_are_read_from_the_header),
		cmocka_unit_test(no_header_is_no_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
