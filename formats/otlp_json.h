/*
 * An OTLP export request as JSON, written as the protobuf message that it stands for, so
 * that both are read in one place.
 *
 * Shape    names in lowerCamelCase or as in the .proto files, those of older layouts too;
 *          a number may be a string, an id hex or base64; unknown members are skipped,
 *          null is absent. The layout follows from the names that are there.
 * Errors   ERROR_INVALID for what is no JSON, nested deeper than base/json.h reads, and for
 *          members of another kind than theirs; arena_error().
 * Threads  none.
 * Source   ingest specification, 5.1, 5.3 and 11.3
 */
#pragma once

#include "base/arena.h"
#include "formats/otlp_layout.h"

/* *out_message is in the arena, laid out as *out_layout says. */
int otlp_json_read(struct str text, struct arena *arena, struct str *out_message,
                   const struct otlp_layout **out_layout, struct error *err);
