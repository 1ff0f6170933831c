#include "formats/otlp_attribute.h"

#include <stdio.h>

#include "base/hash.h"
#include "formats/otlp_wire.h"

/* Field numbers. */
enum {
	VALUE_STRING = 1,
	VALUE_BOOL = 2,
	VALUE_INT = 3,
	VALUE_DOUBLE = 4,
	VALUE_LIST = 5,
	VALUE_MAP = 6,
	VALUE_BYTES = 7,
	VALUE_STRING_INDEX = 8,
	LIST_VALUES = 1,
	ATTRIBUTE_KEY = 1, /* in the table: a string's index, and a string before 1.8 */
	ATTRIBUTE_VALUE = 2,
	ATTRIBUTE_KEY_INDEX = 3, /* of resources and scopes; in the table it is the unit */
};

struct reader {
	const struct otlp_dictionary *dictionary;
	struct arena *arena;
};

/* ---- values ---- */

static int put_decimal(const struct reader *reader, uint64_t number, struct str *out,
                       struct error *err)
{
	*out = arena_printf(reader->arena, "%lld", (long long)number);
	return out->data ? 0 : arena_error(reader->arena, err);
}

/* The text of a plain value: of a string or an integer. Others leave it empty. */
static int read_plain(const struct reader *reader, const struct wire_field *field, struct str *out,
                      struct error *err)
{
	*out = STR("");
	switch (field->number) {
	case VALUE_STRING:
		if (field->type != WIRE_BYTES)
			return otlp_malformed(err, "AnyValue");
		*out = field->bytes;
		return 0;
	case VALUE_INT:
		if (field->type != WIRE_VARINT)
			return otlp_malformed(err, "AnyValue");
		return put_decimal(reader, field->value, out, err);
	case VALUE_STRING_INDEX:
		if (field->type != WIRE_VARINT)
			return otlp_malformed(err, "AnyValue");
		if (field->value == 0)
			return 0;
		return otlp_dictionary_string(reader->dictionary, field->value, out, err);
	default:
		return 0;
	}
}

/* The last of a value's kinds: of alternatives the later one counts. */
static int last_kind(struct str value, struct wire_field *out)
{
	struct wire_reader reader = wire_reader(value);
	struct wire_field field;
	int more;

	out->number = 0;
	while ((more = wire_next(&reader, &field)) > 0)
		if (field.number >= VALUE_STRING && field.number <= VALUE_STRING_INDEX)
			*out = field;
	return more;
}

/* The one element of a list; false in *out_one when there are none or more. */
static int only_element(struct str list, struct wire_field *out, bool *out_one)
{
	struct wire_reader reader = wire_reader(list);
	struct wire_field field;
	size_t count = 0;
	int more;

	while (count < 2 && (more = wire_next(&reader, &field)) > 0) {
		if (field.number != LIST_VALUES)
			continue;
		*out = field;
		count++;
	}
	*out_one = count == 1;
	return count < 2 && more < 0 ? -1 : 0;
}

static int read_list(const struct reader *reader, const struct wire_field *list, struct str *out,
                     struct error *err)
{
	struct wire_field element;
	struct wire_field kind;
	bool is_one = false;

	*out = STR("");
	if (list->type != WIRE_BYTES || only_element(list->bytes, &element, &is_one) < 0)
		return otlp_malformed(err, "ArrayValue");
	if (!is_one)
		return 0;
	if (element.type != WIRE_BYTES || last_kind(element.bytes, &kind) < 0)
		return otlp_malformed(err, "AnyValue");
	return read_plain(reader, &kind, out, err);
}

static int read_value(const struct reader *reader, struct str value, struct str *out,
                      struct error *err)
{
	struct wire_field kind;

	if (last_kind(value, &kind) < 0)
		return otlp_malformed(err, "AnyValue");
	if (kind.number == VALUE_LIST)
		return read_list(reader, &kind, out, err);
	return read_plain(reader, &kind, out, err);
}

/* ---- attributes ---- */

/* Where keys stand as indices of strings. */
enum key_index_field {
	KEY_INDEX_OF_TABLE = ATTRIBUTE_KEY,
	KEY_INDEX_OF_RESOURCE = ATTRIBUTE_KEY_INDEX,
};

