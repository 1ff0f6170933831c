/*
 * A source of events that a test has written down.
 *
 * Shape    steps: an event, or counters from now on. It ends behind the last step.
 */
#pragma once

#include "collector/event_source.h"

#define FAKE_STEPS_MAX 4096

struct fake_step {
	struct cuda_event event; /* kind 0: none */
	bool sets_counters;
	struct process_counters counters;
};

struct fake_source {
	struct fake_step steps[FAKE_STEPS_MAX];
	size_t count;
	size_t next;
	struct process_counters counters; /* tgid 0: none */
	size_t forgotten;
	bool is_closed;
};

static inline void fake_source_add(struct fake_source *source, struct cuda_event event)
{
	source->steps[source->count++] = (struct fake_step){ .event = event };
}

static inline void fake_source_set(struct fake_source *source, struct process_counters counters)
{
	source->steps[source->count++] =
		(struct fake_step){ .sets_counters = true, .counters = counters };
}

static inline int fake_drain(void *context, const struct event_handlers *handlers, size_t limit,
                             enum event_source_state *out, struct error *err)
{
	struct fake_source *source = context;

	(void)err;
	for (size_t i = 0; i < limit && source->next < source->count; i++) {
		const struct fake_step *step = &source->steps[source->next++];

		if (step->sets_counters)
			source->counters = step->counters;
		else
			handlers->event(handlers->context, &step->event, sizeof(step->event));
	}
	*out = source->next < source->count ? EVENT_SOURCE_MORE : EVENT_SOURCE_END;
	return 0;
}

static inline void fake_counters(void *context,
                                 void (*visit)(void *to, const struct process_counters *counters),
                                 void *to)
{
	struct fake_source *source = context;

	if (source->counters.tgid != 0)
		visit(to, &source->counters);
}

static inline void fake_forget(void *context, uint32_t tgid, uint64_t start_ns)
{
	struct fake_source *source = context;

	(void)start_ns;
	source->forgotten += tgid == source->counters.tgid;
	source->counters.tgid = 0;
}

static inline void fake_close(void *context)
{
	((struct fake_source *)context)->is_closed = true;
}

static inline struct event_source fake_source_of(struct fake_source *source)
{
	return (struct event_source){
		.descriptor = -1,
		.drain = fake_drain,
		.counters = fake_counters,
		.forget = fake_forget,
		.close = fake_close,
		.context = source,
	};
}
