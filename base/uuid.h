/*
 * UUIDs: 16 bytes, and their text.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define UUID_TEXT_LENGTH 36

struct uuid {
	uint8_t bytes[16];
};

/* A random one (version 4). Fast: each thread fetches random bytes for many at once. */
struct uuid uuid_random(void);

/* Reads 8-4-4-4-12 hex digits, 32 hex digits, {...} and urn:uuid:..., capitals or not. */
bool uuid_parse(struct str text, struct uuid *out);

/* 36 characters and a NUL. */
void uuid_format(const struct uuid *uuid, char text[static UUID_TEXT_LENGTH + 1]);

/*
 * Exactly 2 * length hex digits into length bytes, in the order written. False for
 * anything else.
 */
bool hex_decode(struct str text, uint8_t *to, size_t length);

/* 2 * length lower-case digits and a NUL. */
void hex_encode(const uint8_t *bytes, size_t length, char *text);
