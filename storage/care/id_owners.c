#include "storage/care/id_owners.h"

#include <stdlib.h>

#include "base/mem.h"

void id_owners_note(struct id_owners *owners, int64_t id)
{
	if (owners->count == owners->capacity) {
		owners->capacity = owners->capacity ? owners->capacity * 2 : 1024;
		owners->ids = mem_resize(owners->ids, owners->capacity, sizeof(*owners->ids));
	}
	owners->ids[owners->count++] = id;
}

void id_owners_fini(struct id_owners *owners)
{
	free(owners->ids);
	*owners = (struct id_owners){ 0 };
}

static int by_number(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left;
	const int64_t b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

void id_owners_sort(struct id_owners *owners)
{
	if (owners->count > 1)
		qsort(owners->ids, owners->count, sizeof(*owners->ids), by_number);
}
