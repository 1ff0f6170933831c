/*
 * Between our views and protobuf-c: texts, and memory from an arena.
 *
 * Shape    nothing is copied: what a view shows must live as long as the message.
 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/arena.h"
#include "base/str.h"

/*
 * The library's type is not const, though a message that is only packed is not written
 * to.
 */
static inline ProtobufCBinaryData proto_bytes(struct str text)
{
	const union {
		const char *ours;
		uint8_t *theirs;
	} data = { .ours = text.data };

	return (ProtobufCBinaryData){ .len = text.length, .data = data.theirs };
}

/* Never without data: an absent text is an empty one. */
static inline struct str proto_str(ProtobufCBinaryData bytes)
{
	return bytes.len ? str_make(bytes.data, bytes.len) : STR("");
}

/*
 * Allocates from the arena; freeing does nothing. Lives as long as the caller's copy of
 * it.
 */
ProtobufCAllocator proto_allocator(struct arena *arena);
