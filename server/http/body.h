/*
 * The body of a request while it arrives.
 *
 * Shape    grows by doubling, never past what was announced: a liar who announces much
 *          and sends little costs what he sends. Its bytes count in a budget.
 * Errors   false: over the limit, or the budget is used up (body->starved tells).
 * Threads  none: the event thread's until it is complete.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/budget.h"
#include "base/str.h"

struct body {
	char *data;
	size_t length;
	size_t capacity;
	size_t limit;     /* bytes that it may have */
	size_t announced; /* Content-Length, or 0 */
	struct budget *budget;
	bool starved;
};

void body_init(struct body *body, size_t limit, size_t announced, struct budget *budget);
void body_fini(struct body *body);
bool body_add(struct body *body, const void *data, size_t length);

static inline struct str body_view(const struct body *body)
{
	return (struct str){ body->data, body->length };
}
