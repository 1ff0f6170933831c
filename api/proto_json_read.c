/*
 * JSON to messages: the reading half of proto_json.h.
 *
 * Recursion goes as deep as the schema, in which no message contains itself.
 */
#include <assert.h>
#include <math.h>

#include "api/json_number.h"
#include "api/proto_bytes.h"
#include "api/proto_json.h"
#include "api/proto_json_fields.h"
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"

/* One object on its way into one message. */
struct reading {
	const ProtobufCMessageDescriptor *descriptor;
	char *message;
	uint64_t seen; /* a bit for each field, by its place in the descriptor */
	struct arena *arena;
	struct error *err;
};

static int read_message(const struct json *map, const ProtobufCMessageDescriptor *descriptor,
                        struct arena *arena, ProtobufCMessage **out, struct error *err);

static int bad_value(const ProtobufCFieldDescriptor *field, struct error *err)
{
	return error_set(err, ERROR_INVALID, "invalid value for field %s", field->name);
}

/* A whole number between the bounds, from a number or a text. */
static int read_integer(const ProtobufCFieldDescriptor *field, const struct json *value,
                        int64_t least, int64_t most, int64_t *out, struct error *err)
{
	bool fits = false;

	switch (json_kind(value)) {
	case JSON_INT:
		*out = json_int(value);
		fits = true;
		break;
	case JSON_REAL_NUMBER:
		fits = json_number_from_real(json_number(value), out);
		break;
	case JSON_TEXT:
		fits = json_number_to_i64(json_text(value), out);
		break;
	default:
		break;
	}
	return fits && *out >= least && *out <= most ? 0 : bad_value(field, err);
}

static int read_uint64(const ProtobufCFieldDescriptor *field, const struct json *value,
                       uint64_t *out, struct error *err)
{
	int64_t number = 0;

	/* Nothing that is asked for needs the upper half. */
	if (read_integer(field, value, 0, INT64_MAX, &number, err) < 0)
		return -1;
	*out = (uint64_t)number;
	return 0;
}

static int read_double(const ProtobufCFieldDescriptor *field, const struct json *value, double *out,
                       struct error *err)
{
	switch (json_kind(value)) {
	case JSON_INT:
	case JSON_REAL_NUMBER:
		*out = json_number(value);
		return 0;
	case JSON_TEXT:
		return json_number_to_double(json_text(value), out) ? 0 : bad_value(field, err);
	default:
		return bad_value(field, err);
	}
}

/* 1: set, 0: an unknown name, which counts as an unknown field. */
static int read_enum(const ProtobufCFieldDescriptor *field, const struct json *value, int *out,
                     struct error *err)
{
	int64_t number = 0;

	if (json_kind(value) == JSON_TEXT) {
		const ProtobufCEnumDescriptor *names = field->descriptor;

		for (unsigned i = 0; i < names->n_values; i++)
			if (str_equals(json_text(value), names->values[i].name)) {
				*out = names->values[i].value;
				return 1;
			}
		return 0;
	}
	if (read_integer(field, value, INT32_MIN, INT32_MAX, &number, err) < 0)
		return -1;
	*out = (int)number;
	return 1;
}

static int read_bytes(const struct reading *reading, const ProtobufCFieldDescriptor *field,
                      const struct json *value, ProtobufCBinaryData *out)
{
	struct str text;

	if (json_kind(value) != JSON_TEXT)
		return bad_value(field, reading->err);
	text = json_text(value);
	if (proto_json_is_base64(reading->descriptor, field) &&
	    base64_decode(text, reading->arena, &text, reading->err) < 0)
		return -1;
	*out = proto_bytes(text);
	return 0;
}

