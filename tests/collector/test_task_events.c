/* What tasks do, as this process sees itself doing it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collector/watch/task_events.h"
#include "tests/collector/permission.h"

#define MAPPINGS 64
#define PIECE    ((size_t)4096)

struct fixture {
	struct task_events *tasks;
	unsigned char *place; /* of all pieces; nobody else maps there */
	size_t records;       /* of our mappings */
	uint64_t last;        /* address */
	bool begets;          /* each is the reason of another one */
};

/* One record of ours: code at a certain place. */
static void map_code(const struct fixture *fixture, uint64_t number)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	void *place = fixture->place + number * PIECE;

	assert_ptr_equal(mmap(place, PIECE, PROT_READ | PROT_EXEC, flags, -1, 0), place);
	assert_ptr_equal(mmap(place, PIECE, PROT_NONE, flags, -1, 0), place);
}

static void take_record(void *context, const struct perf_record *record)
{
	struct fixture *fixture = context;
	const uint64_t first = (uintptr_t)fixture->place;

	if (record->kind != PERF_RECORD_KIND_MAPPED || record->tgid != (uint32_t)getpid() ||
	    record->address < first || record->address >= first + MAPPINGS * PIECE)
		return;
	fixture->records++;
	fixture->last = record->address;
	if (fixture->records > MAPPINGS)
		fail_msg("more than %d records are handed on by one drain", MAPPINGS);
	if (fixture->begets)
		map_code(fixture, 0);
}

static int set_up(void **state)
{
	static struct fixture fixture;
	const struct task_event_handler handler = { take_record, &fixture };
	struct error err = { 0 };

	fixture = (struct fixture){ 0 };
	fixture.place = mmap(NULL, MAPPINGS * PIECE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture.place, MAP_FAILED);
	if (task_events_open(&handler, &fixture.tasks, &err) < 0)
		fail_msg("%s", err.message);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	const struct fixture *fixture = *state;

	task_events_close(fixture->tasks);
	return munmap(fixture->place, MAPPINGS * PIECE);
}

/* A workload that maps faster than we hand on must not keep us from all else. */
static void a_drain_ends_though_each_record_begets_another(void **state)
{
	struct fixture *fixture = *state;

	map_code(fixture, 0);
	map_code(fixture, 0);
	fixture->begets = true;
	while (fixture->records == 0)
		(void)task_events_drain(fixture->tasks, SIZE_MAX);
	assert_int_equal(fixture->records, 2);
	fixture->begets = false;
	while (task_events_drain(fixture->tasks, SIZE_MAX))
		;
	assert_int_equal(fixture->records, 4);
}

static void a_drain_hands_on_no_more_than_it_is_told(void **state)
{
	struct fixture *fixture = *state;
	size_t drains = 0;

	for (uint64_t i = 0; i < MAPPINGS; i++)
		map_code(fixture, i);
	while (fixture->records < MAPPINGS) {
		const size_t before = fixture->records;
		const bool has_more = task_events_drain(fixture->tasks, 3);

		assert_true(fixture->records - before <= 3);
		assert_true(has_more || fixture->records == MAPPINGS);
		if (fixture->records > before)
			assert_int_equal(fixture->last, (uintptr_t)fixture->place +
			                                        (fixture->records - 1) * PIECE);
		drains++;
	}
	assert_true(drains >= MAPPINGS / 3);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const char *reason = permission_missing();
	const struct CMUnitTest tests[] = {
		TEST(a_drain_ends_though_each_record_begets_another),
		TEST(a_drain_hands_on_no_more_than_it_is_told),
	};

	if (reason) {
		printf("%s\n", reason);
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
