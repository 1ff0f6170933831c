/*
 * ETag and If-None-Match: an answer that the client has already is not sent again.
 *
 * Shape    the tag is a hash of the body, so that answers with one body have one tag,
 *          from any server.
 * Source   RFC 9110, 8.8.3 and 13.1.2
 */
#pragma once

#include "api/http_message.h"
#include "base/arena.h"
#include "base/hash.h"

/*
 * Adds the tag to a complete 200, or makes it a 304 without a body when the request names
 * it. The body is as it is before any encoding. Without memory nothing is added.
 */
void entity_tag_apply(const struct http_request *request, struct http_response *response,
                      struct arena *arena);

/* The tag of a body with this hash128(0, ...). {NULL, 0}: the arena is full. */
struct str entity_tag_of(struct hash128 hash, struct arena *arena);

/* The same with a tag that is known. True: it is a 304 now. */
bool entity_tag_answer(const struct http_request *request, struct http_response *response,
                       struct str tag);

/* Whether a value of If-None-Match names the tag: `*`, or a list that has it. */
bool entity_tag_matches(struct str header, struct str tag);
