#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "server/push/push_queue.h"
#include "tests/unit/server/spool_harness.h"

#define TRIES_MAX 64
#define TEXT_MAX  16

/* A transport that answers as it is told and remembers what it was given. */
struct script {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum push_outcome outcomes[TRIES_MAX]; /* of each try; PUSH_DELIVERED when not set */
	int64_t pause_ns;                      /* asked for by each that is to be tried again */
	char tries[TRIES_MAX][TEXT_MAX];
	size_t count;
	int is_held;   /* tries wait until it is 0 */
	int is_trying; /* one waits */
};

static struct push_answer deliver(void *context, struct str request, struct error *err)
{
	struct script *script = context;
	enum push_outcome outcome;

	pthread_mutex_lock(&script->mutex);
	script->is_trying = 1;
	pthread_cond_broadcast(&script->changed);
	while (script->is_held)
		pthread_cond_wait(&script->changed, &script->mutex);
	script->is_trying = 0;
	assert_true(script->count < TRIES_MAX && request.length < TEXT_MAX);
	memcpy(script->tries[script->count], request.data, request.length);
	outcome = script->outcomes[script->count++];
	pthread_cond_broadcast(&script->changed);
	pthread_mutex_unlock(&script->mutex);
	if (outcome != PUSH_DELIVERED)
		(void)error_set(err, ERROR_UNAVAILABLE, "as the test says");
	return (struct push_answer){ .outcome = outcome, .pause_ns = script->pause_ns };
}

static void let_go(void *context)
{
	struct script *script = context;

	pthread_mutex_lock(&script->mutex);
	script->is_held = 0;
	pthread_cond_broadcast(&script->changed);
	pthread_mutex_unlock(&script->mutex);
}

static void wait_for_a_try(struct script *script)
{
	pthread_mutex_lock(&script->mutex);
	while (!script->is_trying)
		pthread_cond_wait(&script->changed, &script->mutex);
	pthread_mutex_unlock(&script->mutex);
}

static void script_init(struct script *script)
{
	*script = (struct script){ 0 };
	pthread_mutex_init(&script->mutex, NULL);
	pthread_cond_init(&script->changed, NULL);
}

static void hold(struct script *script, int is_held)
{
	pthread_mutex_lock(&script->mutex);
	script->is_held = is_held;
	pthread_cond_broadcast(&script->changed);
	pthread_mutex_unlock(&script->mutex);
}

static void wait_for_tries(struct script *script, size_t count)
{
	pthread_mutex_lock(&script->mutex);
	while (script->count < count)
		pthread_cond_wait(&script->changed, &script->mutex);
	pthread_mutex_unlock(&script->mutex);
}

/* Tries again at once, and has time at the end. */
static struct push_queue_options quick(struct script *script, size_t max_bytes)
{
	return (struct push_queue_options){
		.transport = { .deliver = deliver, .context = script },
		.backlog = { .memory_bytes = max_bytes },
		.retry_first_ns = NS_PER_MS,
		.retry_most_ns = 4 * NS_PER_MS,
		.last_moments_ns = 60 * NS_PER_S,
	};
}

static struct push_queue *make_queue(struct script *script, size_t max_bytes)
{
	const struct push_queue_options options = quick(script, max_bytes);

	return push_queue_new(&options);
}

/* Tries once within an hour, and has no time at the end. */
static struct push_queue_options slow(struct script *script)
{
	struct push_queue_options options = quick(script, 1000);

	options.retry_first_ns = 3600 * NS_PER_S;
	options.retry_most_ns = 3600 * NS_PER_S;
	options.last_moments_ns = NS_PER_MS;
	return options;
}

/* In a new folder. */
static void add_spool(struct push_queue_options *options, struct spool_place *place)
{
	place_make(place);
	options->backlog.spool_path = place->path;
	options->backlog.spool_bytes = 1 << 20;
	options->backlog.spool_retry_ns = NS_PER_MS;
}

