#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "storage/window_list.h"

#define DAYS    40
#define NUMBERS 5 /* of a day's windows, from 1 */

static struct window *add(struct window_list *list, const char *folder, int32_t day,
                          uint32_t number)
{
	struct window *window = window_new("nowhere", folder, day, number, 0);

	window_list_insert(list, window_list_tenant(list, folder), window);
	assert_true(window->listed);
	return window;
}

/* As whoever owns the windows would: each is taken out before it is freed. */
static void clear(struct window_list *list)
{
	for (size_t i = 0; i < list->tenant_count; i++) {
		struct tenant_windows *tenant = list->tenants[i];

		while (tenant->count > 0) {
			struct window *window = tenant->windows[tenant->count / 2];

			window_list_remove(list, tenant, window);
			assert_false(window->listed);
			window_free(window);
		}
	}
	assert_int_equal(list->window_count, 0);
	window_list_fini(list);
}

static void tenants_are_in_the_order_of_their_folders(void **state)
{
	static const char *const folders[] = { "b", "a", "c", "aa", "B", "b" };
	static const char *const ordered[] = { "B", "a", "aa", "b", "c" };
	struct window_list list = { 0 };

	(void)state;
	assert_null(window_list_find(&list, "a"));
	for (size_t i = 0; i < ARRAY_LENGTH(folders); i++)
		(void)window_list_tenant(&list, folders[i]);
	assert_int_equal(list.tenant_count, ARRAY_LENGTH(ordered));
	for (size_t i = 0; i < ARRAY_LENGTH(ordered); i++) {
		assert_string_equal(list.tenants[i]->folder, ordered[i]);
		assert_ptr_equal(window_list_find(&list, ordered[i]), list.tenants[i]);
	}
	assert_null(window_list_find(&list, "d"));
	assert_ptr_equal(window_list_next(&list, ""), list.tenants[0]);
	assert_ptr_equal(window_list_next(&list, "a"), window_list_find(&list, "aa"));
	assert_ptr_equal(window_list_next(&list, "ab"), window_list_find(&list, "b"));
	assert_null(window_list_next(&list, "c"));
	clear(&list);
}

/* Days and numbers as they come, each once: 7 has no divisor of DAYS x NUMBERS. */
static void windows_are_in_the_order_of_their_places(void **state)
{
	struct window_list list = { 0 };
	const struct tenant_windows *tenant;

	(void)state;
	for (int i = 0; i < DAYS * NUMBERS; i++) {
		const int at = i * 7 % (DAYS * NUMBERS);

		(void)add(&list, "one", -DAYS / 2 + at / NUMBERS, 1 + (uint32_t)(at % NUMBERS));
	}
	(void)add(&list, "two", 0, 1);
	assert_int_equal(list.window_count, DAYS * NUMBERS + 1);
	tenant = window_list_find(&list, "one");
	assert_int_equal(tenant->count, DAYS * NUMBERS);
	for (int i = 0; i < DAYS * NUMBERS; i++) {
		const struct window_place place = { -DAYS / 2 + i / NUMBERS,
			                            1 + (uint32_t)(i % NUMBERS) };

		assert_int_equal(tenant->windows[i]->day, place.day);
		assert_int_equal(tenant->windows[i]->number, place.number);
		assert_int_equal(window_list_index(tenant, place), i);
		assert_ptr_equal(window_list_get(tenant, place), tenant->windows[i]);
	}
	clear(&list);
}

static void a_place_that_is_free_is_where_it_would_be(void **state)
{
	struct window_list list = { 0 };
	const struct tenant_windows *tenant;

	(void)state;
	(void)add(&list, "one", 10, 2);
	(void)add(&list, "one", 12, 1);
	tenant = window_list_find(&list, "one");
	assert_null(window_list_get(tenant, (struct window_place){ 10, 1 }));
	assert_null(window_list_get(tenant, (struct window_place){ 12, 2 }));
	assert_int_equal(window_list_index(tenant, (struct window_place){ 10, 1 }), 0);
	assert_int_equal(window_list_index(tenant, (struct window_place){ 10, UINT32_MAX }), 1);
	assert_int_equal(window_list_index(tenant, (struct window_place){ 11, 1 }), 1);
	assert_int_equal(window_list_index(tenant, (struct window_place){ 12, 2 }), 2);
	clear(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tenants_are_in_the_order_of_their_folders),
		cmocka_unit_test(windows_are_in_the_order_of_their_places),
		cmocka_unit_test(a_place_that_is_free_is_where_it_would_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
