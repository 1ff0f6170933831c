#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collector/identity/process_start.h"
#include "collector/live/earlier_memory.h"
#include "tests/unit/collector/identity/machine_folder.h"
#include "tests/unit/collector/live/device_fixture.h"
#include "tests/unit/collector/live/live_fixture.h"

#define OLD      41 /* a process that began before */
#define OLD_NS   UINT64_C(70000000)
#define NEW      42
#define LATER_NS UINT64_C(1000000000000000000) /* years behind any start of a machine */

static const uint64_t used[] = { 900, 900 };

struct fixture {
	char proc[32];
	struct gpu_process_table *processes;
	struct device_books *books;
	struct device_picture *picture;
	struct earlier_memory *earlier;
};

static void put_stat(const struct fixture *fixture, uint32_t tgid, uint64_t start_ns)
{
	char path[64];
	char text[256];

	(void)snprintf(path, sizeof(path), "/%u/stat", tgid);
	(void)snprintf(text, sizeof(text),
	               "%u (app) S 1 1 1 0 -1 0 5 6 7 8 9 10 11 12 20 0 1 0 %ju 9\n", tgid,
	               (uintmax_t)(start_ns / PROCESS_START_TICK_NS));
	machine_put_file(fixture->proc, path, text);
}

static int set_up(void **state)
{
	struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	(void)snprintf(fixture->proc, sizeof(fixture->proc), "/tmp/test_earlier.XXXXXX");
	assert_non_null(mkdtemp(fixture->proc));
	fixture->processes = gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = process_namer_of_proc(fixture->proc),
		.memory_bytes = 16 << 20,
	});
	fixture->books = empty_books();
	fixture->picture = picture_of(used, ARRAY_LENGTH(used));
	fixture->earlier = earlier_memory_new(fixture->proc, fixture->books, fixture->processes);
	put_stat(fixture, OLD, OLD_NS);
	put_stat(fixture, NEW, LATER_NS);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	earlier_memory_free(fixture->earlier);
	gpu_process_table_free(fixture->processes);
	device_books_free(fixture->books);
	free(fixture->picture);
	machine_remove(fixture->proc);
	free(fixture);
	return 0;
}

/* A picture that was begun since devices were asked. */
static void answer(const struct fixture *fixture)
{
	fixture->picture->begun_mono_ns = fixture->picture->mono_ns = clock_mono_ns();
	device_books_take(fixture->books, fixture->picture);
	earlier_memory_see(fixture->earlier);
	for (size_t i = 0; i < gpu_process_table_count(fixture->processes); i++)
		gpu_account_check(&gpu_process_table_at(fixture->processes, i)->account);
}

static void see(const struct fixture *fixture)
{
	earlier_memory_ask(fixture->earlier);
	answer(fixture);
}

static struct gpu_process *book(const struct fixture *fixture, struct cuda_event event)
{
	struct gpu_process *process;

	event.tgid = OLD;
	event.process_start_ns = OLD_NS + 1234567; /* as the kernel has it */
	process = gpu_process_table_get(fixture->processes, &event);
	gpu_account_book(&process->account, &event, stack_lost(CU_MEM_ALLOC_V2));
	return process;
}

static void assert_earlier(const struct gpu_process *process, uint64_t earlier, uint64_t live)
{
	assert_true(process->account.earlier_bytes == earlier);
	assert_true(process->account.gpu_live_bytes == live);
}

static void who_was_there_and_calls_nobody_is_adopted(void **state)
{
	const struct fixture *fixture = *state;
	const struct gpu_process *process;

	picture_add(fixture->picture, 0, OLD, 300);
	picture_add(fixture->picture, 1, OLD, 40); /* on both devices */
	picture_add(fixture->picture, 0, NEW, 500);
	picture_add(fixture->picture, 0, 43, 5); /* of which /proc knows nothing */
	see(fixture);
	assert_int_equal(gpu_process_table_count(fixture->processes), 1);
	process = gpu_process_table_running(fixture->processes, OLD);
	assert_true(process->is_adopted);
	assert_earlier(process, 340, 340);
	assert_true(process->account.gpu_peak_bytes == 340);
	/* nothing was allocated: the books are empty */
	assert_true(process->account.books[CUDA_CLASS_DEVICE].alloc_bytes == 0);
	assert_true(process->account.books[CUDA_CLASS_DEVICE].live_bytes == 0);
}

static void its_first_call_finds_the_same_process(void **state)
{
	const struct fixture *fixture = *state;
	struct gpu_process *process;

	picture_add(fixture->picture, 0, OLD, 300);
	see(fixture);
	process = gpu_process_table_running(fixture->processes, OLD);
	assert_ptr_equal(book(fixture, alloc_event(0x1000, 100)), process);
	assert_int_equal(gpu_process_table_count(fixture->processes), 1);
	assert_false(process->is_adopted);
	assert_true(process->start_ns == OLD_NS + 1234567);
	assert_ptr_equal(gpu_process_table_find(fixture->processes, OLD, OLD_NS + 1234567),
	                 process);
	assert_null(gpu_process_table_find(fixture->processes, OLD, OLD_NS));
	assert_earlier(process, 300, 400);
}

static void what_calls_told_before_the_first_picture_is_none_of_it(void **state)
{
	const struct fixture *fixture = *state;
	struct gpu_process *process = book(fixture, alloc_event(0x1000, 100));

	picture_add(fixture->picture, 0, OLD, 300);
	see(fixture);
	assert_earlier(process, 200, 300);
}

