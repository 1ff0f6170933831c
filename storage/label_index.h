/*
 * The labels of one window: each name and each of its values once, and which series have
 * a value.
 *
 * Shape    names by id and values by id, both from 0, columns that only grow. A value
 *          belongs to one name; the values of a name are a chain from the newest to the
 *          first. A series is a list of values, at most one a name.
 * Units    some 60 bytes a value, and 4 to 5 a label of a series.
 * Threads  one adds; any may look up and read at the same time. They may find names and
 *          values of series that are not published yet: whose postings hold no series
 *          below the count of the reader's view.
 * Source   docs/architecture.md, "The store"
 */
#pragma once

#include "base/arena.h"
#include "base/str.h"
#include "profile/column.h"
#include "storage/hash_slots.h"
#include "storage/postings.h"

#define LABEL_NONE UINT32_MAX

struct label_name {
	struct str text;
	_Atomic uint32_t newest;      /* + 1: of its values; 0: none yet */
	_Atomic uint32_t value_count; /* relaxed: a figure */
};

struct label_value {
	struct str text;
	uint32_t name;
	uint32_t previous; /* + 1: of its name; 0: the first */
	struct postings series;
};

struct label_index {
	struct column names;
	struct column values;
	_Atomic uint32_t name_count;
	_Atomic uint32_t value_count;
	struct hash_slots by_name;
	struct hash_slots by_value;
	uint64_t key;
	struct arena *bytes; /* the owner's: texts and postings */
};

void label_index_init(struct label_index *index, uint64_t key, struct arena *bytes);
void label_index_fini(struct label_index *index);

/* ---- adding ---- */

/* The id of a value, which is added when it is not there; the texts are copied. */
uint32_t label_index_add(struct label_index *index, struct str name, struct str value);

/* Series come in the order of their ids. */
void label_index_add_series(struct label_index *index, uint32_t value, uint32_t series);

/* ---- reading ---- */

static inline const struct label_name *label_index_name(const struct label_index *index,
                                                        uint32_t id)
{
	return SYMBOLS_AT((struct label_name *const *)column_chunks(&index->names), id);
}

static inline const struct label_value *label_index_value(const struct label_index *index,
                                                          uint32_t id)
{
	return SYMBOLS_AT((struct label_value *const *)column_chunks(&index->values), id);
}

/* LABEL_NONE when there is none. */
uint32_t label_index_find_name(const struct label_index *index, struct str name);
uint32_t label_index_find(const struct label_index *index, uint32_t name, struct str value);

/* Values that are there, of all names; every id that a reader finds later may be above. */
static inline uint32_t label_index_value_count(const struct label_index *index)
{
	return atomic_load_explicit(&index->value_count, memory_order_acquire);
}

static inline uint32_t label_index_name_count(const struct label_index *index)
{
	return atomic_load_explicit(&index->name_count, memory_order_acquire);
}

/* Values of one name. */
static inline uint32_t label_name_value_count(const struct label_name *name)
{
	return atomic_load_explicit(&name->value_count, memory_order_relaxed);
}

/*
 * The chain of a name's values: begins with the newest, ends with LABEL_NONE.
 *
 *	for (uint32_t id = label_name_newest(name); id != LABEL_NONE;
 *	     id = label_value_previous(label_index_value(index, id)))
 */
static inline uint32_t label_name_newest(const struct label_name *name)
{
	return atomic_load_explicit(&name->newest, memory_order_acquire) - 1;
}

static inline uint32_t label_value_previous(const struct label_value *value)
{
	return value->previous - 1;
}

/* Memory without the arena's; for the thread that adds, or when nobody does. */
size_t label_index_bytes(const struct label_index *index);

/* Asserts that chains, look-ups and postings agree; nobody adds. */
void label_index_check(const struct label_index *index);
