#include "server/push/push_items.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

struct push_item *push_item_new(struct str request)
{
	struct push_item *item = mem_zalloc(1, sizeof(*item) + request.length);

	item->time_unix_ns = clock_unix_ns();
	item->length = request.length;
	if (request.length > 0)
		memcpy(item->bytes, request.data, request.length);
	return item;
}

void push_items_init(struct push_items *items)
{
	*items = (struct push_items){ .newest = &items->oldest };
}

void push_items_fini(struct push_items *items)
{
	while (items->oldest)
		free(push_items_take(items));
}

void push_items_add(struct push_items *items, struct push_item *item)
{
	item->next = NULL;
	*items->newest = item;
	items->newest = &item->next;
	items->count++;
	items->bytes += item->length;
}

struct push_item *push_items_take(struct push_items *items)
{
	struct push_item *item = items->oldest;

	items->oldest = item->next;
	if (!items->oldest)
		items->newest = &items->oldest;
	items->count--;
	items->bytes -= item->length;
	return item;
}

void push_items_put_back(struct push_items *items, struct push_item *item)
{
	item->next = items->oldest;
	if (!items->oldest)
		items->newest = &item->next;
	items->oldest = item;
	items->count++;
	items->bytes += item->length;
}