/* An attribute whose value is not read yet. */
struct attribute {
	struct str key;
	struct str value;
};

static int read_attribute(const struct otlp_dictionary *dictionary, struct str message,
                          enum key_index_field key_index, struct attribute *out, struct error *err)
{
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	int more;

	*out = (struct attribute){ STR(""), STR("") };
	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number == ATTRIBUTE_KEY && field.type == WIRE_BYTES) {
			out->key = field.bytes;
		} else if (field.number == (uint32_t)key_index && field.type == WIRE_VARINT) {
			if (field.value != 0 &&
			    otlp_dictionary_string(dictionary, field.value, &out->key, err) < 0)
				return -1;
		} else if (field.number == ATTRIBUTE_VALUE && field.type == WIRE_BYTES) {
			out->value = field.bytes;
		} else if (field.number <= ATTRIBUTE_VALUE) {
			return otlp_malformed(err, "KeyValue");
		}
	}
	return more < 0 ? otlp_malformed(err, "KeyValue") : 0;
}

int otlp_attribute_key(const struct otlp_dictionary *dictionary, struct str entry, struct str *out,
                       struct error *err)
{
	struct attribute attribute;

	if (read_attribute(dictionary, entry, KEY_INDEX_OF_TABLE, &attribute, err) < 0)
		return -1;
	*out = attribute.key;
	return 0;
}

int otlp_attribute_read(const struct otlp_dictionary *dictionary, struct str entry,
                        struct arena *arena, struct label *out, struct error *err)
{
	const struct reader reader = { dictionary, arena };
	struct attribute attribute;

	if (read_attribute(dictionary, entry, KEY_INDEX_OF_TABLE, &attribute, err) < 0 ||
	    read_value(&reader, attribute.value, &out->value, err) < 0)
		return -1;
	out->name = attribute.key;
	return 0;
}

/* ---- of resources and scopes ---- */

static uint64_t hash_key(const struct otlp_attributes *attributes, struct str key)
{
	return hash64(attributes->secret, key.data, key.length);
}

static struct str find(const struct otlp_attributes *attributes, uint64_t hash, struct str key)
{
	for (size_t i = 0; i < attributes->count; i++)
		if (attributes->hashes[i] == hash && str_equal(attributes->labels[i].name, key))
			return attributes->labels[i].value;
	return STR("");
}

struct str otlp_attributes_find(const struct otlp_attributes *attributes, struct str key)
{
	return find(attributes, hash_key(attributes, key), key);
}

static int add(struct otlp_attributes *attributes, struct arena *arena, struct label label,
               struct error *err)
{
	const uint64_t hash = hash_key(attributes, label.name);

	if (label.value.length == 0 || find(attributes, hash, label.name).length > 0)
		return 0;
	if (attributes->count == OTLP_ATTRIBUTES_MAX)
		return error_set(err, ERROR_INVALID,
		                 "a resource and its scope have more than %d attributes",
		                 OTLP_ATTRIBUTES_MAX);
	if (!ARENA_GROW(arena, attributes->labels, attributes->count, attributes->capacity))
		return arena_error(arena, err);
	attributes->hashes[attributes->count] = hash;
	attributes->labels[attributes->count++] = label;
	return 0;
}

int otlp_attributes_add(const struct otlp_dictionary *dictionary, struct str message,
                        uint32_t number, struct arena *arena, struct otlp_attributes *attributes,
                        struct error *err)
{
	const struct reader values = { dictionary, arena };
	struct wire_reader reader = wire_reader(message);
	struct wire_field field;
	int more;

	while ((more = wire_next(&reader, &field)) > 0) {
		struct attribute attribute;
		struct label label;

		if (field.number != number)
			continue;
		if (field.type != WIRE_BYTES)
			return otlp_malformed(err, "Resource");
		if (read_attribute(dictionary, field.bytes, KEY_INDEX_OF_RESOURCE, &attribute,
		                   err) < 0 ||
		    read_value(&values, attribute.value, &label.value, err) < 0)
			return -1;
		label.name = attribute.key;
		if (add(attributes, arena, label, err) < 0)
			return -1;
	}
	return more < 0 ? otlp_malformed(err, "Resource") : 0;
}
