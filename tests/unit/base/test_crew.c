#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/crew.h"

/* Who works meets the others: nobody returns before so many are there. */
struct meeting {
	pthread_mutex_t lock;
	pthread_cond_t came;
	size_t there;
	size_t expected;
};

static void meeting_init(struct meeting *meeting, size_t expected)
{
	*meeting = (struct meeting){ .expected = expected };
	(void)pthread_mutex_init(&meeting->lock, NULL);
	(void)pthread_cond_init(&meeting->came, NULL);
}

static void meet(void *context)
{
	struct meeting *meeting = context;

	(void)pthread_mutex_lock(&meeting->lock);
	meeting->there++;
	(void)pthread_cond_broadcast(&meeting->came);
	while (meeting->there < meeting->expected)
		(void)pthread_cond_wait(&meeting->came, &meeting->lock);
	(void)pthread_mutex_unlock(&meeting->lock);
}

static void helpers_work_at_the_same_time(void **state)
{
	struct crew *crew = crew_new(3);
	struct meeting meeting;

	(void)state;
	for (size_t expected = 1; expected <= 4; expected++) {
		meeting_init(&meeting, expected);
		crew_share(crew, expected - 1, meet, &meeting);
		assert_int_equal(meeting.there, expected);
	}
	crew_free(crew);
}

/* Numbers up to 1,000, each of which somebody takes. */
struct numbers {
	_Atomic uint64_t next;
	_Atomic uint64_t sum;
};

static void add_up(void *context)
{
	struct numbers *numbers = context;
	uint64_t number;

	while ((number = atomic_fetch_add(&numbers->next, 1)) <= 1000)
		atomic_fetch_add(&numbers->sum, number);
}

static void nobody_comes_where_there_is_nobody(void **state)
{
	struct crew *crew = crew_new(0);
	struct meeting meeting;

	(void)state;
	meeting_init(&meeting, 1);
	crew_share(crew, 5, meet, &meeting);
	assert_int_equal(meeting.there, 1);
	crew_free(crew);
	crew_free(NULL);
}

static void *share_often(void *crew)
{
	for (int i = 0; i < 500; i++) {
		struct numbers numbers = { 0 };

		crew_share(crew, 2, add_up, &numbers);
		if (atomic_load(&numbers.sum) != 500500)
			return crew;
	}
	return NULL;
}

static void several_ask_at_once(void **state)
{
	struct crew *crew = crew_new(2);
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, share_often, crew), 0);
	for (size_t i = 0; i < 4; i++) {
		void *wrong;

		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	crew_free(crew);
}

struct busy {
	struct crew *crew;
	struct meeting meeting; /* of all helpers, and of whoever lets them go */
};

static void *keep_busy(void *context)
{
	struct busy *busy = context;

	crew_share(busy->crew, 2, meet, &busy->meeting);
	return NULL;
}

static size_t there(struct meeting *meeting)
{
	size_t count;

	(void)pthread_mutex_lock(&meeting->lock);
	count = meeting->there;
	(void)pthread_mutex_unlock(&meeting->lock);
	return count;
}

static void a_busy_crew_holds_nobody_up(void **state)
{
	struct busy busy = { .crew = crew_new(2) };
	struct numbers numbers = { 0 };
	pthread_t thread;

	(void)state;
	meeting_init(&busy.meeting, 4); /* its owner, two helpers, and this thread at the end */
	assert_int_equal(pthread_create(&thread, NULL, keep_busy, &busy), 0);
	while (there(&busy.meeting) < 3)
		(void)sched_yield();
	crew_share(busy.crew, 2, add_up, &numbers);
	assert_int_equal(atomic_load(&numbers.sum), 500500);
	meet(&busy.meeting);
	assert_int_equal(pthread_join(thread, NULL), 0);
	crew_free(busy.crew);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(helpers_work_at_the_same_time),
		cmocka_unit_test(nobody_comes_where_there_is_nobody),
		cmocka_unit_test(several_ask_at_once),
		cmocka_unit_test(a_busy_crew_holds_nobody_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
