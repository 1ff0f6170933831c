#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/collector/live/device_fixture.h"
#include "tests/unit/collector/live/live_fixture.h"

static const uint64_t used[] = { 500, 700, 0 };

struct fixture {
	struct gpu_process_table *processes;
	struct device_books *books;
	struct device_picture *picture;
};

static int set_up(void **state)
{
	struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	fixture->processes = gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = process_namer_of_proc("/nowhere"),
		.memory_bytes = 16 << 20,
	});
	fixture->books = empty_books();
	fixture->picture = picture_of(used, ARRAY_LENGTH(used));
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	gpu_process_table_free(fixture->processes);
	device_books_free(fixture->books);
	free(fixture->picture);
	free(fixture);
	return 0;
}

static struct gpu_process *process_of(const struct fixture *fixture, uint32_t tgid)
{
	struct cuda_event event = alloc_event(0x1000, 1);

	event.tgid = tgid;
	return gpu_process_table_get(fixture->processes, &event);
}

/* Devices say it again. */
static void take(const struct fixture *fixture)
{
	fixture->picture->mono_ns = clock_mono_ns();
	device_books_take(fixture->books, fixture->picture);
	device_books_settle(fixture->books, fixture->processes);
}

static void the_device_that_counts_a_process_is_its_device(void **state)
{
	const struct fixture *fixture = *state;
	const struct gpu_process *one = process_of(fixture, 40);
	const struct gpu_process *two = process_of(fixture, 41);
	const struct gpu_process *none = process_of(fixture, 42);

	assert_string_equal(one->gpu, "unknown");
	picture_add(fixture->picture, 0, 41, 1);
	picture_add(fixture->picture, 1, 40, 2);
	picture_add(fixture->picture, 1, 41, 3);
	picture_add(fixture->picture, 2, 39, 4);
	take(fixture);
	assert_string_equal(one->gpu, "GPU-1");
	assert_string_equal(two->gpu, "unknown");
	assert_string_equal(none->gpu, "unknown");
	/* it has come to use another one */
	picture_add(fixture->picture, 2, 40, 0);
	take(fixture);
	assert_string_equal(one->gpu, "unknown");
}

static void a_process_keeps_its_device_until_a_picture_says_otherwise(void **state)
{
	const struct fixture *fixture = *state;
	struct gpu_process *process = process_of(fixture, 40);

	picture_add(fixture->picture, 1, 40, 2);
	take(fixture);
	assert_string_equal(process->gpu, "GPU-1");
	fixture->picture->holder_count = 0;
	take(fixture);
	assert_string_equal(process->gpu, "GPU-1");
	/* another program of that process begins anew */
	gpu_process_table_exec(fixture->processes, process, 7);
	take(fixture);
	assert_string_equal(process->gpu, "unknown");
}

static void an_ended_process_stays_where_it_was(void **state)
{
	const struct fixture *fixture = *state;
	struct gpu_process *process = process_of(fixture, 40);
	struct held_devices held;

	picture_add(fixture->picture, 1, 40, 2);
	take(fixture);
	gpu_process_end(process, 1);
	/* its id is used again, elsewhere */
	fixture->picture->holders[0].device = 0;
	take(fixture);
	assert_string_equal(process->gpu, "GPU-1");
	assert_false(device_books_held(fixture->books, process, &held));
}

static void a_list_that_is_not_told_makes_the_others_uncertain(void **state)
{
	const struct fixture *fixture = *state;
	struct gpu_process *process = process_of(fixture, 40);
	struct held_devices held;

	fixture->picture->devices[2].has_holders = false;
	picture_add(fixture->picture, 1, 40, 2);
	take(fixture);
	assert_string_equal(process->gpu, "unknown");
	assert_false(device_books_held(fixture->books, process, &held));
	/* what it showed of itself still counts */
	process->identity.devices =
		(struct device_sight){ .visibility = DEVICES_ONE, .visible = "GPU-2" };
	take(fixture);
	assert_string_equal(process->gpu, "GPU-2");
}

static void what_a_process_holds_is_the_sum_over_devices(void **state)
{
	const struct fixture *fixture = *state;
	const struct gpu_process *process = process_of(fixture, 40);
	struct held_devices held = { 0 };

	picture_add(fixture->picture, 0, 40, 100);
	picture_add(fixture->picture, 0, 41, 7);
	picture_add(fixture->picture, 2, 40, 23);
	take(fixture);
	assert_true(device_books_held(fixture->books, process, &held));
	assert_true(held_devices_bytes(&held) == 123);
	assert_false(device_books_held(fixture->books, process_of(fixture, 42), &held));
	fixture->picture->holders[2].has_bytes = false;
	take(fixture);
	assert_false(device_books_held(fixture->books, process, &held));
}

static void who_ended_before_any_picture_still_was_somewhere(void **state)
{
	const struct fixture *fixture = *state;
	struct gpu_process *process = process_of(fixture, 40);

	gpu_process_end(process, 1);
	picture_add(fixture->picture, 1, 40, 2); /* another one */
	take(fixture);
	assert_string_equal(process->gpu, "unknown");
	fixture->picture->device_count = 1;
	take(fixture);
	assert_string_equal(process->gpu, "GPU-0");
}

static void an_old_picture_is_none(void **state)
{
	const struct fixture *fixture = *state;
	const struct gpu_process *process = process_of(fixture, 40);
	struct held_devices held;

	assert_int_equal(device_books_age_ns(fixture->books), -1);
	picture_add(fixture->picture, 1, 40, 2);
	take(fixture);
	assert_non_null(device_books_of(fixture->books, process->gpu));
	assert_int_equal(device_books_of(fixture->books, process->gpu)->used_bytes, 700);
	fixture->picture->mono_ns -= STALE_NS + 1;
	device_books_take(fixture->books, fixture->picture);
	assert_true(device_books_age_ns(fixture->books) > STALE_NS);
	assert_null(device_books_picture(fixture->books));
	assert_false(device_books_has_new(fixture->books));
	assert_null(device_books_of(fixture->books, process->gpu));
	assert_false(device_books_held(fixture->books, process, &held));
	assert_string_equal(process->gpu, "GPU-1");
}

static void a_picture_is_new_once(void **state)
{
	const struct fixture *fixture = *state;

	assert_false(device_books_has_new(fixture->books));
	take(fixture);
	assert_true(device_books_has_new(fixture->books));
	assert_false(device_books_has_new(fixture->books));
	take(fixture);
	assert_true(device_books_has_new(fixture->books));
}

static void one_device_is_that_of_all(void **state)
{
	const struct fixture *fixture = *state;
	const struct gpu_process *process = process_of(fixture, 40);

	fixture->picture->device_count = 1;
	take(fixture);
	assert_string_equal(process->gpu, "GPU-0");
	/* devices that do not answer for a moment have not gone */
	fixture->picture->device_count = 0;
	take(fixture);
	assert_string_equal(process_of(fixture, 41)->gpu, "unknown");
	device_books_settle(fixture->books, fixture->processes);
	assert_string_equal(process_of(fixture, 41)->gpu, "GPU-0");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(the_device_that_counts_a_process_is_its_device),
		TEST(a_process_keeps_its_device_until_a_picture_says_otherwise),
		TEST(an_ended_process_stays_where_it_was),
		TEST(a_list_that_is_not_told_makes_the_others_uncertain),
		TEST(what_a_process_holds_is_the_sum_over_devices),
		TEST(who_ended_before_any_picture_still_was_somewhere),
		TEST(an_old_picture_is_none),
		TEST(a_picture_is_new_once),
		TEST(one_device_is_that_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
