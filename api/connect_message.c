#include "api/connect_message.h"

#include "api/proto_bytes.h"
#include "api/proto_json.h"

static int read_proto(struct str bytes, const ProtobufCMessageDescriptor *descriptor,
                      struct arena *arena, ProtobufCMessage **out, struct error *err)
{
	ProtobufCAllocator allocator = proto_allocator(arena);
	ProtobufCMessage *message = protobuf_c_message_unpack(descriptor, &allocator, bytes.length,
	                                                      (const uint8_t *)bytes.data);

	if (!message && arena_overflowed(arena))
		return arena_error(arena, err);
	if (!message)
		return error_set(err, ERROR_INVALID, "malformed protobuf");
	*out = message;
	return 0;
}

int connect_read(const struct connect_call *call, const ProtobufCMessageDescriptor *descriptor,
                 struct arena *arena, ProtobufCMessage **out, struct error *err)
{
	const int status = call->codec == CONNECT_JSON
	                           ? proto_json_read(call->message, descriptor, arena, out, err)
	                           : read_proto(call->message, descriptor, arena, out, err);

	if (status < 0 && err->code == ERROR_INVALID)
		return error_context(err, "unmarshal message");
	return status;
}

static void write_proto(const ProtobufCMessage *message, struct strbuf *out)
{
	const size_t size = protobuf_c_message_get_packed_size(message);
	char *room = strbuf_reserve(out, size);

	if (room)
		strbuf_advance(out, protobuf_c_message_pack(message, (uint8_t *)room));
}

void connect_write(const struct connect_call *call, const ProtobufCMessage *message,
                   struct http_response *response)
{
	if (call->codec == CONNECT_JSON)
		proto_json_write(message, &response->body);
	else
		write_proto(message, &response->body);
	connect_reply(call, response);
}
