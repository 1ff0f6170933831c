/*
 * The record: start, duration and an id as numbers, the strings, and a tree of elements.
 * An element is the number of its name, pairs of numbers for its attributes, and its
 * children. What matters is
 *
 *	root > metadata > class (name, id) > field (name, class, constantPool, dimension)
 */
#include "formats/jfr_metadata.h"

#define ATTRIBUTE_BYTES 2 /* a pair takes at least as many */
#define ELEMENT_BYTES   3

struct parser {
	struct jfr_reader reader;
	struct arena *arena;
	struct str *strings;
	size_t string_count;
	struct jfr_metadata *metadata;
	size_t class_capacity;
	size_t field_capacity;
	bool in_class; /* fields belong to the last class */
};

/* What the attributes of one element say; empty where they say nothing. */
struct attributes {
	struct str name;
	struct str id;
	struct str class;
	struct str constant_pool;
	struct str dimension;
};

static int cut(struct error *err)
{
	return error_set(err, ERROR_INVALID, "JFR: the description of the types is cut or broken");
}

static int too_many(const char *what, size_t limit, struct error *err)
{
	return error_set(err, ERROR_TOO_LARGE, "JFR: more than %zu %s are described", limit, what);
}

static int read_strings(struct parser *parser, struct error *err)
{
	uint64_t count;

	if (!jfr_read_count(&parser->reader, 1, &count))
		return cut(err);
	if (count > JFR_STRINGS_MAX)
		return too_many("strings", JFR_STRINGS_MAX, err);
	parser->strings = arena_array_raw(parser->arena, count, sizeof(*parser->strings));
	if (!parser->strings)
		return arena_error(parser->arena, err);
	for (size_t i = 0; i < count; i++) {
		struct jfr_text text;

		if (!jfr_read_text(&parser->reader, &text))
			return cut(err);
		if (!jfr_text_decode(&text, parser->arena, &parser->strings[i]))
			return arena_error(parser->arena, err);
	}
	parser->string_count = count;
	return 0;
}

static bool read_string(struct parser *parser, struct str *out)
{
	uint64_t index;

	if (!jfr_read_int(&parser->reader, &index) || index >= parser->string_count)
		return false;
	*out = parser->strings[index];
	return true;
}

static bool read_attributes(struct parser *parser, struct attributes *out)
{
	const struct {
		struct str key;
		struct str *value;
	} known[] = {
		{ STR("name"), &out->name },           { STR("id"), &out->id },
		{ STR("class"), &out->class },         { STR("constantPool"), &out->constant_pool },
		{ STR("dimension"), &out->dimension },
	};
	uint64_t count;
	struct str key;
	struct str value;

	*out = (struct attributes){ 0 };
	if (!jfr_read_count(&parser->reader, ATTRIBUTE_BYTES, &count))
		return false;
	for (; count > 0; count--) {
		if (!read_string(parser, &key) || !read_string(parser, &value))
			return false;
		for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
			if (str_equal(key, known[i].key))
				*known[i].value = value;
	}
	return true;
}

static int read_id(struct str text, const char *what, uint32_t *out, struct error *err)
{
	uint64_t id;

	if (!str_to_u64(text, PROFILE_NONE - 1, &id))
		return error_set(err, ERROR_INVALID, "JFR: %s has the id \"%.*s\"", what,
		                 STR_ARGS(str_first(text, 32)));
	*out = (uint32_t)id;
	return 0;
}

static int add_class(struct parser *parser, const struct attributes *attributes, struct error *err)
{
	struct jfr_metadata *metadata = parser->metadata;
	struct jfr_class class = {
		.name = attributes->name,
		.first_field = (uint32_t)metadata->field_count,
	};

	if (metadata->class_count == JFR_CLASSES_MAX)
		return too_many("classes", JFR_CLASSES_MAX, err);
	if (read_id(attributes->id, "a class", &class.id, err) < 0)
		return -1;
	if (!ARENA_GROW(parser->arena, metadata->classes, metadata->class_count,
	                parser->class_capacity))
		return arena_error(parser->arena, err);
	metadata->classes[metadata->class_count++] = class;
	parser->in_class = true;
	return 0;
}

