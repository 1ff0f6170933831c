/*
 * Protobuf's JSON mapping, both ways, for any message that protobuf-c describes.
 *
 * Shape    reading takes lowerCamel and original names, numbers as numbers or texts, and
 *          skips what it does not know; writing is compact, in the order of field
 *          numbers, without fields that have their default. `bytes` fields are texts but
 *          for the few of a table.
 * Errors   proto_json_read(): ERROR_INVALID with the field's name; arena_error().
 * Threads  none.
 * Source   read specification, 2.8
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

/* `text` must be one JSON object. The message and all in it live in the arena. */
int proto_json_read(struct str text, const ProtobufCMessageDescriptor *descriptor,
                    struct arena *arena, ProtobufCMessage **out, struct error *err);

void proto_json_write(const ProtobufCMessage *message, struct strbuf *out);
