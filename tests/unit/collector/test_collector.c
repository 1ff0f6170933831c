#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "collector/collector.h"
#include "tests/unit/collector/fake_source.h"
#include "tests/unit/collector/live/live_fixture.h"

struct fixture {
	struct fake_source source;
	int64_t alloc_bytes;
	int64_t inuse_bytes; /* of the last tick */
	int64_t malloc_bytes;
	int64_t failures;
	int64_t oom_bytes;
	int64_t peak_bytes;
	size_t ticks; /* heartbeats */
	size_t texts;
	char *text; /* the last metrics */
	bool is_alone;
};

static int64_t total_of(const struct profile *profile, const char *type)
{
	int64_t total = 0;

	for (size_t i = 0; i < profile->sample_type_count; i++) {
		if (!str_equals(profile_string(profile, profile->sample_types[i].type), type))
			continue;
		for (size_t j = 0; j < profile->sample_count; j++)
			total += profile->values[j * profile->sample_type_count + i];
	}
	return total;
}

static void take_push(void *context, const struct sink_profile *profiles, size_t count)
{
	struct fixture *fixture = context;

	if (total_of(profiles[0].profile, "requested_space") == 0)
		fixture->inuse_bytes = 0; /* a tick, and no report of an OOM */
	for (size_t i = 0; i < count; i++) {
		fixture->ticks += profiles[i].profile->sample_count == 0;
		fixture->alloc_bytes += total_of(profiles[i].profile, "alloc_space");
		fixture->inuse_bytes += total_of(profiles[i].profile, "inuse_space");
		fixture->malloc_bytes += total_of(profiles[i].profile, "malloc");
		fixture->failures += total_of(profiles[i].profile, "failures");
		if (total_of(profiles[i].profile, "failures") == 0)
			fixture->oom_bytes += total_of(profiles[i].profile, "requested_space");
		fixture->peak_bytes += total_of(profiles[i].profile, "peak_space");
	}
}

static void take_text(void *context, struct str text)
{
	struct fixture *fixture = context;

	free(fixture->text);
	fixture->text = mem_strndup(text.data, text.length);
	fixture->texts++;
}

static int set_up(void **state)
{
	*state = mem_zalloc(1, sizeof(struct fixture));
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	const bool is_closed = fixture->source.is_closed;

	free(fixture->text);
	free(fixture);
	return is_closed ? 0 : -1;
}

static struct collector *open_collector(struct fixture *fixture, struct event_source source)
{
	struct collector *collector = NULL;
	struct error err = { 0 };

	assert_int_equal(collector_open(
				 &(struct collector_options){
					 .interval_ns = 15 * NS_PER_S,
					 .service_suffix = "-gpu",
					 .cluster = "default",
					 .hostname = "box",
					 .symbol_cache_bytes = 1 << 20,
					 .source = source,
					 .sink = { take_push, fixture },
					 .metrics = take_text,
					 .metrics_context = fixture,
				 },
				 &collector, &err),
	                 0);
	return collector;
}

static void run(struct fixture *fixture)
{
	CLEANUP(collector_closep)
	struct collector *collector = open_collector(fixture, fake_source_of(&fixture->source));
	struct error err = { 0 };

	assert_int_equal(collector_run(collector, &err), 0);
}

static struct cuda_event end_event(enum cuda_event_kind kind)
{
	struct cuda_event event = alloc_event(0, 0);

	event.kind = (uint16_t)kind;
	return event;
}

static void the_last_tick_publishes_what_was_seen(void **state)
{
	struct fixture *fixture = *state;

	fake_source_add(&fixture->source, end_event(CUDA_EVENT_INIT));
	fake_source_add(&fixture->source, alloc_event(0x1000, 100));
	fake_source_add(&fixture->source, alloc_event(0x2000, 30));
	fake_source_add(&fixture->source, free_event(0x1000));
	fake_source_add(&fixture->source, failed_event(5, 2));
	run(fixture);
	assert_int_equal(fixture->alloc_bytes, 130);
	assert_int_equal(fixture->malloc_bytes, 130);
	assert_int_equal(fixture->inuse_bytes, 30);
	assert_int_equal(fixture->failures, 1);
	assert_int_equal(fixture->oom_bytes, 5);
	assert_int_equal(fixture->peak_bytes, 130 + 30); /* the window's, and at the OOM */
	assert_int_equal(fixture->ticks, 1);
	assert_non_null(strstr(fixture->text, "mem_alloc_bytes_total{pid=\"100\""));
	assert_non_null(strstr(fixture->text, "cuda_collector_up 0")); /* no kernel behind it */
}

static void ends_free_what_lives(void **state)
{
	struct fixture *fixture = *state;

	fake_source_add(&fixture->source, alloc_event(0x1000, 100));
	fake_source_add(&fixture->source, end_event(CUDA_EVENT_EXEC));
	fake_source_add(&fixture->source, alloc_event(0x1000, 7));
	run(fixture);
	assert_int_equal(fixture->inuse_bytes, 7);
	fixture->source.next = fixture->source.count = 0;
	fake_source_add(&fixture->source, alloc_event(0x1000, 100));
	fake_source_add(&fixture->source, end_event(CUDA_EVENT_EXIT));
	fake_source_add(&fixture->source, alloc_event(0x2000, 50)); /* behind its end */
	fixture->alloc_bytes = 0;
	run(fixture);
	assert_int_equal(fixture->alloc_bytes, 150);
	assert_int_equal(fixture->inuse_bytes, 0);
}

