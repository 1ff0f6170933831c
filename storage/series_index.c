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
	index->key = key;
	index->bytes = arena_new(SIZE_MAX, NULL);
	return index;
}

void series_index_free(struct series_index *index)
{
	if (!index)
		return;
	column_fini(&index->series);
	column_fini(&index->groups);
	arena_free(index->bytes);
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
	struct series_entry *entry = column_add(&index->series, index->series_count);

	if (!label_set_copy(labels, index->bytes, &entry->labels))
		(void)must(NULL);
	entry->fingerprint = fingerprint;
	return index->series_count++;
}

uint32_t series_index_add_group(struct series_index *index, const uint32_t *series, uint32_t count)
{
	struct series_group *group = column_add(&index->groups, index->group_count);
	uint32_t *copy = must(arena_array_raw(index->bytes, count, sizeof(*copy)));

	memcpy(copy, series, count * sizeof(*copy));
	*group = (struct series_group){ copy, count };
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
	out->series = column_chunks(&index->series);
	out->groups = column_chunks(&index->groups);
}

size_t series_index_bytes(const struct series_index *index)
{
	return sizeof(*index) + arena_used(index->bytes) +
	       column_bytes(&index->series, index->series_count) +
	       column_bytes(&index->groups, index->group_count);
}

/* ---- on disk ---- */

static void put_text(struct str text, struct strbuf *out)
{
	wire_put_varint(out, text.length);
	strbuf_add_str(out, text);
}

void series_labels_encode(const struct label_set *labels, struct strbuf *out)
{
	wire_put_varint(out, labels->count);
	for (size_t i = 0; i < labels->count; i++) {
		put_text(labels->labels[i].name, out);
		put_text(labels->labels[i].value, out);
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
