#include "storage/series_index.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/wire.h"
#include "storage/byte_cursor.h"

struct series_index *series_index_new(uint64_t key)
{
	struct series_index *index = mem_zalloc(1, sizeof(*index));

	column_init(&index->series, sizeof(struct series_entry));
	column_init(&index->groups, sizeof(struct series_group));
	column_init(&index->places, sizeof(struct series_place));
	index->key = key;
	index->bytes = arena_new(SIZE_MAX, NULL);
	label_index_init(&index->labels, key, index->bytes);
	return index;
}

void series_index_free(struct series_index *index)
{
	if (!index)
		return;
	column_fini(&index->series);
	column_fini(&index->groups);
	column_fini(&index->places);
	label_index_fini(&index->labels);
	arena_free(index->bytes);
	id_map_fini(&index->families);
	free(index->first_groups);
	free(index);
}

static void *must(void *memory)
{
	if (!memory) {
		(void)fputs("vramscope: out of memory\n", stderr);
		abort();
	}
	return memory;
}

uint32_t series_index_add(struct series_index *index, const struct label_set *labels,
                          struct hash128 fingerprint)
{
	const uint32_t id = index->series_count;
	struct series_entry *entry = column_add(&index->series, id);
	uint32_t *values = must(arena_array_raw(index->bytes, labels->count, sizeof(*values)));

	for (size_t i = 0; i < labels->count; i++) {
		const struct label *label = &labels->labels[i];

		values[i] = label_index_add(&index->labels, label->name, label->value);
		label_index_add_series(&index->labels, values[i], id);
	}
	entry->fingerprint = fingerprint;
	entry->values = values;
	entry->value_count = (uint32_t)labels->count;
	return index->series_count++;
}

/* From each series of the group to it. */
static void add_places(struct series_index *index, uint32_t group, const uint32_t *series,
                       uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct series_entry *entry =
			COLUMN_AT(&index->series, struct series_entry, series[i]);
		struct series_place *place = column_add(&index->places, index->place_count);

		place->group = group;
		place->column = i;
		place->previous = atomic_load_explicit(&entry->newest_place, memory_order_relaxed);
		/* who finds it in its chain sees it whole */
		atomic_store_explicit(&entry->newest_place, ++index->place_count,
		                      memory_order_release);
	}
}

/* ---- families ---- */

/* Of what the groups of a family have in common. */
static struct hash128 family_hash(const struct series_index *index, const uint32_t *series,
                                  uint32_t count)
{
	CLEANUP(mem_freep)
	struct hash128 *parts = mem_zalloc(2 * (size_t)count + 1, sizeof(*parts));

	for (uint32_t i = 0; i < count; i++) {
		parts[2 * i] = hash128_str(index->key, series_index_value(index, series[i],
		                                                          STR("service_name")));
		parts[2 * i + 1] = hash128_str(
			index->key, series_index_value(index, series[i], STR("__profile_type__")));
	}
	return hash128(index->key, parts, 2 * (size_t)count * sizeof(*parts));
}

/* The family of the group that is added next. */
static uint32_t family_of(struct series_index *index, const uint32_t *series, uint32_t count)
{
	bool is_new;
	const uint32_t id =
		id_map_add(&index->families, family_hash(index, series, count), &is_new);

	if (!is_new)
		return index->first_groups[id];
	if (id == index->first_group_capacity) {
		index->first_group_capacity = id ? 2 * (size_t)id : 8;
		index->first_groups = mem_resize(index->first_groups, index->first_group_capacity,
		                                 sizeof(*index->first_groups));
	}
	index->first_groups[id] = index->group_count;
	return index->group_count;
}

uint32_t series_index_add_group(struct series_index *index, const uint32_t *series, uint32_t count)
{
	struct series_group *group = column_add(&index->groups, index->group_count);
	uint32_t *copy = must(arena_array_raw(index->bytes, count, sizeof(*copy)));

	memcpy(copy, series, count * sizeof(*copy));
	*group = (struct series_group){ copy, count, family_of(index, series, count) };
	add_places(index, index->group_count, copy, count);
	return index->group_count++;
}

void series_index_publish(struct series_index *index)
{
	atomic_store_explicit(&index->published_series, index->series_count, memory_order_release);
	atomic_store_explicit(&index->published_groups, index->group_count, memory_order_release);
}

void series_index_view(const struct series_index *index, struct series_view *out)
{
	/* groups first: what they refer to was published before them */
	out->group_count = atomic_load_explicit(&index->published_groups, memory_order_acquire);
	out->series_count = atomic_load_explicit(&index->published_series, memory_order_acquire);
	out->index = index;
	out->series = column_chunks(&index->series);
	out->groups = column_chunks(&index->groups);
}

/* ---- labels ---- */

int series_view_labels(const struct series_view *view, uint32_t id, struct arena *arena,
                       struct label_set *out, struct error *err)
{
	const struct label_index *index = &view->index->labels;
	const struct series_entry *entry = series_view_series(view, id);
	struct label *labels = arena_array_raw(arena, entry->value_count, sizeof(*labels));