static void it_is_never_more_than_a_device_leaves_for_it(void **state)
{
	const struct fixture *fixture = *state;
	struct device_holder *holder = &fixture->picture->holders[0];
	struct gpu_process *process;

	picture_add(fixture->picture, 0, OLD, 300);
	see(fixture);
	process = book(fixture, alloc_event(0x1000, 100));
	holder->bytes = 400;
	see(fixture);
	assert_earlier(process, 300, 400);
	/* a free of what nobody knows: 120 bytes of it have gone */
	(void)book(fixture, free_event(0x9000));
	holder->bytes = 280;
	see(fixture);
	assert_earlier(process, 180, 280);
	/* it has loaded a module since: that is nothing of before */
	holder->bytes = 330;
	see(fixture);
	assert_earlier(process, 180, 280);
	/* no context any more */
	fixture->picture->holder_count = 0;
	see(fixture);
	assert_earlier(process, 0, 100);
}

static void calls_beside_a_picture_do_not_shrink_it(void **state)
{
	const struct fixture *fixture = *state;
	struct gpu_process *process;

	picture_add(fixture->picture, 0, OLD, 300);
	see(fixture);
	/* allocated while devices were asked: the picture may be of before, or of behind */
	earlier_memory_ask(fixture->earlier);
	process = book(fixture, alloc_event(0x1000, 100));
	answer(fixture);
	assert_earlier(process, 300, 400);
	/* and freed meanwhile */
	fixture->picture->holders[0].bytes = 300;
	earlier_memory_ask(fixture->earlier);
	(void)book(fixture, free_event(0x1000));
	(void)book(fixture, alloc_event(0x1000, 100));
	answer(fixture);
	assert_earlier(process, 300, 400);
}

static void a_picture_of_before_the_question_says_nothing(void **state)
{
	const struct fixture *fixture = *state;

	picture_add(fixture->picture, 0, OLD, 300);
	fixture->picture->begun_mono_ns = clock_mono_ns();
	earlier_memory_ask(fixture->earlier);
	fixture->picture->begun_mono_ns--;
	device_books_take(fixture->books, fixture->picture);
	earlier_memory_see(fixture->earlier);
	assert_int_equal(gpu_process_table_count(fixture->processes), 0);
}

static void what_comes_later_is_none_of_it(void **state)
{
	const struct fixture *fixture = *state;

	see(fixture); /* nobody holds anything */
	picture_add(fixture->picture, 0, OLD, 300);
	see(fixture);
	assert_int_equal(gpu_process_table_count(fixture->processes), 0);
	assert_earlier(book(fixture, alloc_event(0x1000, 100)), 0, 100);
	see(fixture);
	assert_earlier(book(fixture, alloc_event(0x2000, 1)), 0, 101);
}

static void what_is_not_certain_changes_nothing(void **state)
{
	const struct fixture *fixture = *state;
	struct cuda_event managed = alloc_event(0x5000, 50);
	struct gpu_process *process;

	picture_add(fixture->picture, 0, OLD, 300);
	see(fixture);
	process = gpu_process_table_running(fixture->processes, OLD);
	/* a device that does not say who holds memory of it, and a number that is not told */
	fixture->picture->devices[1].has_holders = false;
	fixture->picture->holders[0].bytes = 10;
	see(fixture);
	assert_earlier(process, 300, 300);
	fixture->picture->devices[1].has_holders = true;
	fixture->picture->holders[0].has_bytes = false;
	see(fixture);
	assert_earlier(process, 300, 300);
	/* managed memory may lie on the host, where no device counts it */
	fixture->picture->holders[0].has_bytes = true;
	managed.function = CU_MEM_ALLOC_MANAGED;
	(void)book(fixture, managed);
	see(fixture);
	assert_earlier(process, 300, 350);
}

static void who_has_gone_ends(void **state)
{
	struct fixture *fixture = *state;
	struct gpu_process *process;

	picture_add(fixture->picture, 0, OLD, 300);
	see(fixture);
	process = gpu_process_table_running(fixture->processes, OLD);
	see(fixture);
	assert_true(process->end_mono_ns == 0);
	put_stat(fixture, OLD, OLD_NS + PROCESS_START_TICK_NS); /* its id is another's */
	see(fixture);
	assert_true(process->end_mono_ns != 0);
	assert_earlier(process, 0, 0);
	assert_null(gpu_process_table_running(fixture->processes, OLD));
}

static void another_program_holds_nothing_of_it(void **state)
{
	const struct fixture *fixture = *state;
	struct gpu_process *process;

	picture_add(fixture->picture, 0, OLD, 300);
	see(fixture);
	process = book(fixture, alloc_event(0x1000, 100));
	gpu_process_table_exec(fixture->processes, process, OLD_NS + 7);
	assert_earlier(process, 0, 0);
	gpu_account_check(&process->account);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(who_was_there_and_calls_nobody_is_adopted),
		TEST(its_first_call_finds_the_same_process),
		TEST(what_calls_told_before_the_first_picture_is_none_of_it),
		TEST(it_is_never_more_than_a_device_leaves_for_it),
		TEST(calls_beside_a_picture_do_not_shrink_it),
		TEST(a_picture_of_before_the_question_says_nothing),
		TEST(what_comes_later_is_none_of_it),
		TEST(what_is_not_certain_changes_nothing),
		TEST(who_has_gone_ends),
		TEST(another_program_holds_nothing_of_it),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
