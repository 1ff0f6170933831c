/*
 * What is published, written down by a sink: one note a profile.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/live/memory_tick.h"
#include "tests/unit/collector/live/live_fixture.h"

#define NOTES_MAX 200
#define WINDOW_NS 40000 /* of peaks */

/* What one pushed profile said: the sink may not keep more. */
struct note {
	char labels[1024];
	int64_t totals[STACK_PROFILE_TYPES_MAX];
	size_t samples;
	char type[32];   /* the first sample type */
	char caller[32]; /* of the driver's function, in the first sample */
	int64_t time_unix_ns;
	int64_t duration_ns;
};

struct fixture {
	struct gpu_process_table *processes;
	struct stack_table *stacks;
	struct memory_tick *tick;
	struct note notes[NOTES_MAX];
	size_t count;
	size_t pushes;
};

static inline void note_caller(struct note *note, const struct profile *profile)
{
	const struct profile_location *location;

	if (profile->sample_count == 0 || profile->samples[0].depth < 2)
		return;
	location = &profile->locations[profile->stacks[profile->samples[0].first_frame + 1]];
	(void)snprintf(
		note->caller, sizeof(note->caller), "%.*s",
		STR_ARGS(profile_string(
			profile,
			profile->functions[profile->lines[location->first_line].function].name)));
}

static inline void note_profile(struct note *note, const struct sink_profile *pushed)
{
	const struct profile *profile = pushed->profile;
	struct strbuf text;

	strbuf_init(&text, sizeof(note->labels) - 1);
	label_set_format(&pushed->labels, &text);
	assert_false(strbuf_overflowed(&text));
	(void)snprintf(note->labels, sizeof(note->labels), "%s", text.data);
	strbuf_fini(&text);
	for (size_t i = 1; i < pushed->labels.count; i++)
		assert_true(str_compare(pushed->labels.labels[i - 1].name,
		                        pushed->labels.labels[i].name) < 0);
	for (size_t i = 0; i < profile->sample_count * profile->sample_type_count; i++)
		note->totals[i % profile->sample_type_count] += profile->values[i];
	note->samples = profile->sample_count;
	note->time_unix_ns = profile->time_unix_ns;
	note->duration_ns = profile->duration_ns;
	(void)snprintf(note->type, sizeof(note->type), "%.*s",
	               STR_ARGS(profile_string(profile, profile->sample_types[0].type)));
	note_caller(note, profile);
}

static inline void note_push(void *context, const struct sink_profile *profiles, size_t count)
{
	struct fixture *fixture = context;

	fixture->pushes++;
	for (size_t i = 0; i < count; i++) {
		assert_true(fixture->count < NOTES_MAX);
		note_profile(&fixture->notes[fixture->count++], &profiles[i]);
	}
}

static inline void open_tick(struct fixture *fixture, const struct memory_tick_options *options)
{
	struct memory_tick_options all = *options;

	all.series = (struct series_batch_options){
		.service_suffix = "-gpu",
		.hostname = "box",
		.cluster = "default",
		.has_pid_label = true,
		.sink = { note_push, fixture },
	};
	all.peak_window_ns = WINDOW_NS;
	memory_tick_free(fixture->tick);
	fixture->tick = memory_tick_new(&all, fixture->processes, fixture->stacks);
}

static inline int set_up(void **state)
{
	struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	fixture->processes = gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = process_namer_of_proc("/nowhere"),
		.memory_bytes = 256 << 20,
	});
	fixture->stacks = stack_table_new(256 << 20);
	open_tick(fixture, &(struct memory_tick_options){ 0 });
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	memory_tick_free(fixture->tick);
	stack_table_free(fixture->stacks);
	gpu_process_table_free(fixture->processes);
	free(fixture);
	return 0;
}

/* A call, as the collector's loop books it; it says when that was. */
static inline void take_at(struct fixture *fixture, struct cuda_event event, uint32_t stack,
                           int64_t unix_ns)
{
	struct gpu_process *process = gpu_process_table_get(fixture->processes, &event);

	gpu_account_book(&process->account, &event, stack);
	memory_tick_see(fixture->tick, process, &event, stack, unix_ns);
}

static inline void take(struct fixture *fixture, struct cuda_event event, uint32_t stack)
{
	take_at(fixture, event, stack, 14999);
}

static inline void forget_notes(struct fixture *fixture)
{
	memset(fixture->notes, 0, sizeof(fixture->notes));
	fixture->count = fixture->pushes = 0;
}

static inline void publish_at(struct fixture *fixture, struct stack_profile_time time,
                              enum memory_tick_moment moment)
{
	forget_notes(fixture);
	memory_tick_publish(fixture->tick, time, moment);
}

static inline void publish(struct fixture *fixture)
{
	publish_at(fixture, (struct stack_profile_time){ 15000, 15 }, MEMORY_TICK_USUAL);
}

static inline const struct note *note_of(const struct fixture *fixture, const char *labels,
                                         const char *type)
{
	for (size_t i = 0; i < fixture->count; i++)
		if (strcmp(fixture->notes[i].labels, labels) == 0 &&
		    strcmp(fixture->notes[i].type, type) == 0)
			return &fixture->notes[i];
	return NULL;
}
