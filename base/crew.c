#include "base/crew.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"

#define HELPERS_MAX 31 /* more than a merge has windows to share, mostly; a guess */

/* Work that is asked for; it lies with its owner. */
struct call {
	void (*work)(void *context);
	void *context;
	size_t wanted;  /* helpers that have not come yet */
	size_t helping; /* that have, and have not returned */
	struct call *next;
};

struct crew {
	size_t size;
	pthread_t *threads;

	pthread_mutex_t lock; /* guards everything below */
	pthread_cond_t called;
	pthread_cond_t returned;
	size_t made;        /* threads */
	size_t free;        /* of them, without those that a call wants already */
	struct call *calls; /* that want helpers */
	bool is_ending;
};

/* ---- helpers ---- */

static void forget(struct crew *crew, const struct call *call)
{
	struct call **place = &crew->calls;

	while (*place && *place != call)
		place = &(*place)->next;
	if (*place)
		*place = call->next;
}

static void *help(void *context)
{
	struct crew *crew = context;

	log_name_thread("crew");
	(void)pthread_mutex_lock(&crew->lock);
	for (;;) {
		struct call *call = crew->calls;

		if (!call) {
			if (crew->is_ending)
				break;
			(void)pthread_cond_wait(&crew->called, &crew->lock);
			continue;
		}
		call->helping++;
		if (--call->wanted == 0)
			forget(crew, call);
		(void)pthread_mutex_unlock(&crew->lock);
		call->work(call->context);
		(void)pthread_mutex_lock(&crew->lock);
		crew->free++;
		if (--call->helping == 0)
			(void)pthread_cond_broadcast(&crew->returned);
	}
	(void)pthread_mutex_unlock(&crew->lock);
	return NULL;
}

/* ---- owners ---- */

/* Makes those that are missing for so many; with the lock held. Fewer are fine. */
static void make_threads(struct crew *crew, size_t wanted)
{
	while (crew->free < wanted && crew->made < crew->size) {
		if (pthread_create(&crew->threads[crew->made], NULL, help, crew) != 0)
			return;
		crew->made++;
		crew->free++;
	}
}

static void ask(struct crew *crew, struct call *call, size_t helpers)
{
	(void)pthread_mutex_lock(&crew->lock);
	make_threads(crew, helpers);
	call->wanted = helpers < crew->free ? helpers : crew->free;
	crew->free -= call->wanted;
	if (call->wanted > 0) {
		call->next = crew->calls;
		crew->calls = call;
		(void)pthread_cond_broadcast(&crew->called);
	}
	(void)pthread_mutex_unlock(&crew->lock);
}

/* Nobody else joins; waits for those who did. */
static void take_back(struct crew *crew, struct call *call)
{
	(void)pthread_mutex_lock(&crew->lock);
	forget(crew, call);
	crew->free += call->wanted;
	call->wanted = 0;
	while (call->helping > 0)
		(void)pthread_cond_wait(&crew->returned, &crew->lock);
	(void)pthread_mutex_unlock(&crew->lock);
}

void crew_share(struct crew *crew, size_t helpers, void (*work)(void *context), void *context)
{
	struct call call = { .work = work, .context = context };

	if (helpers > 0 && crew->size > 0)
		ask(crew, &call, helpers);
	work(context);
	if (helpers > 0 && crew->size > 0)
		take_back(crew, &call);
}

/* ---- life ---- */

size_t crew_default_size(void)
{
	cpu_set_t set;
	int count;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return 0;
	count = CPU_COUNT(&set);
	return count > 1 ? (size_t)count - 1 : 0;
}

struct crew *crew_new(size_t helpers)
{
	struct crew *crew = mem_zalloc(1, sizeof(*crew));

	crew->size = helpers < HELPERS_MAX ? helpers : HELPERS_MAX;
	crew->threads = mem_zalloc(crew->size + 1, sizeof(*crew->threads));
	(void)pthread_mutex_init(&crew->lock, NULL);
	(void)pthread_cond_init(&crew->called, NULL);
	(void)pthread_cond_init(&crew->returned, NULL);
	return crew;
}

void crew_free(struct crew *crew)
{
	if (!crew)
		return;
	(void)pthread_mutex_lock(&crew->lock);
	crew->is_ending = true;
	(void)pthread_cond_broadcast(&crew->called);
	(void)pthread_mutex_unlock(&crew->lock);
	for (size_t i = 0; i < crew->made; i++)
		(void)pthread_join(crew->threads[i], NULL);
	(void)pthread_cond_destroy(&crew->called);
	(void)pthread_cond_destroy(&crew->returned);
	(void)pthread_mutex_destroy(&crew->lock);
	free(crew->threads);
	free(crew);
}