static void requests_go_out_in_their_order(void **state)
{
	struct script script;
	struct push_queue *queue;

	(void)state;
	script_init(&script);
	queue = make_queue(&script, 1000);
	push_queue_add(queue, STR("one"));
	push_queue_add(queue, STR("two"));
	push_queue_add(queue, STR("three"));
	push_queue_free(queue); /* delivers what waits */
	assert_int_equal(script.count, 3);
	assert_string_equal(script.tries[0], "one");
	assert_string_equal(script.tries[1], "two");
	assert_string_equal(script.tries[2], "three");
}

static void a_retry_sends_the_same_bytes_before_anything_else(void **state)
{
	struct script script;
	struct push_queue *queue;

	(void)state;
	script_init(&script);
	script.outcomes[0] = PUSH_RETRY;
	script.outcomes[1] = PUSH_RETRY;
	queue = make_queue(&script, 1000);
	push_queue_add(queue, STR("one"));
	push_queue_add(queue, STR("two"));
	wait_for_tries(&script, 4);
	push_queue_free(queue);
	assert_string_equal(script.tries[0], "one");
	assert_string_equal(script.tries[1], "one");
	assert_string_equal(script.tries[2], "one");
	assert_string_equal(script.tries[3], "two");
}

static void what_is_refused_is_counted_and_not_tried_again(void **state)
{
	struct script script;
	struct push_queue_counts counts;
	struct push_queue *queue;

	(void)state;
	script_init(&script);
	script.outcomes[0] = PUSH_REFUSED;
	queue = make_queue(&script, 1000);
	push_queue_add(queue, STR("bad"));
	push_queue_add(queue, STR("good"));
	wait_for_tries(&script, 2);
	do
		counts = push_queue_counts(queue);
	while (counts.delivered + counts.refused < 2);
	assert_int_equal(counts.delivered, 1);
	assert_int_equal(counts.refused, 1);
	assert_int_equal(push_queue_dropped(&counts), 0);
	push_queue_free(queue);
	assert_int_equal(script.count, 2);
}

/* The one that is tried now is never dropped for another; it counts as waiting. */
static void over_the_bound_the_oldest_that_wait_are_dropped(void **state)
{
	struct script script;
	struct push_queue_counts counts;
	struct push_queue *queue;

	(void)state;
	script_init(&script);
	hold(&script, 1);
	queue = make_queue(&script, 10);
	push_queue_add(queue, STR("first"));
	wait_for_a_try(&script);
	push_queue_add(queue, STR("aaaa"));
	push_queue_add(queue, STR("bbbb"));
	push_queue_add(queue, STR("cccc"));
	counts = push_queue_counts(queue);
	assert_int_equal(counts.backlog.waiting, 3);
	assert_int_equal(counts.backlog.waiting_bytes, strlen("first") + 8);
	assert_int_equal(push_queue_dropped(&counts), 1);
	hold(&script, 0);
	push_queue_free(queue);
	assert_int_equal(script.count, 3);
	assert_string_equal(script.tries[0], "first");
	assert_string_equal(script.tries[1], "bbbb");
	assert_string_equal(script.tries[2], "cccc");
}

static void an_end_does_not_wait_for_a_server_that_is_away(void **state)
{
	struct script script;
	const struct push_queue_options options = slow(&script);
	struct push_queue *queue;

	(void)state;
	script_init(&script);
	for (size_t i = 0; i < TRIES_MAX; i++)
		script.outcomes[i] = PUSH_RETRY;
	queue = push_queue_new(&options);
	push_queue_add(queue, STR("one"));
	wait_for_tries(&script, 1);
	push_queue_free(queue); /* not in an hour */
	assert_in_range(script.count, 1, 2);
}

/* The pause of an hour is over at once, and what waits has its chance. */
static void an_end_is_worth_another_try(void **state)
{
	struct script script;
	struct push_queue *queue;

	(void)state;
	script_init(&script);
	script.outcomes[0] = PUSH_RETRY;
	script.pause_ns = 3600 * NS_PER_S;
	queue = make_queue(&script, 1000);
	push_queue_add(queue, STR("one"));
	push_queue_add(queue, STR("two"));
	wait_for_tries(&script, 1);
	assert_int_equal(push_queue_counts(queue).backlog.waiting, 2);
	push_queue_free(queue);
	assert_int_equal(script.count, 3);
	assert_string_equal(script.tries[1], "one");
	assert_string_equal(script.tries[2], "two");
}

