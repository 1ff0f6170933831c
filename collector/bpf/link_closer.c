#include "collector/bpf/link_closer.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "collector/bpf/probe_link.h"

struct waiting_link {
	struct probe_link *link;
	struct waiting_link *next;
};

struct link_closer {
	pthread_cond_t changed;
	pthread_mutex_t lock; /* guards everything below */
	pthread_t thread;
	bool has_thread;
	struct waiting_link *first;
	struct waiting_link **end;
	size_t count; /* the one that is being closed too */
	bool is_ending;
};

struct link_closer *link_closer_new(void)
{
	struct link_closer *closer = mem_zalloc(1, sizeof(*closer));

	pthread_mutex_init(&closer->lock, NULL);
	pthread_cond_init(&closer->changed, NULL);
	closer->end = &closer->first;
	return closer;
}

/* The first one, or NULL when there will be none any more. */
static struct waiting_link *take_first(struct link_closer *closer)
{
	struct waiting_link *first;

	pthread_mutex_lock(&closer->lock);
	while (!closer->first && !closer->is_ending)
		pthread_cond_wait(&closer->changed, &closer->lock);
	first = closer->first;
	if (first) {
		closer->first = first->next;
		if (!closer->first)
			closer->end = &closer->first;
	}
	pthread_mutex_unlock(&closer->lock);
	return first;
}

/* Owns the links that wait; ends when it is told to, and none does. */
static void *close_links(void *context)
{
	struct link_closer *closer = context;
	struct waiting_link *waiting;

	while ((waiting = take_first(closer))) {
		probe_link_close(waiting->link);
		free(waiting);
		pthread_mutex_lock(&closer->lock);
		closer->count--;
		pthread_mutex_unlock(&closer->lock);
	}
	return NULL;
}

static void append(struct link_closer *closer, struct probe_link *link)
{
	struct waiting_link *waiting = mem_zalloc(1, sizeof(*waiting));

	waiting->link = link;
	*closer->end = waiting;
	closer->end = &waiting->next;
	closer->count++;
	pthread_cond_signal(&closer->changed);
}

void link_closer_take(struct link_closer *closer, struct probe_link *link)
{
	bool has_thread;

	if (!link)
		return;
	pthread_mutex_lock(&closer->lock);
	if (!closer->has_thread)
		closer->has_thread = pthread_create(&closer->thread, NULL, close_links, closer) ==
		                     0;
	has_thread = closer->has_thread;
	if (has_thread)
		append(closer, link);
	pthread_mutex_unlock(&closer->lock);
	if (!has_thread)
		probe_link_close(link);
}

size_t link_closer_waiting(struct link_closer *closer)
{
	size_t count;

	pthread_mutex_lock(&closer->lock);
	count = closer->count;
	pthread_mutex_unlock(&closer->lock);
	return count;
}

void link_closer_free(struct link_closer *closer)
{
	if (!closer)
		return;
	pthread_mutex_lock(&closer->lock);
	closer->is_ending = true;
	pthread_cond_signal(&closer->changed);
	pthread_mutex_unlock(&closer->lock);
	if (closer->has_thread)
		pthread_join(closer->thread, NULL);
	pthread_cond_destroy(&closer->changed);
	pthread_mutex_destroy(&closer->lock);
	free(closer);
}
