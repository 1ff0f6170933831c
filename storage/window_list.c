#include "storage/window_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_CAPACITY 16

void window_list_fini(struct window_list *list)
{
	for (size_t i = 0; i < list->tenant_count; i++) {
		free((void *)list->tenants[i]->windows);
		free(list->tenants[i]);
	}
	free((void *)list->tenants);
	*list = (struct window_list){ 0 };
}

/* ---- tenants ---- */

/* The place of a tenant, whether it is there or not. */
static size_t tenant_index(const struct window_list *list, const char *folder)
{
	size_t low = 0;
	size_t high = list->tenant_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (strcmp(list->tenants[middle]->folder, folder) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct tenant_windows *window_list_find(const struct window_list *list, const char *folder)
{
	const size_t index = tenant_index(list, folder);

	if (index == list->tenant_count || strcmp(list->tenants[index]->folder, folder) != 0)
		return NULL;
	return list->tenants[index];
}

struct tenant_windows *window_list_next(const struct window_list *list, const char *folder)
{
	const size_t index = tenant_index(list, folder);
	const bool is_there = index < list->tenant_count &&
	                      strcmp(list->tenants[index]->folder, folder) == 0;

	return index + is_there < list->tenant_count ? list->tenants[index + is_there] : NULL;
}

struct tenant_windows *window_list_tenant(struct window_list *list, const char *folder)
{
	const size_t index = tenant_index(list, folder);
	struct tenant_windows *tenant = window_list_find(list, folder);

	if (tenant)
		return tenant;
	if (list->tenant_count == list->tenant_capacity) {
		list->tenant_capacity = list->tenant_capacity ? list->tenant_capacity * 2
		                                              : FIRST_CAPACITY;
		list->tenants = mem_resize((void *)list->tenants, list->tenant_capacity,
		                           sizeof(*list->tenants));
	}
	tenant = mem_zalloc(1, sizeof(*tenant));
	(void)snprintf(tenant->folder, sizeof(tenant->folder), "%s", folder);
	memmove((void *)(list->tenants + index + 1), (const void *)(list->tenants + index),
	        (list->tenant_count - index) * sizeof(*list->tenants));
	list->tenants[index] = tenant;
	list->tenant_count++;
	return tenant;
}

/* ---- windows ---- */

static struct window_place place_of(const struct window *window)
{
	return (struct window_place){ window->day, window->number };
}

static bool is_before(struct window_place a, struct window_place b)
{
	return a.day < b.day || (a.day == b.day && a.number < b.number);
}

size_t window_list_index(const struct tenant_windows *tenant, struct window_place place)
{
	size_t low = 0;
	size_t high = tenant->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (is_before(place_of(tenant->windows[middle]), place))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct window *window_list_get(const struct tenant_windows *tenant, struct window_place place)
{
	const size_t index = window_list_index(tenant, place);

	if (index == tenant->count || is_before(place, place_of(tenant->windows[index])))
		return NULL;
	return tenant->windows[index];
}

void window_list_insert(struct window_list *list, struct tenant_windows *tenant,
                        struct window *window)
{
	const size_t index = window_list_index(tenant, place_of(window));

	if (tenant->count == tenant->capacity) {
		tenant->capacity = tenant->capacity ? tenant->capacity * 2 : FIRST_CAPACITY;
		tenant->windows = mem_resize((void *)tenant->windows, tenant->capacity,
		                             sizeof(*tenant->windows));
	}
	memmove((void *)(tenant->windows + index + 1), (const void *)(tenant->windows + index),
	        (tenant->count - index) * sizeof(*tenant->windows));
	tenant->windows[index] = window;
	tenant->count++;
	list->window_count++;
	window->listed = true;
}

void window_list_remove(struct window_list *list, struct tenant_windows *tenant,
                        struct window *window)
{
	const size_t index = window_list_index(tenant, place_of(window));

	memmove((void *)(tenant->windows + index), (const void *)(tenant->windows + index + 1),
	        (tenant->count - index - 1) * sizeof(*tenant->windows));
	tenant->count--;
	list->window_count--;
	window->listed = false;
}
