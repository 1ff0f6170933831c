/*
 * Messages of a Connect call: decoded from and encoded in the call's codec.
 *
 * Shape    reading allocates from the arena; writing goes straight into the answer's
 *          body.
 * Errors   ERROR_INVALID "unmarshal message: ..."; arena_error().
 * Source   read specification, 2.7
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "api/connect.h"

int connect_read(const struct connect_call *call, const ProtobufCMessageDescriptor *descriptor,
                 struct arena *arena, ProtobufCMessage **out, struct error *err);

/* Encodes the message as the answer and completes it. */
void connect_write(const struct connect_call *call, const ProtobufCMessage *message,
                   struct http_response *response);
