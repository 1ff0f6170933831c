#include "base/thread_own.h"

#include <stdlib.h>

static void make_key(struct thread_own *own)
{
	pthread_mutex_lock(&own->mutex);
	if (!atomic_load(&own->has_key)) {
		if (pthread_key_create(&own->key, own->free) != 0)
			abort();
		atomic_store(&own->has_key, true);
	}
	pthread_mutex_unlock(&own->mutex);
}

void *thread_own_get(struct thread_own *own)
{
	void *object;

	if (!atomic_load(&own->has_key))
		make_key(own);
	object = pthread_getspecific(own->key);
	if (object)
		return object;
	object = own->make();
	if (!object || pthread_setspecific(own->key, object) != 0)
		abort();
	return object;
}