/* A pause that was asked for holds, however short the first ones are. */
static void a_pause_that_is_asked_for_is_kept(void **state)
{
	struct script script;
	struct push_queue *queue;
	int64_t begin;

	(void)state;
	script_init(&script);
	script.outcomes[0] = PUSH_RETRY;
	script.pause_ns = 50 * NS_PER_MS;
	queue = make_queue(&script, 1000); /* by itself 1 ms */
	begin = clock_mono_ns();
	push_queue_add(queue, STR("one"));
	wait_for_tries(&script, 2);
	assert_true(clock_mono_ns() - begin >= script.pause_ns);
	push_queue_free(queue);
}

static void at_the_end_a_try_that_hangs_is_cancelled(void **state)
{
	struct script script;
	struct push_queue *queue;

	(void)state;
	script_init(&script);
	script.outcomes[0] = PUSH_RETRY;
	hold(&script, 1);
	queue = push_queue_new(&(struct push_queue_options){
		.transport = { .deliver = deliver, .cancel = let_go, .context = &script },
		.backlog = { .memory_bytes = 1000 },
		.retry_first_ns = NS_PER_MS,
		.retry_most_ns = NS_PER_MS,
		.last_moments_ns = NS_PER_MS,
	});
	push_queue_add(queue, STR("one"));
	push_queue_add(queue, STR("two"));
	wait_for_a_try(&script);
	push_queue_free(queue); /* would never return */
	assert_int_equal(script.count, 1);
}

/* A profile of any kind is larger than ten bytes when it is packed: gzip's frame has 18. */
static void a_profile_that_fits_no_request_is_dropped_and_counted(void **state)
{
	const struct profile empty = { 0 };
	const struct sink_profile profiles[] = { { .profile = &empty }, { .profile = &empty } };
	struct script script;
	struct push_queue *queue;
	struct profile_sink sink;

	(void)state;
	script_init(&script);
	queue = push_queue_new(&(struct push_queue_options){
		.transport = { .deliver = deliver, .context = &script },
		.backlog = { .memory_bytes = 1000 },
		.request_bytes = 10,
		.last_moments_ns = 60 * NS_PER_S,
	});
	sink = push_queue_sink(queue);
	sink.push(sink.context, profiles, ARRAY_LENGTH(profiles));
	assert_int_equal(push_queue_counts(queue).backlog.dropped[PUSH_DROP_TOO_LARGE], 2);
	push_queue_free(queue);
	assert_int_equal(script.count, 0);
}

/* Nothing more is tried; what waits is there for the next process. */
static void who_is_gone_is_not_asked_again(void **state)
{
	struct script script;
	struct push_queue_options options = quick(&script, 1000);
	struct spool_place place;
	struct push_queue *queue;

	(void)state;
	add_spool(&options, &place);
	script_init(&script);
	script.outcomes[0] = PUSH_GONE;
	queue = push_queue_new(&options);
	push_queue_add(queue, STR("one"));
	push_queue_add(queue, STR("two"));
	wait_for_tries(&script, 1);
	push_queue_free(queue); /* at once, not in a minute */
	assert_int_equal(script.count, 1);
	queue = push_queue_new(&options);
	wait_for_tries(&script, 3);
	push_queue_free(queue);
	assert_int_equal(script.count, 3);
	assert_string_equal(script.tries[1], "one");
	assert_string_equal(script.tries[2], "two");
	place_remove(&place);
}

/* The server is away when it should end, and the spool has what it did not take. */
static void an_end_leaves_what_waits_in_the_spool(void **state)
{
	struct script script;
	struct push_queue_options options = slow(&script);
	struct spool_place place;
	struct push_queue *queue;
	size_t tried;

	(void)state;
	add_spool(&options, &place);
	script_init(&script);
	script.outcomes[0] = PUSH_RETRY;
	script.outcomes[1] = PUSH_RETRY;
	queue = push_queue_new(&options);
	push_queue_add(queue, STR("one"));
	wait_for_tries(&script, 1);
	push_queue_add(queue, STR("two"));
	push_queue_free(queue);
	tried = script.count;
	assert_in_range(tried, 1, 2);
	script.outcomes[tried - 1] = PUSH_DELIVERED;
	script.outcomes[tried] = PUSH_DELIVERED;
	options.last_moments_ns = 60 * NS_PER_S;
	queue = push_queue_new(&options);
	push_queue_add(queue, STR("three"));
	push_queue_free(queue);
	assert_int_equal(script.count, tried + 3);
	assert_string_equal(script.tries[tried], "one");
	assert_string_equal(script.tries[tried + 1], "two");
	assert_string_equal(script.tries[tried + 2], "three");
	place_remove(&place);
}