static void events_of_no_function_are_passed_over(void **state)
{
	struct fixture *fixture = *state;
	struct cuda_event event = alloc_event(0x1000, 100);

	event.function = CUDA_FUNCTION_COUNT;
	fake_source_add(&fixture->source, event);
	event = alloc_event(0x1000, 100);
	event.kind = 77;
	fake_source_add(&fixture->source, event);
	run(fixture);
	assert_int_equal(fixture->alloc_bytes, 0);
}

/* What only the kernel's counters tell of a process that has ended is booked at once. */
static void a_lost_process_is_known_by_its_counters(void **state)
{
	struct fixture *fixture = *state;
	struct process_counters counters = { .tgid = 100, .start_ns = 5 };

	counters.by_class[CUDA_CLASS_DEVICE] =
		(struct kernel_counters){ .alloc_bytes = 1000, .alloc_calls = 3 };
	fake_source_add(&fixture->source, alloc_event(0x1000, 400));
	fake_source_add(&fixture->source, end_event(CUDA_EVENT_EXIT));
	fake_source_set(&fixture->source, counters);
	run(fixture);
	assert_int_equal(fixture->alloc_bytes, 1000);
	assert_int_equal(fixture->inuse_bytes, 0);
	assert_int_equal(fixture->source.forgotten, 1);
}

static void tell_losses(void *context, struct collector_health *out)
{
	static const struct named_count losses[] = { { "ring_full", 7 } };

	(void)context;
	*out = (struct collector_health){
		.is_up = true,
		.dropped = losses,
		.dropped_count = ARRAY_LENGTH(losses),
	};
}

static void what_was_lost_on_the_way_is_told(void **state)
{
	static const char *const expected[] = {
		"dropped_total{reason=\"ring_full\"} 7\n",
		"dropped_total{reason=\"proc_gone\"} 1\n", /* the source opens none */
		"dropped_total{reason=\"proc_refused\"} 0\n",
		"dropped_total{reason=\"stack_truncated\"} 0\n",
		"dropped_total{reason=\"unwind_failed\"} 0\n",
		"dropped_total{reason=\"code_unnamed\"} 0\n",
		"dropped_total{reason=\"profile_too_large\"} 0\n",
	};
	struct fixture *fixture = *state;
	struct event_source source = fake_source_of(&fixture->source);
	struct collector *collector;
	struct error err = { 0 };

	fake_source_add(&fixture->source, end_event(CUDA_EVENT_INIT));
	source.health = tell_losses;
	collector = open_collector(fixture, source);
	assert_int_equal(collector_run(collector, &err), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++)
		assert_non_null(strstr(fixture->text, expected[i]));
	collector_close(collector);
}

/* ---- a source that waits, and is told to stop ---- */

static int drain_nothing(void *context, const struct event_handlers *handlers, size_t limit,
                         enum event_source_state *out, struct error *err)
{
	struct collector **collector = context;

	(void)handlers;
	(void)limit;
	(void)err;
	*out = EVENT_SOURCE_IDLE;
	collector_stop(*collector);
	collector_stop(*collector);
	return 0;
}

static void it_stops_when_it_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct collector *collector = NULL;
	struct event_source source = fake_source_of(&fixture->source);
	struct error err = { 0 };

	source.drain = drain_nothing;
	source.counters = NULL;
	source.close = NULL;
	source.context = &collector;
	collector = open_collector(fixture, source);
	assert_int_equal(collector_run(collector, &err), 0);
	assert_int_equal(fixture->ticks, 1);
	collector_close(collector);
	fixture->source.is_closed = true;
}

static int drain_fails(void *context, const struct event_handlers *handlers, size_t limit,
                       enum event_source_state *out, struct error *err)
{
	(void)context;
	(void)handlers;
	(void)limit;
	*out = EVENT_SOURCE_END;
	return error_set(err, ERROR_CORRUPT, "the recording is damaged");
}

static void a_source_that_fails_ends_it(void **state)
{
	struct fixture *fixture = *state;
	struct event_source source = fake_source_of(&fixture->source);
	struct collector *collector;
	struct error err = { 0 };

	source.drain = drain_fails;
	collector = open_collector(fixture, source);
	assert_int_equal(collector_run(collector, &err), -1);
	assert_int_equal(err.code, ERROR_CORRUPT);
	collector_close(collector);
}

/* ---- a source that has more than one drain gives ---- */

#define PIECES 200

struct pieces {
	size_t left;
};

static int drain_piece(void *context, const struct event_handlers *handlers, size_t limit,
                       enum event_source_state *out, struct error *err)
{
	struct pieces *pieces = context;

	(void)handlers;
	(void)limit;
	(void)err;
	*out = --pieces->left > 0 ? EVENT_SOURCE_MORE : EVENT_SOURCE_END;
	return 0;
}

/* Its descriptor wakes nobody: to wait a second for each piece takes longer than a test may. */
static void what_is_left_is_not_waited_for(void **state)
{
	struct fixture *fixture = *state;
	struct pieces pieces = { PIECES };
	const struct event_source source = { .descriptor = eventfd(0, EFD_CLOEXEC),
		                             .drain = drain_piece,
		                             .context = &pieces };
	struct collector *collector;
	struct error err = { 0 };

	assert_true(source.descriptor >= 0);
	collector = open_collector(fixture, source);
	assert_int_equal(collector_run(collector, &err), 0);
	assert_int_equal(pieces.left, 0);
	collector_close(collector);
	(void)close(source.descriptor);
	fixture->source.is_closed = true;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_last_tick_publishes_what_was_seen),
		TEST(ends_free_what_lives),
		TEST(events_of_no_function_are_passed_over),
		TEST(a_lost_process_is_known_by_its_counters),
		TEST(what_was_lost_on_the_way_is_told),
		TEST(it_stops_when_it_is_told),
		TEST(a_source_that_fails_ends_it),
		TEST(what_is_left_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
