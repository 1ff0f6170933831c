#include "formats/otlp_json.h"

#include "base/base64.h"
#include "base/json.h"
#include "base/uuid.h"
#include "base/wire.h"
#include "formats/otlp_json_fields.h"

/*
 * Bytes of the message for a byte of text: the most is "0," as the eight of a fixed64. And
 * some for what an empty text would need.
 */
#define GROWTH 4

#define ID_MAX 16 /* bytes; a trace id */

struct writer {
	const struct otlp_layout *layout;
	struct arena *arena;
	struct strbuf *out;
	struct error *err;
};

/* A message that is being written. */
struct message {
	struct writer *writer;
	const struct otlp_json_field *fields;
};

static int write_members(struct writer *writer, const struct otlp_json_field *fields,
                         const struct json *value);

static int wrong_kind(const struct writer *writer, const struct otlp_json_field *field)
{
	return error_set(writer->err, ERROR_INVALID, "invalid value for field %s", field->name);
}

/* ---- values ---- */

/* A number that may be written as a text, as protobuf does with 64 bits. */
static bool read_number(const struct json *value, uint64_t *out)
{
	int64_t number;
	double real;

	switch (json_kind(value)) {
	case JSON_INT:
		*out = (uint64_t)json_int(value);
		return true;
	case JSON_REAL_NUMBER:
		real = json_number(value);
		if (!(real >= 0 && real < 0x1p64) || real != (double)(uint64_t)real)
			return false;
		*out = (uint64_t)real;
		return true;
	case JSON_TEXT:
		if (str_to_u64(json_text(value), UINT64_MAX, out))
			return true;
		if (!str_to_i64(json_text(value), &number))
			return false;
		*out = (uint64_t)number;
		return true;
	default:
		return false;
	}
}

static int write_id(struct writer *writer, const struct otlp_json_field *field, uint32_t number,
                    const struct json *value)
{
	const struct str text = json_text(value);
	uint8_t bytes[ID_MAX];
	struct str id = str_make(bytes, text.length / 2);

	if (json_kind(value) != JSON_TEXT)
		return wrong_kind(writer, field);
	if (((text.length != 2 * sizeof(uint64_t) && text.length != 2 * ID_MAX) ||
	     !hex_decode(text, bytes, text.length / 2)) &&
	    base64_decode(text, writer->arena, &id, writer->err) < 0)
		return wrong_kind(writer, field);
	wire_put_bytes(writer->out, number, id);
	return 0;
}

static int write_value(struct writer *writer, const struct otlp_json_field *field, uint32_t number,
                       const struct json *value)
{
	uint64_t parsed;
	size_t begun;
	int result;

	switch (field->kind) {
	case OTLP_JSON_NUMBER:
	case OTLP_JSON_FIXED64:
		if (!read_number(value, &parsed))
			return wrong_kind(writer, field);
		if (field->kind == OTLP_JSON_NUMBER)
			wire_put_uint(writer->out, number, parsed);
		else
			wire_put_fixed64(writer->out, number, parsed);
		return 0;
	case OTLP_JSON_TEXT:
		if (json_kind(value) != JSON_TEXT)
			return wrong_kind(writer, field);
		wire_put_bytes(writer->out, number, json_text(value));
		return 0;
	case OTLP_JSON_ID:
		return write_id(writer, field, number, value);
	default:
		if (json_kind(value) != JSON_MAP)
			return wrong_kind(writer, field);
		begun = wire_begin(writer->out, number);
		result = write_members(writer, field->message, value);
		wire_end(writer->out, begun);
		return result;
	}
}

/* Numbers of a list lie behind one key. */
static int write_numbers(struct writer *writer, const struct otlp_json_field *field,
                         uint32_t number, const struct json *list)
{
	const size_t begun = wire_begin(writer->out, number);

	for (size_t i = 0; i < json_length(list); i++) {
		uint64_t parsed;

		if (!read_number(json_at(list, i), &parsed))
			return wrong_kind(writer, field);
		if (field->kind == OTLP_JSON_NUMBER)
			wire_put_varint(writer->out, parsed);
		else
			strbuf_add(writer->out, &parsed, sizeof(parsed));
	}
	wire_end(writer->out, begun);
	return 0;
}

