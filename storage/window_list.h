/*
 * The windows of all tenants in their order: tenants by the name of their folder, windows by
 * day and number.
 *
 * Shape    whoever lists a window goes on owning it.
 * Threads  none: the caller's lock guards a list and the windows' `listed`.
 */
#pragma once

#include "storage/window.h"

/* A place in a tenant's windows. */
struct window_place {
	int32_t day;
	uint32_t number;
};

struct tenant_windows {
	struct window **windows;
	size_t count;
	size_t capacity;
	char folder[TENANT_FOLDER_SIZE];
};

struct window_list {
	struct tenant_windows **tenants;
	size_t tenant_count;
	size_t tenant_capacity;
	size_t window_count; /* of all tenants */
};

/* Frees the list alone. Fine on a zeroed one. */
void window_list_fini(struct window_list *list);

/* NULL when no window of the tenant was ever listed. */
struct tenant_windows *window_list_find(const struct window_list *list, const char *folder);

/* The tenant that comes behind that name; NULL at the end. */
struct tenant_windows *window_list_next(const struct window_list *list, const char *folder);

/* The tenant, made when there is none. */
struct tenant_windows *window_list_tenant(struct window_list *list, const char *folder);

/* The index of the first window that is not before the place; `count` when there is none. */
size_t window_list_index(const struct tenant_windows *tenant, struct window_place place);

/* The window of exactly that place, or NULL. */
struct window *window_list_get(const struct tenant_windows *tenant, struct window_place place);

/* Its place is free. */
void window_list_insert(struct window_list *list, struct tenant_windows *tenant,
                        struct window *window);

void window_list_remove(struct window_list *list, struct tenant_windows *tenant,
                        struct window *window);