	if (!labels)
		return arena_error(arena, err);
	for (uint32_t i = 0; i < entry->value_count; i++) {
		const struct label_value *value = label_index_value(index, entry->values[i]);

		labels[i] =
			(struct label){ label_index_name(index, value->name)->text, value->text };
	}
	*out = (struct label_set){ labels, entry->value_count };
	return 0;
}

static uint32_t value_of(const struct label_index *index, const struct series_entry *entry,
                         uint32_t name)
{
	for (uint32_t i = 0; i < entry->value_count; i++)
		if (label_index_value(index, entry->values[i])->name == name)
			return entry->values[i];
	return LABEL_NONE;
}

uint32_t series_view_value_id(const struct series_view *view, uint32_t id, uint32_t name)
{
	return value_of(&view->index->labels, series_view_series(view, id), name);
}

struct str series_index_value(const struct series_index *index, uint32_t id, struct str name)
{
	const struct label_index *labels = &index->labels;
	const uint32_t value = value_of(labels, COLUMN_AT(&index->series, struct series_entry, id),
	                                label_index_find_name(labels, name));

	return value == LABEL_NONE ? STR("") : label_index_value(labels, value)->text;
}

/* ---- places ---- */

/* The first of a chain from `next` (+ 1) on whose group is of the view. */
static const struct series_place *place_at(const struct series_view *view, uint32_t next)
{
	struct series_place *const *places = column_chunks(&view->index->places);

	while (next != 0) {
		const struct series_place *place = SYMBOLS_AT(places, next - 1);

		if (place->group < view->group_count)
			return place;
		next = place->previous;
	}
	return NULL;
}

const struct series_place *series_view_newest(const struct series_view *view, uint32_t id)
{
	const struct series_entry *entry = series_view_series(view, id);

	return place_at(view, atomic_load_explicit(&entry->newest_place, memory_order_acquire));
}

const struct series_place *series_view_previous(const struct series_view *view,
                                                const struct series_place *place)
{
	return place_at(view, place->previous);
}

size_t series_index_bytes(const struct series_index *index)
{
	return sizeof(*index) + arena_used(index->bytes) + id_map_bytes(&index->families) +
	       index->first_group_capacity * sizeof(*index->first_groups) +
	       column_bytes(&index->series, index->series_count) +
	       column_bytes(&index->groups, index->group_count) +
	       column_bytes(&index->places, index->place_count) + label_index_bytes(&index->labels);
}

/* ---- on disk ---- */

static void put_text(struct str text, struct strbuf *out)
{
	wire_put_varint(out, text.length);
	strbuf_add_str(out, text);
}

void series_index_encode(const struct series_index *index, uint32_t id, struct strbuf *out)
{
	const struct series_entry *entry = COLUMN_AT(&index->series, struct series_entry, id);

	wire_put_varint(out, entry->value_count);
	for (uint32_t i = 0; i < entry->value_count; i++) {
		const struct label_value *value =
			label_index_value(&index->labels, entry->values[i]);

		put_text(label_index_name(&index->labels, value->name)->text, out);
		put_text(value->text, out);
	}
}

int series_index_decode(struct series_index *index, struct str bytes, struct error *err)
{
	struct byte_cursor cursor = byte_cursor(bytes);
	const uint64_t count = byte_cursor_number(&cursor);
	CLEANUP(mem_freep) struct label *labels = NULL;
	struct label_set set;

	/* a label takes two bytes of lengths at least */
	if (count > SERIES_LABELS_MAX || count > byte_cursor_left(&cursor) / 2)
		return error_set(err, ERROR_CORRUPT, "series of %zu bytes is damaged",
		                 bytes.length);
	labels = mem_zalloc(count ? count : 1, sizeof(*labels));
	for (uint64_t i = 0; i < count; i++) {
		labels[i].name = byte_cursor_text(&cursor);
		labels[i].value = byte_cursor_text(&cursor);
		if (i > 0 && str_compare(labels[i - 1].name, labels[i].name) >= 0)
			cursor.failed = true;
	}
	if (!byte_cursor_done(&cursor))
		return error_set(err, ERROR_CORRUPT, "series of %zu bytes is damaged",
		                 bytes.length);
	set = (struct label_set){ labels, count };
	(void)series_index_add(index, &set, label_set_fingerprint(&set, index->key));
	return 0;
}

void series_group_encode(const uint32_t *series, uint32_t count, struct strbuf *out)
{
	for (uint32_t i = 0; i < count; i++)
		wire_put_varint(out, series[i]);
}

int series_index_decode_group(struct series_index *index, struct str bytes, struct error *err)
{
	struct byte_cursor cursor = byte_cursor(bytes);
	CLEANUP(mem_freep) uint32_t *series = mem_zalloc(bytes.length + 1, sizeof(*series));
	uint32_t count = 0;

	while (cursor.at < cursor.end) {
		const uint64_t id = byte_cursor_number(&cursor);

		if (id >= index->series_count) /* a failed read gives 0: asked below */
			cursor.failed = true;
		series[count++] = (uint32_t)id;
	}
	if (!byte_cursor_done(&cursor))
		return error_set(err, ERROR_CORRUPT, "group of %zu bytes is damaged", bytes.length);
	(void)series_index_add_group(index, series, count);
	return 0;
}
