#include "collector/nvml/nvml_holders.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

#define ENTRY_SIZE_MAX 32  /* of all that drivers write */
#define FIRST_COUNT    128 /* processes that are asked for */
#define ASKS_MAX       4   /* processes come while we ask */
#define BYTES_OFFSET   8   /* of an entry's bytes, behind its pid */
#define UNTOUCHED      0xa5

/* What one call wrote. */
struct raw_list {
	uint8_t *entries; /* room for `room` of the largest */
	size_t room;
	unsigned int count;
};

static void raw_list_fini(struct raw_list *list)
{
	free(list->entries);
}

static int ask(nvml_list call, struct nvml_device *device, size_t room, struct raw_list *list)
{
	list->entries = mem_resize(list->entries, room, ENTRY_SIZE_MAX);
	memset(list->entries, UNTOUCHED, room * ENTRY_SIZE_MAX);
	list->room = room;
	list->count = (unsigned int)room;
	return call(device, &list->count, list->entries);
}

/* The whole list; a result that is no success else. */
static int ask_all(nvml_list call, struct nvml_device *device, struct raw_list *list)
{
	size_t room = FIRST_COUNT;
	int result = NVML_INSUFFICIENT_SIZE;

	for (int i = 0; i < ASKS_MAX && result == NVML_INSUFFICIENT_SIZE; i++) {
		result = ask(call, device, room, list);
		if (result != NVML_INSUFFICIENT_SIZE)
			break;
		room = list->count > room ? (size_t)list->count + list->count / 4 : 2 * room;
		if (room > PICTURE_HOLDERS_MAX)
			room = PICTURE_HOLDERS_MAX;
	}
	/* a count beyond what there was room for is none */
	return result == NVML_OK && list->count > list->room ? NVML_INSUFFICIENT_SIZE : result;
}

/*
 * The size of the entries that were written: the smallest that reaches as far. Padding may
 * be untouched, the last field of an entry is not.
 */
static size_t entry_size(const struct raw_list *list)
{
	static const size_t sizes[] = { 16, 24, 32 };
	size_t end = list->room * ENTRY_SIZE_MAX;

	while (end > 0 && list->entries[end - 1] == UNTOUCHED)
		end--;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++)
		if (end <= list->count * sizes[i])
			return sizes[i];
	return 0; /* it wrote more than it says */
}

static struct device_holder *find(struct device_picture *out, size_t first, uint32_t tgid)
{
	for (size_t i = first; i < out->holder_count; i++)
		if (out->holders[i].tgid == tgid)
			return &out->holders[i];
	return NULL;
}

/* False: there is no room. */
static bool add(struct device_picture *out, size_t first, const struct device_holder *holder)
{
	struct device_holder *known = find(out, first, holder->tgid);

	if (!known) {
		if (out->holder_count == PICTURE_HOLDERS_MAX)
			return false;
		out->holders[out->holder_count++] = *holder;
		return true;
	}
	if (holder->has_bytes && (!known->has_bytes || holder->bytes > known->bytes))
		*known = *holder;
	return true;
}

static bool add_list(const struct raw_list *list, size_t size, size_t first,
                     const struct device_holder *like, uint64_t most_bytes,
                     struct device_picture *out)
{
	for (size_t i = 0; i < list->count; i++) {
		const uint8_t *entry = list->entries + i * size;
		struct device_holder holder = *like;

		memcpy(&holder.tgid, entry, sizeof(holder.tgid));
		memcpy(&holder.bytes, entry + BYTES_OFFSET, sizeof(holder.bytes));
		holder.has_bytes = holder.bytes != NVML_NO_VALUE && holder.bytes <= most_bytes;
		if (holder.tgid != 0 && !add(out, first, &holder))
			return false;
	}
	return true;
}

/* Whether that list was read, or is one that this device need not have. */
static bool read_list(const struct nvml_calls *calls, enum nvml_list_kind kind,
                      struct nvml_device *device, size_t first, const struct device_holder *like,
                      uint64_t most_bytes, struct device_picture *out)
{
	CLEANUP(raw_list_fini) struct raw_list list = { 0 };
	size_t size;

	if (!calls->lists[kind] || ask_all(calls->lists[kind], device, &list) != NVML_OK)
		return kind != NVML_LIST_COMPUTE;
	if (list.count == 0)
		return true;
	size = entry_size(&list);
	return size > 0 && add_list(&list, size, first, like, most_bytes, out);
}

bool nvml_holders_read(const struct nvml_calls *calls, struct nvml_device *device, uint32_t number,
                       uint64_t most_bytes, struct device_picture *out)
{
	const struct device_holder like = { .device = number };
	const size_t first = out->holder_count;

	for (int i = 0; i < NVML_LIST_COUNT; i++) {
		if (read_list(calls, (enum nvml_list_kind)i, device, first, &like, most_bytes, out))
			continue;
		out->holder_count = first;
		return false;
	}
	return true;
}
