/*
 * The tables of an OTLP request (or of one profile, in the oldest layout): where their
 * entries stand.
 *
 * Shape    an entry is its place in the message, four bytes, and is read each time it is
 *          asked for: a request has one dictionary for many profiles, and each profile
 *          takes what it uses. Tables may be spread over the message in any order.
 * Errors   ERROR_INVALID for malformed bytes and for an index outside of its table, which
 *          is named; ERROR_TOO_LARGE for a message past OTLP_MESSAGE_MAX, and when entries
 *          are asked for more often than formats/otlp_work.h allows; arena_error().
 * Threads  none.
 * Source   ingest specification, 5.2 and 5.3
 */
#pragma once

#include "base/arena.h"
#include "formats/otlp_layout.h"
#include "formats/otlp_work.h"

#define OTLP_MESSAGE_MAX UINT32_MAX /* bytes, so that every place fits */

struct otlp_entries {
	uint32_t *places; /* in the message: formats/otlp_wire.h */
	uint32_t count;
	size_t bytes; /* of all entries */
};

struct otlp_dictionary {
	struct str message;     /* where places count from */
	struct otlp_work *work; /* what asking for entries is charged to */
	struct otlp_entries tables[OTLP_TABLE_COUNT];
};

/* Reads all messages that are field `number` of `message` as one dictionary. */
int otlp_dictionary_read(const struct otlp_layout *layout, struct str message, uint32_t number,
                         struct otlp_work *work, struct arena *arena, struct otlp_dictionary *out,
                         struct error *err);

/* Reads a Profile inside of `message` that has tables of its own. */
int otlp_dictionary_read_own(const struct otlp_layout *layout, struct str message,
                             struct str profile, struct otlp_work *work, struct arena *arena,
                             struct otlp_dictionary *out, struct error *err);

/* The bytes of an entry, for reading them once. */
int otlp_dictionary_entry(const struct otlp_dictionary *dictionary, enum otlp_table table,
                          uint64_t index, struct str *out, struct error *err);

/* A string: the bytes of its entry. */
static inline int otlp_dictionary_string(const struct otlp_dictionary *dictionary, uint64_t index,
                                         struct str *out, struct error *err)
{
	return otlp_dictionary_entry(dictionary, OTLP_STRINGS, index, out, err);
}
