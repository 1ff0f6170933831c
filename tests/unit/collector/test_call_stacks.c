/* Processes that are looked into, and when they are forgotten; programs without number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/call_stacks.h"
#include "collector/unwind/process_view.h"
#include "tests/unit/collector/unwind/empty_view.h"

#define DRIVER_PATH STR("/usr/lib/libcuda.so.1")

/* Processes that only this test knows: they have maps, and no files. */
struct fixture {
	struct event_source source;
	struct call_stacks *stacks;
	uint32_t gone; /* the process that has ended; 0: none */
};

struct made_process {
	const struct fixture *fixture;
	uint32_t tgid;
};

static int made_maps(void *context, struct strbuf *out, struct error *err)
{
	(void)context;
	(void)err;
	strbuf_add_text(out, "00401000-00405000 r-xp 00001000 08:01 10 /bin/a\n");
	return 0;
}

static bool made_is_gone(void *context)
{
	const struct made_process *process = context;

	return process->tgid == process->fixture->gone;
}

static void made_close(void *context)
{
	free(context);
}

static int open_process(void *context, uint32_t tgid, struct process_view *out, struct error *err)
{
	struct made_process *process = mem_zalloc(1, sizeof(*process));

	(void)err;
	process->fixture = context;
	process->tgid = tgid;
	*out = (struct process_view){ made_maps,           empty_view_module, empty_view_memory,
		                      empty_view_perf_map, made_close,        process,
		                      made_is_gone };
	return 0;
}

static int set_up(void **state)
{
	struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	fixture->source = (struct event_source){ .open_process = open_process, .context = fixture };
	fixture->stacks = call_stacks_new(&(struct call_stacks_options){
		.symbol_cache_bytes = 1 << 20, .source = &fixture->source });
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	call_stacks_free(fixture->stacks);
	free(fixture);
	return 0;
}

static void map_driver(struct fixture *fixture, uint32_t tgid)
{
	const struct mapped_file driver = { .start = 0x7000, .end = 0x8000, .path = DRIVER_PATH };

	call_stacks_mapped(fixture->stacks, tgid, &driver);
}

static size_t processes(const struct fixture *fixture)
{
	struct call_stacks_counts counts;

	call_stacks_counts(fixture->stacks, &counts);
	return counts.processes;
}

static struct cuda_stack_event call_of(uint32_t tgid, uint64_t program)
{
	struct cuda_stack_event event = {
		.call = { .kind = CUDA_EVENT_ALLOC, .tgid = tgid, .process_start_ns = 5 }
	};

	event.stack.exec.start_code = program;
	return event;
}

static void prepare(struct fixture *fixture, const struct cuda_stack_event *event)
{
	call_stacks_prepare(fixture->stacks, &event->call, sizeof(*event));
}

/* Of one that never called the driver nobody but the lost record would have said it. */
static void a_process_whose_end_was_lost_is_forgotten(void **state)
{
	struct fixture *fixture = *state;

	map_driver(fixture, 100);
	map_driver(fixture, 200);
	for (int i = 0; i < 5; i++)
		call_stacks_sweep(fixture->stacks);
	assert_int_equal(processes(fixture), 2);
	fixture->gone = 100;
	for (int i = 0; i < 3; i++)
		call_stacks_sweep(fixture->stacks);
	assert_int_equal(processes(fixture), 1);
	map_driver(fixture, 100); /* its id, given again */
	assert_int_equal(processes(fixture), 2);
}

/* One that called says so itself, by an event that is still under way. */
static void a_process_that_called_stays_until_its_end_is_told(void **state)
{
	struct fixture *fixture = *state;
	const struct cuda_stack_event call = call_of(100, 1);

	map_driver(fixture, 100);
	prepare(fixture, &call);
	fixture->gone = 100;
	for (int i = 0; i < 5; i++)
		call_stacks_sweep(fixture->stacks);
	assert_int_equal(processes(fixture), 1);
	call_stacks_end(fixture->stacks, 100, 5);
	for (int i = 0; i < 3; i++)
		call_stacks_sweep(fixture->stacks);
	assert_int_equal(processes(fixture), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_whose_end_was_lost_is_forgotten),
		TEST(a_process_that_called_stays_until_its_end_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
