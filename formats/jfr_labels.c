#include "formats/jfr_labels.h"

enum {
	SNAPSHOT_CONTEXTS = 1,
	SNAPSHOT_STRINGS = 2,
	CONTEXT_LABELS = 1,
	ENTRY_KEY = 1,
	ENTRY_VALUE = 2,
};

/* An entry of a map; what is left out is 0 or empty. */
struct entry {
	uint64_t key;
	uint64_t number;
	struct str bytes;
};

static bool read_entry(struct str bytes, enum wire_type value_type, struct entry *out)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	*out = (struct entry){ .bytes = STR("") };
	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number == ENTRY_KEY) {
			if (field.type != WIRE_VARINT)
				return false;
			out->key = field.value;
		} else if (field.number == ENTRY_VALUE) {
			if (field.type != value_type)
				return false;
			if (value_type == WIRE_VARINT)
				out->number = field.value;
			else
				out->bytes = field.bytes;
		}
	}
	return more == 0;
}

bool jfr_labels_next(struct wire_reader *pairs, uint64_t *out_key, uint64_t *out_value)
{
	struct wire_field field;
	struct entry entry;

	while (wire_next(pairs, &field) > 0) {
		if (field.number != CONTEXT_LABELS || field.type != WIRE_BYTES ||
		    !read_entry(field.bytes, WIRE_VARINT, &entry))
			continue;
		*out_key = entry.key;
		*out_value = entry.number;
		return true;
	}
	return false;
}

/* Whether a context can be read: what jfr_labels_next() passes over is none. */
static bool is_context(struct str bytes)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	struct entry entry;
	int more;

	while ((more = wire_next(&reader, &field)) > 0)
		if (field.number == CONTEXT_LABELS &&
		    (field.type != WIRE_BYTES || !read_entry(field.bytes, WIRE_VARINT, &entry)))
			return false;
	return more == 0;
}

static int keep(struct jfr_label_map *map, const struct entry *entry, struct error *err)
{
	struct arena *arena = map->ids.arena;
	uint32_t *id = number_map_at(&map->ids, entry->key);

	if (!id)
		return arena_error(arena, err);
	if (*id == NUMBER_MAP_NONE) {
		*id = (uint32_t)map->ids.count - 1;
		if (!ARENA_GROW(arena, map->items, *id, map->capacity))
			return arena_error(arena, err);
	}
	map->items[*id] = entry->bytes;
	return 0;
}

static int read_field(struct jfr_labels *labels, const struct wire_field *field, struct error *err)
{
	struct entry entry;

	if (field->number != SNAPSHOT_CONTEXTS && field->number != SNAPSHOT_STRINGS)
		return 0;
	if (field->type != WIRE_BYTES || !read_entry(field->bytes, WIRE_BYTES, &entry))
		return error_set(err, ERROR_INVALID, "an entry is broken");
	if (field->number == SNAPSHOT_STRINGS)
		return keep(&labels->strings, &entry, err);
	if (!is_context(entry.bytes))
		return error_set(err, ERROR_INVALID, "context %lld is broken",
		                 (long long)entry.key);
	return keep(&labels->contexts, &entry, err);
}

int jfr_labels_read(struct str bytes, struct arena *arena, struct jfr_labels *out,
                    struct error *err)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	*out = (struct jfr_labels){ 0 };
	if (!number_map_init(&out->contexts.ids, arena, 0) ||
	    !number_map_init(&out->strings.ids, arena, 0))
		return arena_error(arena, err);
	while ((more = wire_next(&reader, &field)) > 0)
		if (read_field(out, &field, err) < 0)
			return -1;
	if (more < 0)
		return error_set(err, ERROR_INVALID, "malformed protobuf at byte %zu",
		                 (size_t)((const char *)reader.at - bytes.data));
	return 0;
}

uint32_t jfr_labels_string(const struct jfr_labels *labels, uint64_t number)
{
	return number_map_find(&labels->strings.ids, number);
}

struct wire_reader jfr_labels_context(const struct jfr_labels *labels, uint64_t number)
{
	const uint32_t id = number_map_find(&labels->contexts.ids, number);

	return wire_reader(id == NUMBER_MAP_NONE ? STR("") : labels->contexts.items[id]);
}