/* 1: *member is set, 0: nothing to set, -1: an error. */
static int read_value(const struct reading *reading, const ProtobufCFieldDescriptor *field,
                      const struct json *value, void *member)
{
	struct error *err = reading->err;
	int64_t number = 0;
	int status = 0;

	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
		status = read_integer(field, value, INT64_MIN, INT64_MAX, member, err);
		break;
	case PROTOBUF_C_TYPE_UINT64:
		status = read_uint64(field, value, member, err);
		break;
	case PROTOBUF_C_TYPE_INT32:
		status = read_integer(field, value, INT32_MIN, INT32_MAX, &number, err);
		*(int32_t *)member = (int32_t)number;
		break;
	case PROTOBUF_C_TYPE_UINT32:
		status = read_integer(field, value, 0, UINT32_MAX, &number, err);
		*(uint32_t *)member = (uint32_t)number;
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		status = read_double(field, value, member, err);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		if (json_kind(value) != JSON_BOOL)
			return bad_value(field, err);
		*(protobuf_c_boolean *)member = json_bool(value);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		return read_enum(field, value, member, err);
	case PROTOBUF_C_TYPE_BYTES:
		status = read_bytes(reading, field, value, member);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		if (json_kind(value) != JSON_MAP)
			return bad_value(field, err);
		status = read_message(value, field->descriptor, reading->arena, member, err);
		break;
	default:
		assert(false && "a type that our .proto files do not use");
	}
	return status < 0 ? -1 : 1;
}

static int read_list(const struct reading *reading, const ProtobufCFieldDescriptor *field,
                     const struct json *list)
{
	const size_t size = proto_json_size(field);
	size_t *count = (size_t *)(void *)(reading->message + field->quantifier_offset);
	char *values;

	if (json_kind(list) != JSON_LIST)
		return bad_value(field, reading->err);
	values = arena_array(reading->arena, json_length(list), size);
	if (!values)
		return arena_error(reading->arena, reading->err);
	memcpy(reading->message + field->offset, &values, sizeof(values));
	for (size_t i = 0; i < json_length(list); i++) {
		const int status =
			read_value(reading, field, json_at(list, i), values + *count * size);

		if (status < 0)
			return -1;
		*count += (size_t)status;
	}
	return 0;
}

static int read_member(void *context, struct str key, const struct json *value)
{
	struct reading *reading = context;
	const ProtobufCFieldDescriptor *field = proto_json_find(reading->descriptor, key);
	uint64_t bit;
	int status;

	if (!field)
		return 0;
	bit = UINT64_C(1) << (field - reading->descriptor->fields);
	if (reading->seen & bit)
		return error_set(reading->err, ERROR_INVALID, "duplicate field %s", field->name);
	reading->seen |= bit;
	if (json_kind(value) == JSON_NULL_VALUE)
		return 0;
	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return read_list(reading, field, value);
	status = read_value(reading, field, value, reading->message + field->offset);
	if (status > 0 && field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		*(uint32_t *)(void *)(reading->message + field->quantifier_offset) = field->id;
	return status < 0 ? -1 : 0;
}

static int read_message(const struct json *map, const ProtobufCMessageDescriptor *descriptor,
                        struct arena *arena, ProtobufCMessage **out, struct error *err)
{
	struct reading reading = { .descriptor = descriptor, .arena = arena, .err = err };
	ProtobufCMessage *message = arena_alloc(arena, descriptor->sizeof_message);

	assert(descriptor->n_fields <= 64);
	if (!message)
		return arena_error(arena, err);
	protobuf_c_message_init(descriptor, message);
	reading.message = (char *)message;
	if (json_each(map, read_member, &reading) != 0)
		return -1;
	*out = message;
	return 0;
}

int proto_json_read(struct str text, const ProtobufCMessageDescriptor *descriptor,
                    struct arena *arena, ProtobufCMessage **out, struct error *err)
{
	const struct json *value;

	if (json_parse(text, arena, &value, err) < 0)
		return -1;
	if (json_kind(value) != JSON_MAP)
		return error_set(err, ERROR_INVALID, "syntax error: expected a JSON object");
	return read_message(value, descriptor, arena, out, err);
}
