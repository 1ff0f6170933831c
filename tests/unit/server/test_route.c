#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "server/routes/route.h"

static void every_route_is_found_by_its_path_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < route_count(); i++) {
		const struct route *route = route_at(i);
		char path[256];
		const size_t length = strlen(route->path);

		assert_true(length > 0 && length < sizeof(path) - 1);
		memcpy(path, route->path, length);
		path[length] = '/';
		if (route->flags & ROUTE_BELOW) {
			assert_null(route_find(str_of(route->path)));
			assert_ptr_equal(route_find(str_make(path, length + 1)), route);
			continue;
		}
		assert_ptr_equal(route_find(str_of(route->path)), route);
		if (route->flags & ROUTE_FOLDER) {
			assert_ptr_equal(route_find(str_make(path, length + 1)), route);
			assert_ptr_equal(route_find(str_make(path, length - 1)), route);
			continue;
		}
		assert_null(route_find(str_make(path, length + 1)));
		assert_true(route_find(str_make(path, length - 1)) != route);
	}
	assert_null(route_find(STR("")));
	assert_null(route_find(STR("/nope")));
	assert_null(route_find(STR("/uix")));
	assert_ptr_equal(route_find(STR("/ui/a/b.js")), route_find(STR("/ui/")));
	assert_null(route_find(STR("/ready\0")));
}

/* Read specification, 5.4. */
static void labels_are_the_path_in_lower_case_with_underscores(void **state)
{
	(void)state;
	assert_string_equal(route_find(STR("/ready"))->label, "ready");
	assert_string_equal(route_find(STR("/api/v1/status/config/diff"))->label,
	                    "api_v1_status_config_diff");
	for (size_t i = 0; i < route_count(); i++)
		for (const char *c = route_at(i)->label; *c; c++)
			assert_true((*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') ||
			            *c == '_');
}

static void labels_tell_routes_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < route_count(); i++)
		for (size_t j = 0; j < i; j++)
			if (strcmp(route_at(i)->label, route_at(j)->label) == 0)
				assert_string_equal(route_at(i)->path, route_at(j)->path);
	assert_string_equal(route_find(STR("/api/gpu/oom/box:1:2"))->label, "api_gpu_oom_id");
}

static void connect_routes_are_post_and_take_no_other_tenant_check(void **state)
{
	(void)state;
	for (size_t i = 0; i < route_count(); i++) {
		const struct route *route = route_at(i);

		if (!(route->flags & ROUTE_CONNECT))
			continue;
		assert_string_equal(route->method, "POST");
		assert_false(route->flags & (ROUTE_TENANT | ROUTE_INLINE | ROUTE_ANY_METHOD));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_route_is_found_by_its_path_alone),
		cmocka_unit_test(labels_are_the_path_in_lower_case_with_underscores),
		cmocka_unit_test(labels_tell_routes_apart),
		cmocka_unit_test(connect_routes_are_post_and_take_no_other_tenant_check),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
