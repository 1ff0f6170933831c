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

void mapping_list_append(struct mapping_list *list, const struct mapping *mapping)
{
	if (list->count == list->capacity) {
		list->capacity = list->capacity ? 2 * list->capacity : 32;
		list->items = mem_resize(list->items, list->capacity, sizeof(*list->items));
	}
	list->items[list->count++] = *mapping;
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

void mapping_list_insert(struct mapping_list *list, const struct mapping *mapping)
{
	struct mapping_list fresh = { 0 };
	size_t i = 0;

	for (; i < list->count && list->items[i].end <= mapping->start; i++)
		mapping_list_append(&fresh, &list->items[i]);
	if (i < list->count && list->items[i].start < mapping->start)
		append_part(&fresh, &list->items[i], list->items[i].start, mapping->start);
	mapping_list_append(&fresh, mapping);
	for (; i < list->count && list->items[i].start < mapping->end; i++) {
		struct mapping *old = &list->items[i];

		if (old->end > mapping->end)
			append_part(&fresh, old, mapping->end, old->end);
		fini_mapping(old);
	}
	for (; i < list->count; i++)
		mapping_list_append(&fresh, &list->items[i]);
	free(list->items);
	*list = fresh;
}

size_t mapping_list_path_bytes(const struct mapping_list *list)
{
	size_t bytes = 0;

	for (size_t i = 0; i < list->count; i++)
		bytes += strlen(list->items[i].path);
	return bytes;
}

void mapping_list_check(const struct mapping_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct mapping *mapping = &list->items[i];

		assert(mapping->start < mapping->end && mapping->path);
		assert(i == 0 || list->items[i - 1].end <= mapping->start);
	}
}
