/*
 * What both halves of the JSON mapping know of fields: names, sizes, and which bytes are
 * bytes.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdbool.h>

#include "base/str.h"

#define PROTO_JSON_NAME_MAX 64 /* bytes of a field's name in our .proto files */

/*
 * The lowerCamel form of a field's name: underscores go and the next letter becomes a
 * capital; other letters stay (profile_typeID, ID and leftTicks come out right). Returns
 * its length.
 */
size_t proto_json_name(const char *name, char camel[static PROTO_JSON_NAME_MAX]);

/* The field of that JSON or original name, or NULL. */
const ProtobufCFieldDescriptor *proto_json_find(const ProtobufCMessageDescriptor *descriptor,
                                                struct str name);

/* Bytes of one value in a message struct or a list. */
size_t proto_json_size(const ProtobufCFieldDescriptor *field);

/* Whether a `bytes` field is base64 in JSON; all others are texts. */
bool proto_json_is_base64(const ProtobufCMessageDescriptor *descriptor,
                          const ProtobufCFieldDescriptor *field);
