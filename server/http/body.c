#include "server/http/body.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY ((size_t)4 << 10) /* there may be thousands of streams; a guess */

void body_init(struct body *body, size_t limit, size_t announced, struct budget *budget)
{
	*body = (struct body){ .limit = limit, .announced = announced, .budget = budget };
}

void body_fini(struct body *body)
{
	if (body->capacity > 0)
		budget_give(body->budget, body->capacity);
	free(body->data);
	*body = (struct body){ 0 };
}

static bool grow(struct body *body, size_t needed)
{
	size_t capacity = body->capacity ? body->capacity : FIRST_CAPACITY;
	char *data;

	while (capacity < needed)
		capacity *= 2; /* needed is at most the limit, far from overflow */
	if (capacity > body->announced && needed <= body->announced)
		capacity = body->announced;
	if (!budget_take(body->budget, capacity - body->capacity)) {
		body->starved = true;
		return false;
	}
	data = realloc(body->data, capacity);
	if (!data) {
		budget_give(body->budget, capacity - body->capacity);
		body->starved = true;
		return false;
	}
	body->data = data;
	body->capacity = capacity;
	return true;
}

bool body_add(struct body *body, const void *data, size_t length)
{
	if (length > body->limit - body->length)
		return false;
	if (length > body->capacity - body->length && !grow(body, body->length + length))
		return false;
	if (length > 0)
		memcpy(body->data + body->length, data, length);
	body->length += length;
	return true;
}
