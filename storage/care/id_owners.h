/*
 * Who owns the rows of a table: each row is named once by rows of another one.
 *
 * Shape    ids are noted as they are met, in any order; then the table is compared with
 *          them.
 * Threads  none.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct id_owners {
	int64_t *ids;
	size_t count;
	size_t capacity;
};

void id_owners_note(struct id_owners *owners, int64_t id);
void id_owners_fini(struct id_owners *owners);

/* Sorted from then on. */
void id_owners_sort(struct id_owners *owners);