/* It has waited longer than servers take it: it is dropped, and what is younger is sent. */
static void what_has_become_too_old_is_not_sent(void **state)
{
	struct script script;
	struct push_queue_options options = slow(&script);
	struct spool_place place;
	struct push_queue *queue;

	(void)state;
	options.backlog.max_age_ns = 3600 * NS_PER_S;
	add_spool(&options, &place);
	script_init(&script);
	script.outcomes[0] = PUSH_RETRY;
	script.outcomes[1] = PUSH_RETRY;
	queue = push_queue_new(&options);
	push_queue_add(queue, STR("old"));
	wait_for_tries(&script, 1);
	push_queue_free(queue);
	memset(script.outcomes, 0, sizeof(script.outcomes));
	script.count = 0;
	clock_warp_unix(clock_unix_ns() + 3700 * NS_PER_S, 1);
	options.last_moments_ns = 60 * NS_PER_S;
	queue = push_queue_new(&options);
	push_queue_add(queue, STR("young"));
	wait_for_tries(&script, 1);
	assert_int_equal(push_queue_counts(queue).backlog.dropped[PUSH_DROP_TOO_OLD], 1);
	push_queue_free(queue);
	clock_warp_unix(0, 0);
	assert_int_equal(script.count, 1);
	assert_string_equal(script.tries[0], "young");
	place_remove(&place);
}

/* Five that have piled up have four pauses between them; one that is alone has none. */
static void what_has_piled_up_goes_out_at_a_bounded_speed(void **state)
{
	static const struct {
		int64_t pause_ns;
		uint64_t bytes_s;
	} bounds[] = { { 10 * NS_PER_MS, 0 }, { 0, 500 }, { NS_PER_MS, 500 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(bounds); i++) {
		struct script script;
		struct push_queue *queue;
		int64_t begin;

		script_init(&script);
		hold(&script, 1);
		queue = push_queue_new(&(struct push_queue_options){
			.transport = { .deliver = deliver, .context = &script },
			.backlog = { .memory_bytes = 1000 },
			.drain_pause_ns = bounds[i].pause_ns,
			.drain_bytes_s = bounds[i].bytes_s,
			.last_moments_ns = 60 * NS_PER_S,
		});
		for (size_t pushes = 0; pushes < 5; pushes++)
			push_queue_add(queue, STR("12345"));
		wait_for_a_try(&script);
		begin = clock_mono_ns();
		hold(&script, 0);
		wait_for_tries(&script, 5);
		/* the first one was held already: its pause may be over */
		assert_true(clock_mono_ns() - begin >= 30 * NS_PER_MS);
		push_queue_free(queue);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_go_out_in_their_order),
		cmocka_unit_test(a_retry_sends_the_same_bytes_before_anything_else),
		cmocka_unit_test(what_is_refused_is_counted_and_not_tried_again),
		cmocka_unit_test(over_the_bound_the_oldest_that_wait_are_dropped),
		cmocka_unit_test(a_profile_that_fits_no_request_is_dropped_and_counted),
		cmocka_unit_test(an_end_does_not_wait_for_a_server_that_is_away),
		cmocka_unit_test(an_end_is_worth_another_try),
		cmocka_unit_test(a_pause_that_is_asked_for_is_kept),
		cmocka_unit_test(at_the_end_a_try_that_hangs_is_cancelled),
		cmocka_unit_test(who_is_gone_is_not_asked_again),
		cmocka_unit_test(an_end_leaves_what_waits_in_the_spool),
		cmocka_unit_test(what_has_become_too_old_is_not_sent),
		cmocka_unit_test(what_has_piled_up_goes_out_at_a_bounded_speed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
