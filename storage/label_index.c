#include "storage/label_index.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"

void label_index_init(struct label_index *index, uint64_t key, struct arena *bytes)
{
	*index = (struct label_index){ .key = key, .bytes = bytes };
	column_init(&index->names, sizeof(struct label_name));
	column_init(&index->values, sizeof(struct label_value));
}

void label_index_fini(struct label_index *index)
{
	column_fini(&index->names);
	column_fini(&index->values);
	hash_slots_fini(&index->by_name);
	hash_slots_fini(&index->by_value);
}

static uint32_t hash_of(const struct label_index *index, uint32_t name, struct str text)
{
	/* the same text under another name is another value */
	return (uint32_t)hash64(index->key + name, text.data, text.length);
}

/* ---- reading ---- */

uint32_t label_index_find_name(const struct label_index *index, struct str name)
{
	struct hash_probe probe =
		hash_slots_probe(&index->by_name, hash_of(index, LABEL_NONE, name));
	uint32_t id;

	while ((id = hash_probe_next(&probe)) != HASH_SLOTS_NONE)
		if (str_equal(label_index_name(index, id)->text, name))
			return id;
	return LABEL_NONE;
}

uint32_t label_index_find(const struct label_index *index, uint32_t name, struct str value)
{
	struct hash_probe probe = hash_slots_probe(&index->by_value, hash_of(index, name, value));
	uint32_t id;

	while ((id = hash_probe_next(&probe)) != HASH_SLOTS_NONE) {
		const struct label_value *found = label_index_value(index, id);

		if (found->name == name && str_equal(found->text, value))
			return id;
	}
	return LABEL_NONE;
}

/* ---- adding ---- */

static void *must(void *memory)
{
	if (!memory) {
		(void)fputs("vramscope: out of memory\n", stderr);
		abort();
	}
	return memory;
}

static struct str copy(struct label_index *index, struct str text)
{
	char *bytes;

	if (text.length == 0)
		return STR("");
	bytes = must(arena_alloc_raw(index->bytes, text.length));
	memcpy(bytes, text.data, text.length);
	return str_make(bytes, text.length);
}

static uint32_t name_of(struct label_index *index, struct str text)
{
	const uint32_t found = label_index_find_name(index, text);
	const uint32_t id = label_index_name_count(index);
	struct label_name *name;

	if (found != LABEL_NONE)
		return found;
	name = column_add(&index->names, id);
	name->text = copy(index, text);
	atomic_store_explicit(&index->name_count, id + 1, memory_order_release);
	hash_slots_add(&index->by_name, hash_of(index, LABEL_NONE, text), id);
	return id;
}

uint32_t label_index_add(struct label_index *index, struct str name, struct str value)
{
	const uint32_t name_id = name_of(index, name);
	const uint32_t found = label_index_find(index, name_id, value);
	const uint32_t id = atomic_load_explicit(&index->value_count, memory_order_relaxed);
	struct label_name *owner = COLUMN_AT(&index->names, struct label_name, name_id);
	struct label_value *added;

	if (found != LABEL_NONE)
		return found;
	added = column_add(&index->values, id);
	added->text = copy(index, value);
	added->name = name_id;
	added->previous = atomic_load_explicit(&owner->newest, memory_order_relaxed);
	hash_slots_add(&index->by_value, hash_of(index, name_id, value), id);
	/* who finds it in its chain sees it whole */
	atomic_store_explicit(&owner->newest, id + 1, memory_order_release);
	atomic_fetch_add_explicit(&owner->value_count, 1, memory_order_relaxed);
	atomic_store_explicit(&index->value_count, id + 1, memory_order_release);
	return id;
}

void label_index_add_series(struct label_index *index, uint32_t value, uint32_t series)
{
	if (!postings_add(&COLUMN_AT(&index->values, struct label_value, value)->series, series,
	                  index->bytes))
		(void)must(NULL);
}

size_t label_index_bytes(const struct label_index *index)
{
	return column_bytes(&index->names, label_index_name_count(index)) +
	       column_bytes(&index->values, label_index_value_count(index)) +
	       hash_slots_bytes(&index->by_name) + hash_slots_bytes(&index->by_value);
}

void label_index_check(const struct label_index *index)
{
	uint32_t values = 0;

	for (uint32_t name = 0; name < label_index_name_count(index); name++) {
		const struct label_name *owner = label_index_name(index, name);
		uint32_t chained = 0;

		assert(label_index_find_name(index, owner->text) == name);
		for (uint32_t id = label_name_newest(owner); id != LABEL_NONE;
		     id = label_value_previous(label_index_value(index, id))) {
			const struct label_value *value = label_index_value(index, id);

			assert(value->name == name);
			assert(label_index_find(index, name, value->text) == id);
			postings_check(&value->series);
			chained++;
		}
		assert(chained == label_name_value_count(owner));
		values += chained;
	}
	assert(values == label_index_value_count(index));
}
