/*
 * Any sequence of calls of several processes, and what ticks say of it: nothing is said
 * twice, nothing is missing.
 */
#include "tests/unit/collector/live/publish_fixture.h"

#define PROCESSES 4
#define ADDRESSES 30
#define STACKS    6
#define TICKS     60
#define CALLS     40 /* between two ticks, at most */
#define SEEDS     12
#define TICK_NS   INT64_C(10000) /* a window of peaks is four of them */

struct process_model {
	bool has_ended;
	bool has_called;
	uint64_t bytes[ADDRESSES]; /* live blocks; 0: none */
	bool is_pinned[ADDRESSES];
	int64_t live; /* on GPUs */
	int64_t live_pinned;
	int64_t blocks;
	int64_t blocks_pinned;
	int64_t highest;   /* of the window */
	int64_t told;      /* the peak that was published last */
	int64_t new_bytes; /* since the last tick */
	int64_t new_calls;
	int64_t new_pinned;
	int64_t new_failures;
	int64_t new_requested;
	int64_t all_bytes; /* of all classes, ever */
};

struct model {
	struct process_model processes[PROCESSES];
	uint32_t stacks[STACKS];
	int64_t published_bytes; /* of all ticks */
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static struct cuda_event of(uint32_t process, struct cuda_event event)
{
	event.tgid = event.tid = 100 + process;
	return event;
}

static void allocate(struct fixture *fixture, struct model *model, uint32_t number, uint64_t random)
{
	struct process_model *process = &model->processes[number];
	const size_t at = random % ADDRESSES;
	const uint64_t bytes = 1 + (random >> 8) % 100000;
	struct cuda_event event = of(number, alloc_event((at + 1) << 12, bytes));

	process->is_pinned[at] = (random >> 40) % 5 == 0;
	if (process->is_pinned[at])
		event.function = CU_MEM_HOST_ALLOC;
	take(fixture, event, model->stacks[(random >> 32) % STACKS]);
	process->bytes[at] = bytes;
	process->all_bytes += (int64_t)bytes;
	if (process->is_pinned[at]) {
		process->live_pinned += (int64_t)bytes;
		process->blocks_pinned++;
		process->new_pinned += (int64_t)bytes;
		return;
	}
	process->live += (int64_t)bytes;
	process->blocks++;
	process->new_bytes += (int64_t)bytes;
	process->new_calls++;
	if (process->live > process->highest)
		process->highest = process->live;
}

static void release(struct fixture *fixture, struct process_model *process, uint32_t number,
                    size_t at)
{
	struct cuda_event event = of(number, free_event((at + 1) << 12));

	if (process->is_pinned[at])
		event.function = CU_MEM_FREE_HOST;
	take(fixture, event, 0);
	if (process->is_pinned[at]) {
		process->live_pinned -= (int64_t)process->bytes[at];
		process->blocks_pinned--;
	} else {
		process->live -= (int64_t)process->bytes[at];
		process->blocks--;
	}
	process->bytes[at] = 0;
}

static void refuse(struct fixture *fixture, struct model *model, uint32_t number, uint64_t random)
{
	const uint64_t bytes = 1 + (random >> 8) % 100000;

	take(fixture, of(number, failed_event(bytes, 2)), model->stacks[(random >> 32) % STACKS]);
	model->processes[number].new_failures++;
	model->processes[number].new_requested += (int64_t)bytes;
}

static void end_process(struct fixture *fixture, struct process_model *process, uint32_t number)
{
	const struct cuda_event event = of(number, alloc_event(0, 0));

	gpu_process_end(gpu_process_table_get(fixture->processes, &event), 1);
	process->has_ended = true;
	process->live = process->live_pinned = process->blocks = process->blocks_pinned = 0;
}

static void call(struct fixture *fixture, struct model *model, uint64_t random)
{
	const uint32_t number = (uint32_t)(random >> 60) % PROCESSES;
	struct process_model *process = &model->processes[number];

	if (process->has_ended)
		return;
	if ((random >> 50) % 10 == 0) {
		refuse(fixture, model, number, random);
	} else if (process->bytes[random % ADDRESSES] != 0) {
		release(fixture, process, number, random % ADDRESSES);
	} else {
		allocate(fixture, model, number, random);
	}
	process->has_called = true;
	if ((random >> 20) % 400 == 0)
		end_process(fixture, process, number);
}

/* The sum of a sample type over what was pushed of a process; -1: no such profile. */
static int64_t sum_of(const struct fixture *fixture, uint32_t number, const char *part,
                      const char *type, size_t value)
{
	char pid[32];
	int64_t sum = -1;

	(void)snprintf(pid, sizeof(pid), "pid=\"%u\"", 100 + number);
	for (size_t i = 0; i < fixture->count; i++) {
		const struct note *note = &fixture->notes[i];

		if (!strstr(note->labels, pid) || !strstr(note->labels, part) ||
		    strcmp(note->type, type) != 0)
			continue;
		sum = (sum < 0 ? 0 : sum) + note->totals[value];
	}
	return sum;
}

static void is_zero_or(int64_t found, int64_t expected)
{
	assert_int_equal(found < 0 ? 0 : found, expected);
}

static void books_balance(struct fixture *fixture, uint32_t number)
{
	const struct cuda_event event = of(number, alloc_event(0, 0));
	const struct gpu_account *account =
		&gpu_process_table_get(fixture->processes, &event)->account;

	gpu_account_check(account);
	for (int i = 0; i < CUDA_CLASS_COUNT; i++) {
		const struct class_books *books = &account->books[i];

		assert_true(books->alloc_bytes - books->free_bytes - books->implicit_bytes ==
		            books->live_bytes);
		assert_true(books->alloc_calls - books->free_calls - books->implicit_calls ==
		            books->live_blocks);
	}
}

static void compare_peak(const struct fixture *fixture, struct process_model *process,
                         uint32_t number, bool is_window_over)
{
	const int64_t peak = sum_of(fixture, number, "gpu_memory_peak", "peak_space", 0);

	if (!is_window_over && !process->has_ended) {
		assert_int_equal(peak, -1);
		return;
	}
	assert_int_equal(peak, process->highest == 0 || process->highest == process->told
	                               ? -1
	                               : process->highest);
	process->told = process->highest;
	process->highest = process->live;
}

static void compare_sums(const struct fixture *fixture, const struct process_model *process,
                         uint32_t number)
{
	static const char device[] = "cuda_class=\"device\"";
	static const char pinned[] = "cuda_class=\"pinned\"";
	static const char failed[] = "gpu_memory_failed";
	const struct {
		const char *part;
		const char *type;
		size_t value;
		int64_t expected;
	} sums[] = {
		{ device, "alloc_space", 0, process->new_bytes },
		{ device, "alloc_space", 1, process->new_calls },
		{ device, "alloc_space", 2, process->live },
		{ device, "alloc_space", 3, process->blocks },
		{ pinned, "alloc_space", 0, process->new_pinned },
		{ pinned, "alloc_space", 2, process->live_pinned },
		{ pinned, "alloc_space", 3, process->blocks_pinned },
		{ failed, "requested_space", 0, process->new_requested },
		{ failed, "requested_space", 1, process->new_failures },
	};

	for (size_t i = 0; i < ARRAY_LENGTH(sums); i++)
		is_zero_or(sum_of(fixture, number, sums[i].part, sums[i].type, sums[i].value),
		           sums[i].expected);
}

static void compare(struct fixture *fixture, struct model *model, bool is_window_over)
{
	for (uint32_t i = 0; i < PROCESSES; i++) {
		struct process_model *process = &model->processes[i];

		if (!process->has_called)
			continue;
		books_balance(fixture, i);
		compare_sums(fixture, process, i);
		compare_peak(fixture, process, i, is_window_over);
		process->new_bytes = process->new_calls = process->new_pinned = 0;
		process->new_failures = process->new_requested = 0;
	}
	for (size_t i = 0; i < fixture->count; i++)
		if (strcmp(fixture->notes[i].type, "malloc") == 0)
			model->published_bytes += fixture->notes[i].totals[0];
}

static void begin(struct fixture *fixture, struct model *model)
{
	char name[16];

	*model = (struct model){ .published_bytes = 0 };
	for (size_t i = 0; i < STACKS; i++) {
		(void)snprintf(name, sizeof(name), "f%zu", i);
		model->stacks[i] = STACK_OF(fixture->stacks, name, "main");
	}
}

static void run_calls(struct fixture *fixture, uint64_t *random)
{
	struct model model;
	int64_t all_bytes = 0;

	begin(fixture, &model);
	for (int64_t tick = 1; tick <= TICKS; tick++) {
		const uint64_t calls = next_random(random) % CALLS;
		const bool is_window_over = tick * TICK_NS / WINDOW_NS !=
		                            (tick - 1) * TICK_NS / WINDOW_NS;

		for (uint64_t i = 0; i < calls; i++)
			call(fixture, &model, next_random(random));
		publish_at(fixture, (struct stack_profile_time){ tick * TICK_NS, TICK_NS },
		           MEMORY_TICK_USUAL);
		compare(fixture, &model, is_window_over);
	}
	for (size_t i = 0; i < PROCESSES; i++)
		all_bytes += model.processes[i].all_bytes;
	assert_int_equal(model.published_bytes, all_bytes);
}

static void each_byte_and_call_is_in_one_tick_and_peaks_are_the_highest(void **state)
{
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		uint64_t random = seed * UINT64_C(0x9e3779b97f4a7c15);
		void *fresh = NULL;

		(void)state;
		assert_int_equal(set_up(&fresh), 0);
		run_calls(fresh, &random);
		assert_int_equal(tear_down(&fresh), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_and_call_is_in_one_tick_and_peaks_are_the_highest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
