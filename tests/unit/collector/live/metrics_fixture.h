/*
 * Metrics of processes that were booked, as their text.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/mem.h"
#include "collector/live/gpu_metrics.h"
#include "tests/unit/collector/live/live_fixture.h"

struct fixture {
	struct gpu_process_table *processes;
	struct stack_table *stacks;
	struct device_books *devices; /* NULL: nobody is asked */
	struct gpu_metrics *metrics;
	struct strbuf text;
};

/* Takes the books, which may be NULL. */
static inline int open_metrics(void **state, struct device_books *devices)
{
	struct fixture *fixture = mem_zalloc(1, sizeof(*fixture));

	fixture->processes = gpu_process_table_new(&(struct gpu_process_table_options){
		.namer = process_namer_of_proc("/nowhere"),
		.memory_bytes = 16 << 20,
	});
	fixture->stacks = stack_table_new(1 << 20);
	fixture->devices = devices;
	fixture->metrics = gpu_metrics_new(
		&(struct gpu_metrics_options){ .cluster = "default", .devices = devices });
	strbuf_init(&fixture->text, 1 << 20);
	*state = fixture;
	return 0;
}

static inline int tear_down(void **state)
{
	struct fixture *fixture = *state;

	gpu_metrics_free(fixture->metrics);
	device_books_free(fixture->devices);
	stack_table_free(fixture->stacks);
	gpu_process_table_free(fixture->processes);
	strbuf_fini(&fixture->text);
	free(fixture);
	return 0;
}

static inline const char *format_with(struct fixture *fixture,
                                      const struct collector_health *health)
{
	strbuf_reset(&fixture->text);
	gpu_metrics_format(fixture->metrics, fixture->processes, fixture->stacks, health,
	                   &fixture->text);
	assert_false(strbuf_overflowed(&fixture->text));
	return fixture->text.data;
}
