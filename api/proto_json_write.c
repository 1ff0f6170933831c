/*
 * Messages to JSON: the writing half of proto_json.h.
 */
#include <assert.h>

#include "api/proto_bytes.h"
#include "api/proto_json.h"
#include "api/proto_json_fields.h"
#include "base/base64.h"
#include "base/json.h"

static void write_message(const ProtobufCMessage *message, struct json_writer *writer);

static void write_key(const char *name, struct json_writer *writer)
{
	char camel[PROTO_JSON_NAME_MAX];

	json_key_str(writer, str_make(camel, proto_json_name(name, camel)));
}

static void write_enum(const ProtobufCFieldDescriptor *field, int value, struct json_writer *writer)
{
	const ProtobufCEnumValue *known =
		protobuf_c_enum_descriptor_get_value(field->descriptor, value);

	if (known)
		json_put_text(writer, str_of(known->name));
	else
		json_put_int(writer, value);
}

static void write_bytes(ProtobufCBinaryData bytes, bool is_base64, struct json_writer *writer)
{
	struct strbuf text;

	if (!is_base64) {
		json_put_text(writer, proto_str(bytes));
		return;
	}
	strbuf_init(&text, writer->out->limit);
	base64_encode(proto_str(bytes), &text);
	json_put_text(writer, strbuf_view(&text));
	strbuf_fini(&text);
}

/* One value at `member`: a list's element or a field by itself. */
static void write_value(const ProtobufCMessageDescriptor *descriptor,
                        const ProtobufCFieldDescriptor *field, const void *member,
                        struct json_writer *writer)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
		json_put_int_text(writer, *(const int64_t *)member);
		break;
	case PROTOBUF_C_TYPE_UINT64:
		json_put_uint_text(writer, *(const uint64_t *)member);
		break;
	case PROTOBUF_C_TYPE_INT32:
		json_put_int(writer, *(const int32_t *)member);
		break;
	case PROTOBUF_C_TYPE_UINT32:
		json_put_uint(writer, *(const uint32_t *)member);
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		json_put_double(writer, *(const double *)member);
		break;
	case PROTOBUF_C_TYPE_BOOL:
		json_put_bool(writer, *(const protobuf_c_boolean *)member != 0);
		break;
	case PROTOBUF_C_TYPE_ENUM:
		write_enum(field, *(const int *)member, writer);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		write_bytes(*(const ProtobufCBinaryData *)member,
		            proto_json_is_base64(descriptor, field), writer);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		write_message(*(ProtobufCMessage *const *)member, writer);
		break;
	default:
		assert(false && "a type that our .proto files do not use");
	}
}

/* Whether a field by itself differs from its default. */
static bool is_set(const ProtobufCFieldDescriptor *field, const void *message, const void *member)
{
	uint64_t bits = 0;

	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		return *(const uint32_t *)((const char *)message + field->quantifier_offset) ==
		       field->id;
	switch (field->type) {
	case PROTOBUF_C_TYPE_BYTES:
		return ((const ProtobufCBinaryData *)member)->len > 0;
	case PROTOBUF_C_TYPE_MESSAGE:
		return *(void *const *)member != NULL;
	default:
		memcpy(&bits, member, proto_json_size(field));
		return bits != 0;
	}
}

static void write_list(const ProtobufCMessageDescriptor *descriptor,
                       const ProtobufCFieldDescriptor *field, const void *message,
                       struct json_writer *writer)
{
	const char *base = message;
	const size_t count = *(const size_t *)(base + field->quantifier_offset);
	const char *values = *(const char *const *)(base + field->offset);
	const size_t size = proto_json_size(field);

	if (count == 0)
		return;
	write_key(field->name, writer);
	json_begin_list(writer);
	for (size_t i = 0; i < count; i++)
		write_value(descriptor, field, values + i * size, writer);
	json_end_list(writer);
}

static void write_message(const ProtobufCMessage *message, struct json_writer *writer)
{
	const ProtobufCMessageDescriptor *descriptor = message->descriptor;

	json_begin_map(writer);
	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		const char *member = (const char *)message + field->offset;

		if (field->label == PROTOBUF_C_LABEL_REPEATED) {
			write_list(descriptor, field, message, writer);
		} else if (is_set(field, message, member)) {
			write_key(field->name, writer);
			write_value(descriptor, field, member, writer);
		}
	}
	json_end_map(writer);
}

void proto_json_write(const ProtobufCMessage *message, struct strbuf *out)
{
	struct json_writer writer;

	json_writer_init(&writer, out);
	write_message(message, &writer);
}
