/*
 * The series of one window in memory, and the groups of series that share rows.
 *
 * Shape    series by id and groups by id, both from 0, columns that only grow. A series
 *          is a list of values of the window's label index, where each text stands once;
 *          a label set is made of it when somebody wants one. A group is the list of
 *          series ids that the columns of its sample bodies belong to, in that order;
 *          places lead from a series to the groups that have it. Groups whose series
 *          have, in their order, equal values of service_name and __profile_type__ are a
 *          family: they share blocks.
 * Threads  one adds and publishes; any may read below the counts of a view. Texts are
 *          borrowed from the index.
 * Source   docs/formats/store.md, "Series", "Blocks"
 */
#pragma once

#include "base/arena.h"
#include "base/id_map.h"
#include "base/strbuf.h"
#include "profile/label_set.h"
#include "storage/label_index.h"

#define SERIES_LABELS_MAX 4096 /* labels of a series on disk; far more than any limit lets in */

struct series_entry {
	struct hash128 fingerprint; /* keyed with the store's key */
	const uint32_t *values;     /* of the label index, in the order of the names' texts */
	uint32_t value_count;
	_Atomic uint32_t newest_place; /* + 1; 0: no group has it */
};

/* A column of a group that belongs to a series. */
struct series_place {
	uint32_t group;
	uint32_t column;
	uint32_t previous; /* + 1: of the same series; 0: the first */
};

struct series_group {
	const uint32_t *series;
	uint32_t count;
	uint32_t family; /* the smallest id of a group of its family */
};

struct series_index {
	struct column series;
	struct column groups;
	struct column places;
	struct label_index labels;
	uint32_t series_count; /* of the thread that adds */
	uint32_t group_count;
	uint32_t place_count;
	_Atomic uint32_t published_series;
	_Atomic uint32_t published_groups;
	uint64_t key;
	struct arena *bytes;
	struct id_map families; /* of the thread that adds, as what follows */
	uint32_t *first_groups; /* by the families' ids there */
	size_t first_group_capacity;
};

struct series_index *series_index_new(uint64_t key) __attribute__((returns_nonnull));
void series_index_free(struct series_index *index);
DEFINE_FREEP(series_index)

/* Each copies what it is given and returns the id. */
uint32_t series_index_add(struct series_index *index, const struct label_set *labels,
                          struct hash128 fingerprint);
uint32_t series_index_add_group(struct series_index *index, const uint32_t *series, uint32_t count);

void series_index_publish(struct series_index *index);

/* Groups refer to series below the count of the same view. */
struct series_view {
	const struct series_index *index;
	struct series_entry *const *series;
	struct series_group *const *groups;
	uint32_t series_count;
	uint32_t group_count;
};
void series_index_view(const struct series_index *index, struct series_view *out);

static inline const struct series_entry *series_view_series(const struct series_view *view,
                                                            uint32_t id)
{
	return SYMBOLS_AT(view->series, id);
}

static inline const struct series_group *series_view_group(const struct series_view *view,
                                                           uint32_t id)
{
	return SYMBOLS_AT(view->groups, id);
}

/* The labels of a series, in `arena`; the texts are borrowed. */
int series_view_labels(const struct series_view *view, uint32_t id, struct arena *arena,
                       struct label_set *out, struct error *err);

/* The id of the series' value of a name of the label index; LABEL_NONE when it has none. */
uint32_t series_view_value_id(const struct series_view *view, uint32_t id, uint32_t name);

/* The text of the series' value of a name; empty when it has none. For the thread that adds. */
struct str series_index_value(const struct series_index *index, uint32_t id, struct str name);

/*
 * The chain of a series' places below the view's count of groups: begins with the newest,
 * NULL is its end.
 */
const struct series_place *series_view_newest(const struct series_view *view, uint32_t id);
const struct series_place *series_view_previous(const struct series_view *view,
                                                const struct series_place *place);

size_t series_index_bytes(const struct series_index *index);

/* ---- on disk ---- */

/* For the thread that adds. */
void series_index_encode(const struct series_index *index, uint32_t id, struct strbuf *out);

/*
 * Adds the series that the bytes describe. ERROR_CORRUPT for bytes that are no sorted
 * label set.
 */
int series_index_decode(struct series_index *index, struct str bytes, struct error *err);

void series_group_encode(const uint32_t *series, uint32_t count, struct strbuf *out);
int series_index_decode_group(struct series_index *index, struct str bytes, struct error *err);