static int add_field(struct parser *parser, const struct attributes *attributes, struct error *err)
{
	struct jfr_metadata *metadata = parser->metadata;
	struct jfr_field field = {
		.name = attributes->name,
		.class = PROFILE_NONE,
		.is_pooled = str_equals(attributes->constant_pool, "true"),
		.is_array = attributes->dimension.length > 0 &&
		            !str_equals(attributes->dimension, "0"),
	};

	if (!parser->in_class)
		return error_set(err, ERROR_INVALID, "JFR: a field belongs to no class");
	if (metadata->field_count == JFR_FIELDS_MAX)
		return too_many("fields", JFR_FIELDS_MAX, err);
	if (read_id(attributes->class, "a field's class", &field.class_id, err) < 0)
		return -1;
	if (!ARENA_GROW(parser->arena, metadata->fields, metadata->field_count,
	                parser->field_capacity))
		return arena_error(parser->arena, err);
	metadata->fields[metadata->field_count++] = field;
	metadata->classes[metadata->class_count - 1].field_count++;
	return 0;
}

/* Reads an element without its children, whose count is what it leaves. */
static int read_element(struct parser *parser, uint64_t *out_children, struct error *err)
{
	struct attributes attributes;
	struct str element;
	int status = 0;

	if (!read_string(parser, &element) || !read_attributes(parser, &attributes))
		return cut(err);
	if (str_equals(element, "class"))
		status = add_class(parser, &attributes, err);
	else if (str_equals(element, "field"))
		status = add_field(parser, &attributes, err);
	if (status == 0 && !jfr_read_count(&parser->reader, ELEMENT_BYTES, out_children))
		return cut(err);
	return status;
}

static int read_elements(struct parser *parser, struct error *err)
{
	uint64_t left[JFR_ELEMENT_DEPTH_MAX] = { 1 }; /* children to come, by depth */
	size_t depth = 1;

	while (depth > 0) {
		if (left[depth - 1] == 0) {
			depth--;
			continue;
		}
		left[depth - 1]--;
		if (depth == JFR_ELEMENT_DEPTH_MAX)
			return error_set(err, ERROR_TOO_LARGE,
			                 "JFR: types are described more than %d elements deep",
			                 JFR_ELEMENT_DEPTH_MAX);
		if (read_element(parser, &left[depth], err) < 0)
			return -1;
		depth++;
	}
	return 0;
}

/* Puts indices of classes in the place of their ids. */
static int resolve(struct parser *parser, struct error *err)
{
	struct jfr_metadata *metadata = parser->metadata;
	uint32_t *ids = arena_array_raw(parser->arena, metadata->class_count, sizeof(*ids));

	if (!ids)
		return arena_error(parser->arena, err);
	for (size_t i = 0; i < metadata->class_count; i++)
		ids[i] = metadata->classes[i].id;
	if (!id_index_init(&metadata->by_id, ids, metadata->class_count, parser->arena))
		return arena_error(parser->arena, err);
	for (size_t i = 0; i < metadata->field_count; i++)
		metadata->fields[i].class =
			jfr_metadata_find(metadata, metadata->fields[i].class_id);
	return 0;
}

int jfr_metadata_read(const struct jfr_chunk *chunk, struct arena *arena, struct jfr_metadata *out,
                      struct error *err)
{
	struct parser parser = { .arena = arena, .metadata = out };

	*out = (struct jfr_metadata){ 0 };
	if (jfr_chunk_record(chunk, chunk->metadata_at, JFR_RECORD_METADATA, &parser.reader, err) <
	    0)
		return -1;
	if (!jfr_skip_longs(&parser.reader, 3))
		return cut(err);
	if (read_strings(&parser, err) < 0 || read_elements(&parser, err) < 0)
		return -1;
	return resolve(&parser, err);
}