/* ---- members ---- */

static const struct otlp_json_field *find_field(const struct message *message, struct str key,
                                                uint32_t *out_number)
{
	for (const struct otlp_json_field *field = message->fields; field->name; field++) {
		if (!otlp_json_name_is(key, field->name))
			continue;
		*out_number = otlp_json_number(field, message->writer->layout);
		if (*out_number > 0)
			return field;
	}
	return NULL;
}

static int write_member(void *context, struct str key, const struct json *value)
{
	const struct message *message = context;
	struct writer *writer = message->writer;
	uint32_t number = 0;
	const struct otlp_json_field *field = find_field(message, key, &number);

	if (!field || json_kind(value) == JSON_NULL_VALUE)
		return 0;
	if (json_kind(value) != JSON_LIST)
		return write_value(writer, field, number, value);
	if (field->kind == OTLP_JSON_NUMBER || field->kind == OTLP_JSON_FIXED64)
		return write_numbers(writer, field, number, value);
	for (size_t i = 0; i < json_length(value); i++)
		if (write_value(writer, field, number, json_at(value, i)) < 0)
			return -1;
	return 0;
}

static int write_members(struct writer *writer, const struct otlp_json_field *fields,
                         const struct json *value)
{
	struct message message = { writer, fields };

	return json_each(value, write_member, &message);
}

/* ---- the layout ---- */

static const struct json *member(const struct json *map, const char *name, const char *proto_name)
{
	const struct json *value = json_get(map, name);

	return value ? value : json_get(map, proto_name);
}

/* The first profile of the request that has samples, or NULL. */
static const struct json *find_profile(const struct json *request)
{
	const struct json *resources = member(request, "resourceProfiles", "resource_profiles");

	for (size_t i = 0; i < json_length(resources); i++) {
		const struct json *scopes =
			member(json_at(resources, i), "scopeProfiles", "scope_profiles");

		for (size_t j = 0; j < json_length(scopes); j++) {
			const struct json *profiles = json_get(json_at(scopes, j), "profiles");

			for (size_t k = 0; k < json_length(profiles); k++)
				if (member(json_at(profiles, k), "samples", "sample"))
					return json_at(profiles, k);
		}
	}
	return NULL;
}

/* Names do not tell 1.9 from 1.10, nor need they: the message is made as the newer one. */
static enum otlp_revision find_revision(const struct json *request)
{
	const struct json *dictionary = json_get(request, "dictionary");
	const struct json *profile = find_profile(request);

	if (!dictionary && member(profile, "stringTable", "string_table"))
		return OTLP_1_5;
	if (member(profile, "locationIndices", "location_indices") &&
	    !member(dictionary, "stackTable", "stack_table"))
		return OTLP_1_7;
	return OTLP_1_10;
}

int otlp_json_read(struct str text, struct arena *arena, struct str *out_message,
                   const struct otlp_layout **out_layout, struct error *err)
{
	CLEANUP(strbuf_fini) struct strbuf message;
	struct writer writer = { .arena = arena, .out = &message, .err = err };
	const struct json *request;

	strbuf_init(&message, (text.length + 1) * GROWTH);
	if (json_parse(text, arena, &request, err) < 0)
		return -1;
	if (json_kind(request) != JSON_MAP)
		return error_set(err, ERROR_INVALID, "a JSON object is expected");
	writer.layout = otlp_layout_of(find_revision(request));
	if (write_members(&writer, otlp_json_request, request) < 0)
		return -1;
	if (strbuf_overflowed(&message))
		return error_set(err, ERROR_TOO_LARGE, "the message is larger than %zu bytes",
		                 message.limit);
	*out_message = arena_copy(arena, strbuf_view(&message));
	if (!out_message->data)
		return arena_error(arena, err);
	*out_layout = writer.layout;
	return 0;
}
