#include "tests/collector/probe_fixture.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"

#define GIVE_UP_NS (60 * NS_PER_S) /* a test that waits that long has failed */

struct probe_link *probe_fixture_attach(struct probe_set *set, const char *path)
{
	const int library = open(path, O_RDONLY | O_CLOEXEC);
	struct probe_points points;
	struct probe_link *link = NULL;
	struct error err = { 0 };

	assert_true(library >= 0);
	if (probe_points_find(library, PROBE_SCOPE_ALL, &points, &err) < 0 ||
	    probe_set_attach(set, &(struct probe_target){ library, &points, 0 }, &link, &err) < 0)
		fail_msg("%s", err.message);
	assert_int_equal(points.count, CUDA_FUNCTION_COMMON_COUNT);
	assert_int_equal(points.missing + points.aliases, 0);
	close(library);
	return link;
}

void probe_fixture_init(struct probe_fixture *fixture, const struct probe_set_options *options)
{
	const struct probe_set_handlers handlers = { .event = event_log_add,
		                                     .context = &fixture->log };
	struct error err = { 0 };

	if (probe_set_open(options, &handlers, &fixture->set, &err) < 0)
		fail_msg("%s", err.message);
	fixture->link = probe_fixture_attach(fixture->set, STUB_DRIVER);
	fixture->links = 1;
}

void probe_fixture_fini(struct probe_fixture *fixture)
{
	probe_set_detach(fixture->set, fixture->link);
	probe_set_close(fixture->set);
	event_log_fini(&fixture->log);
	*fixture = (struct probe_fixture){ .set = NULL };
}

uint64_t probe_fixture_lost(const struct probe_fixture *fixture, enum probe_loss loss)
{
	return probe_set_loss(fixture->set, loss) - fixture->losses[loss];
}

void probe_fixture_pause(void)
{
	const struct timespec pause = { 0, 1000000 };

	nanosleep(&pause, NULL);
}

/* Waits as who drains in earnest does. */
static void wait_for_events(const struct probe_fixture *fixture)
{
	struct pollfd wait = { .fd = probe_set_descriptor(fixture->set), .events = POLLIN };

	assert_int_equal(poll(&wait, 1, (int)(GIVE_UP_NS / NS_PER_MS)), 1);
}

/* Drains until the process has ended and said so. */
static void drain_to_end(struct probe_fixture *fixture, struct workload *workload)
{
	const int64_t give_up = clock_mono_ns() + GIVE_UP_NS;

	while (!workload_has_ended(workload) ||
	       event_log_count(&fixture->log, workload->pid, CUDA_EVENT_EXIT) == 0) {
		if (probe_set_drain(fixture->set, 1000) == 0)
			wait_for_events(fixture);
		if (clock_mono_ns() > give_up)
			fail_msg("the end of process %d was not seen", (int)workload->pid);
	}
}

struct workload probe_fixture_start(struct probe_fixture *fixture, const char *name,
                                    const uint64_t *numbers, const char *setting)
{
	for (unsigned int i = 0; i < PROBE_LOSS_COUNT; i++)
		fixture->losses[i] = probe_set_loss(fixture->set, i);
	event_log_reset(&fixture->log);
	return workload_start(STUB_DRIVER, name, numbers, setting);
}

struct workload probe_fixture_run(struct probe_fixture *fixture, const char *name,
                                  const uint64_t *numbers, const char *setting)
{
	struct workload workload = probe_fixture_start(fixture, name, numbers, setting);

	drain_to_end(fixture, &workload);
	return workload;
}

/* The counters of a process over all classes. */
struct cuda_counters probe_fixture_counted(const struct probe_fixture *fixture, pid_t pid)
{
	const struct cuda_event *any = event_log_find(&fixture->log, pid, 0, 0);
	struct cuda_counters sum = { 0 };
	struct process_calls calls;

	assert_non_null(any);
	assert_true(probe_set_calls(fixture->set,
	                            &(struct process_key){ .start_ns = any->process_start_ns,
	                                                   .tgid = any->tgid },
	                            &calls));
	for (size_t i = 0; i < CUDA_CLASS_COUNT; i++) {
		sum.alloc_bytes += calls.by_class[i].alloc_bytes;
		sum.alloc_calls += calls.by_class[i].alloc_calls;
		sum.alloc_failures += calls.by_class[i].alloc_failures;
		sum.free_calls += calls.by_class[i].free_calls;
		sum.free_failures += calls.by_class[i].free_failures;
	}
	return sum;
}

void assert_counted(const struct probe_fixture *fixture, const struct workload *workload, pid_t pid)
{
	const struct said_sums said = workload_sums(workload, pid);
	const struct cuda_counters sum = probe_fixture_counted(fixture, pid);

	assert_int_equal(sum.alloc_calls, said.alloc_calls);
	assert_int_equal(sum.alloc_bytes, said.alloc_bytes);
	assert_int_equal(sum.alloc_failures, said.alloc_failures);
	assert_int_equal(sum.free_calls, said.free_calls);
	assert_int_equal(sum.free_failures, said.free_failures);
}

void assert_nothing_lost(const struct probe_fixture *fixture)
{
	assert_int_equal(probe_fixture_lost(fixture, LOSS_RING_FULL), 0);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_STACK), 0);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_CALL_STATE), 0);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_PROCESS_FULL), 0);
	assert_int_equal(probe_fixture_lost(fixture, LOSS_RESULT), 0);
}

static uint32_t kind_of(const char *said)
{
	static const struct {
		const char *said;
		uint32_t kind;
	} kinds[] = {
		{ "alloc", CUDA_EVENT_ALLOC },
		{ "failed", CUDA_EVENT_FAILED },
		{ "free", CUDA_EVENT_FREE },
		{ "undone", CUDA_EVENT_FREE_UNDONE },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].said, said) == 0)
			return kinds[i].kind;
	}
	fail_msg("a call of kind %s", said);
	return 0;
}

/* Each call that the process said is an event, in the same order, and no other is there. */
void assert_same_calls(const struct probe_fixture *fixture, const struct workload *workload)
{
	static struct said_call calls[SAID_CALLS_MAX];
	const size_t count = workload_calls(workload, calls);
	size_t place = 0;

	assert_true(count > 0);
	assert_int_equal(event_log_find(&fixture->log, workload->pid, 0, place++)->kind,
	                 CUDA_EVENT_INIT);
	for (size_t i = 0; i < count; i++) {
		const uint32_t kind = kind_of(calls[i].kind);
		const struct cuda_event *event =
			event_log_find(&fixture->log, workload->pid, 0, place++);

		if (kind == CUDA_EVENT_FREE_UNDONE) {
			assert_int_equal(event->kind, CUDA_EVENT_FREE);
			assert_int_equal(event->address, calls[i].address);
			event = event_log_find(&fixture->log, workload->pid, 0, place++);
		}
		assert_int_equal(event->kind, kind);
		assert_int_equal(event->address, calls[i].address);
		assert_int_equal(event->bytes, calls[i].bytes);
		assert_int_equal(event->result, calls[i].result);
	}
	assert_int_equal(event_log_find(&fixture->log, workload->pid, 0, place++)->kind,
	                 CUDA_EVENT_EXIT);
	assert_null(event_log_find(&fixture->log, workload->pid, 0, place));
}
