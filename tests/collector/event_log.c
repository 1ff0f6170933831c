#include "tests/collector/event_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void event_log_reset(struct event_log *log)
{
	for (size_t i = 0; i < log->count; i++)
		free(log->events[i]);
	log->count = 0;
}

void event_log_fini(struct event_log *log)
{
	event_log_reset(log);
	free(log->events);
	free(log->sizes);
	*log = (struct event_log){ .count = 0 };
}

void event_log_add(void *context, const struct cuda_event *event, size_t size)
{
	struct event_log *log = context;

	if (log->count == log->capacity) {
		log->capacity = log->capacity ? log->capacity * 2 : 64;
		log->events = mem_resize(log->events, log->capacity, sizeof(log->events[0]));
		log->sizes = mem_resize(log->sizes, log->capacity, sizeof(log->sizes[0]));
	}
	log->events[log->count] = mem_zalloc(1, size);
	memcpy(log->events[log->count], event, size);
	log->sizes[log->count++] = size;
}

const struct cuda_event *event_log_find(const struct event_log *log, pid_t pid, uint32_t kind,
                                        size_t n)
{
	for (size_t i = 0; i < log->count; i++) {
		const struct cuda_event *event = log->events[i];

		if (event->tgid == (uint32_t)pid && (kind == 0 || event->kind == kind) && n-- == 0)
			return event;
	}
	return NULL;
}

size_t event_log_count(const struct event_log *log, pid_t pid, uint32_t kind)
{
	size_t count = 0;

	for (size_t i = 0; i < log->count; i++)
		count += log->events[i]->tgid == (uint32_t)pid &&
		         (kind == 0 || log->events[i]->kind == kind);
	return count;
}

const struct cuda_stack_event *event_log_stack(const struct event_log *log,
                                               const struct cuda_event *event)
{
	for (size_t i = 0; i < log->count; i++) {
		if (log->events[i] == event && log->sizes[i] >= sizeof(struct cuda_stack_event))
			return (const struct cuda_stack_event *)event;
	}
	return NULL;
}
