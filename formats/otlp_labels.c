#include "formats/otlp_labels.h"

#include "base/uuid.h"
#include "formats/otlp_attribute.h"
#include "formats/otlp_wire.h"

#define SPAN_ID_SIZE  8 /* bytes; others are no span */
#define TRACE_ID_SIZE 16

#define LABEL_BYTES 6 /* of pprof, about */

void otlp_labels_begin(struct otlp_labels *labels, struct otlp_symbols *symbols, size_t max_labels)
{
	*labels = (struct otlp_labels){ .symbols = symbols, .max_labels = max_labels };
}

/* Gives the open sample a label; one without a value is none. */
static int put_label(struct otlp_labels *labels, struct profile_label label, struct error *err)
{
	struct otlp_symbols *symbols = labels->symbols;
	struct profile *profile = symbols->profile;

	if (label.value == 0)
		return 0;
	labels->count++;
	if (labels->max_labels > 0 && labels->count > labels->max_labels)
		return 0;
	if (!ARENA_GROW(symbols->arena, profile->labels, profile->label_count,
	                labels->label_capacity))
		return arena_error(symbols->arena, err);
	profile->labels[profile->label_count++] = label;
	symbols->encoded_bytes += LABEL_BYTES;
	return 0;
}

/* ---- attributes ---- */

static int read_attribute(struct otlp_labels *labels, uint64_t index, struct profile_label *out,
                          struct error *err)
{
	struct otlp_symbols *symbols = labels->symbols;
	struct label attribute;
	struct str entry;

	*out = (struct profile_label){ 0, 0 };
	if (otlp_dictionary_entry(symbols->dictionary, OTLP_ATTRIBUTES, index, &entry, err) < 0 ||
	    otlp_attribute_read(symbols->dictionary, entry, symbols->arena, &attribute, err) < 0)
		return -1;
	if (attribute.value.length == 0 || str_equals(attribute.name, OTLP_SERVICE_NAME))
		return 0;
	return otlp_symbols_text(symbols, attribute.name, &out->key, err) < 0
	               ? -1
	               : otlp_symbols_text(symbols, attribute.value, &out->value, err);
}

static int find_attribute(struct otlp_labels *labels, uint64_t index, struct profile_label *out,
                          struct error *err)
{
	struct otlp_symbols *symbols = labels->symbols;
	struct otlp_places *places = &symbols->places[OTLP_ATTRIBUTES];
	uint32_t place;

	if (index < symbols->dictionary->tables[OTLP_ATTRIBUTES].count &&
	    otlp_place_find(places, index, &place)) {
		*out = labels->attributes[place];
		return 0;
	}
	if (read_attribute(labels, index, out, err) < 0)
		return -1;
	if (!ARENA_GROW(symbols->arena, labels->attributes, labels->attribute_count,
	                labels->attribute_capacity))
		return arena_error(symbols->arena, err);
	otlp_place_set(places, index, (uint32_t)labels->attribute_count);
	labels->attributes[labels->attribute_count++] = *out;
	return 0;
}

int otlp_labels_add_attributes(struct otlp_labels *labels, const struct wire_field *indices,
                               struct error *err)
{
	uint8_t room[VARINT_MAX];
	struct otlp_numbers numbers = otlp_numbers(indices, room);

	while (numbers.at < numbers.end) {
		struct profile_label label;
		uint64_t index;

		if (!varint_read(&numbers.at, numbers.end, &index))
			return otlp_malformed(err, "Sample");
		if (find_attribute(labels, index, &label, err) < 0 ||
		    put_label(labels, label, err) < 0)
			return -1;
	}
	return 0;
}

/* ---- links ---- */

/* The ids of a link: views, empty when they are not of the right size. */
struct link {
	struct str trace_id;
	struct str span_id;
};

static int read_link(struct str bytes, struct link *out, struct error *err)
{
	struct wire_reader reader = wire_reader(bytes);
	struct wire_field field;
	int more;

	*out = (struct link){ STR(""), STR("") };
	while ((more = wire_next(&reader, &field)) > 0) {
		if (field.number > 2)
			continue;
		if (field.type != WIRE_BYTES)
			return otlp_malformed(err, "Link");
		*(field.number == 1 ? &out->trace_id : &out->span_id) = field.bytes;
	}
	if (out->trace_id.length != TRACE_ID_SIZE)
		out->trace_id = STR("");
	if (out->span_id.length != SPAN_ID_SIZE)
		out->span_id = STR("");
	return more < 0 ? otlp_malformed(err, "Link") : 0;
}

/* A label of an id; *key is the string of its name, made when it is first needed. */
static int make_id_label(struct otlp_labels *labels, struct str id, struct str name, uint32_t *key,
                         struct profile_label *out, struct error *err)
{
	struct otlp_symbols *symbols = labels->symbols;
	char *text;

	*out = (struct profile_label){ 0, 0 };
	if (id.length == 0)
		return 0;
	text = arena_alloc_raw(symbols->arena, 2 * id.length + 1);
	if (!text)
		return arena_error(symbols->arena, err);
	hex_encode((const uint8_t *)id.data, id.length, text);
	if (*key == 0 && otlp_symbols_text(symbols, name, key, err) < 0)
		return -1;
	out->key = *key;
	return otlp_symbols_text(symbols, str_make(text, 2 * id.length), &out->value, err);
}

static int make_link(struct otlp_labels *labels, uint64_t index, uint32_t *out_place,
                     struct error *err)
{
	struct otlp_symbols *symbols = labels->symbols;
	struct link link;
	struct str entry;
	struct profile_label *pair;

	if (otlp_dictionary_entry(symbols->dictionary, OTLP_LINKS, index, &entry, err) < 0 ||
	    read_link(entry, &link, err) < 0)
		return -1;
	if (!ARENA_RESERVE(symbols->arena, labels->links, labels->link_count, 2,
	                   labels->link_capacity))
		return arena_error(symbols->arena, err);
	pair = &labels->links[labels->link_count];
	if (make_id_label(labels, link.span_id, STR("span_id"), &labels->span_key, &pair[0], err) <
	            0 ||
	    make_id_label(labels, link.trace_id, STR("trace_id"), &labels->trace_key, &pair[1],
	                  err) < 0)
		return -1;
	*out_place = (uint32_t)labels->link_count;
	labels->link_count += 2;
	otlp_place_set(&symbols->places[OTLP_LINKS], index, *out_place);
	return 0;
}

int otlp_labels_add_link(struct otlp_labels *labels, uint64_t index, struct error *err)
{
	const struct otlp_symbols *symbols = labels->symbols;
	uint32_t place = 0;

	if ((index >= symbols->dictionary->tables[OTLP_LINKS].count ||
	     !otlp_place_find(&symbols->places[OTLP_LINKS], index, &place)) &&
	    make_link(labels, index, &place, err) < 0)
		return -1;
	return put_label(labels, labels->links[place], err) < 0
	               ? -1
	               : put_label(labels, labels->links[place + 1], err);
}
