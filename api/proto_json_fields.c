#include "api/proto_json_fields.h"

#include <assert.h>

size_t proto_json_name(const char *name, char camel[static PROTO_JSON_NAME_MAX])
{
	size_t length = 0;
	bool capital = false;

	for (; *name != '\0'; name++) {
		if (*name == '_') {
			capital = true;
			continue;
		}
		assert(length < PROTO_JSON_NAME_MAX);
		if (capital && *name >= 'a' && *name <= 'z')
			camel[length++] = (char)(*name - 'a' + 'A');
		else
			camel[length++] = *name;
		capital = false;
	}
	return length;
}

const ProtobufCFieldDescriptor *proto_json_find(const ProtobufCMessageDescriptor *descriptor,
                                                struct str name)
{
	for (unsigned i = 0; i < descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *field = &descriptor->fields[i];
		char camel[PROTO_JSON_NAME_MAX];

		if (str_equals(name, field->name) ||
		    str_equal(name, str_make(camel, proto_json_name(field->name, camel))))
			return field;
	}
	return NULL;
}

size_t proto_json_size(const ProtobufCFieldDescriptor *field)
{
	switch (field->type) {
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_DOUBLE:
		return 8;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_ENUM:
		return 4;
	case PROTOBUF_C_TYPE_BOOL:
		return sizeof(protobuf_c_boolean);
	case PROTOBUF_C_TYPE_BYTES:
		return sizeof(ProtobufCBinaryData);
	case PROTOBUF_C_TYPE_MESSAGE:
		return sizeof(void *);
	default:
		assert(false && "a type that our .proto files do not use");
		return 0;
	}
}

bool proto_json_is_base64(const ProtobufCMessageDescriptor *descriptor,
                          const ProtobufCFieldDescriptor *field)
{
	static const struct {
		const char *message;
		const char *field;
	} fields[] = {
		{ "querier.v1.SelectMergeStacktracesResponse", "tree" },
		{ "querier.v1.SelectMergeSpanProfileResponse", "tree" },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (strcmp(descriptor->name, fields[i].message) == 0 &&
		    strcmp(field->name, fields[i].field) == 0)
			return true;
	return false;
}
