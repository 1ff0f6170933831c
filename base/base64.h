/*
 * base64: the standard and the URL alphabet, padding optional, as protobuf's JSON allows.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/strbuf.h"

/* ERROR_INVALID at a character of neither alphabet or an impossible length. */
int base64_decode(struct str text, struct arena *arena, struct str *out, struct error *err);

/* Appends the standard form with padding. */
void base64_encode(struct str bytes, struct strbuf *out);
