#include "collector/unwind/mapping_list.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void fini_mapping(struct mapping *mapping)
{
	module_unref(mapping->module);
	free(mapping->path);
}

void mapping_list_fini(struct mapping_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		fini_mapping(&list->items[i]);
	free(list->items);
	*list = (struct mapping_list){ 0 };
}

size_t mapping_list_place(const struct mapping_list *list, uint64_t address)
{
	size_t low = 0;
	size_t high = list->count;

	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (list->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void reserve(struct mapping_list *list, size_t count)
{
	if (count <= list->capacity)
		return;
	list->capacity = count + count / 2 + 32;
	list->items = mem_resize(list->items, list->capacity, sizeof(*list->items));
}

void mapping_list_append(struct mapping_list *list, const struct mapping *mapping)
{
	reserve(list, list->count + 1);
	list->items[list->count++] = *mapping;
	list->path_bytes += strlen(mapping->path);
	list->modules += mapping->module != NULL;
}

/* Appends what of `whole` lies in [start, end). */
static void append_part(struct mapping_list *list, const struct mapping *whole, uint64_t start,
                        uint64_t end)
{
	struct mapping part = *whole;

	part.start = start;
	part.end = end;
	part.offset = whole->offset + (start - whole->start);
	part.path = mem_strdup(whole->path);
	if (part.module)
		(void)module_ref(part.module);
	mapping_list_append(list, &part);
}

/* Takes those from `first` to before `end` out of the list; they are not released. */
static void forget(struct mapping_list *list, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		list->path_bytes -= strlen(list->items[i].path);
		list->modules -= list->items[i].module != NULL;
	}
}

void mapping_list_insert(struct mapping_list *list, const struct mapping *mapping)
{
	const size_t first = mapping_list_place(list, mapping->start);
	struct mapping_list fresh = { 0 }; /* what comes in place of those from first to end */
	size_t end = first;

	if (first < list->count && list->items[first].start < mapping->start)
		append_part(&fresh, &list->items[first], list->items[first].start, mapping->start);
	mapping_list_append(&fresh, mapping);
	for (; end < list->count && list->items[end].start < mapping->end; end++)
		if (list->items[end].end > mapping->end)
			append_part(&fresh, &list->items[end], mapping->end, list->items[end].end);
	forget(list, first, end);
	for (size_t i = first; i < end; i++)
		fini_mapping(&list->items[i]);
	reserve(list, list->count + fresh.count);
	memmove(list->items + first + fresh.count, list->items + end,
	        (list->count - end) * sizeof(*list->items));
	memcpy(list->items + first, fresh.items, fresh.count * sizeof(*list->items));
	list->count += fresh.count - (end - first);
	list->path_bytes += fresh.path_bytes;
	list->modules += fresh.modules;
	free(fresh.items);
}

void mapping_list_check(const struct mapping_list *list)
{
	size_t path_bytes = 0;
	size_t modules = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct mapping *mapping = &list->items[i];

		assert(mapping->start < mapping->end && mapping->path);
		assert(i == 0 || list->items[i - 1].end <= mapping->start);
		path_bytes += strlen(mapping->path);
		modules += mapping->module != NULL;
	}
	assert(list->path_bytes == path_bytes && list->modules == modules);
}
