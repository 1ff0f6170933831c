/*
 * The labels beside a recording: what the numbers in its events stand for.
 *
 * Shape    strings by number, and contexts by number, each a list of pairs of strings'
 *          numbers (LabelsSnapshot). Read once, decoded where an event asks. Of two
 *          entries with one number the last one counts. Views into the bytes.
 * Errors   ERROR_INVALID for malformed protobuf and fields of another wire type than
 *          theirs, arena_error().
 * Threads  none.
 * Source   ingest specification, 3.8 and 8.9
 *
 *	message LabelsSnapshot { map<int64, Context> contexts = 1; map<int64, string> strings = 2; }
 *	message Context { map<int64, int64> labels = 1; }
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/wire.h"
#include "profile/number_map.h"

/* A map of the message: what stands for a number. */
struct jfr_label_map {
	struct number_map ids;
	struct str *items; /* by id */
	size_t capacity;
};

struct jfr_labels {
	struct jfr_label_map contexts; /* encoded */
	struct jfr_label_map strings;
};

/* `bytes` is empty when there is no such part. */
int jfr_labels_read(struct str bytes, struct arena *arena, struct jfr_labels *out,
                    struct error *err);

/* The place among strings.items of the string with a number, or NUMBER_MAP_NONE. */
uint32_t jfr_labels_string(const struct jfr_labels *labels, uint64_t number);

/* The pairs of the context with a number; a reader at its end when there is none. */
struct wire_reader jfr_labels_context(const struct jfr_labels *labels, uint64_t number);

/* Takes the next pair off a context: false behind the last one. */
bool jfr_labels_next(struct wire_reader *pairs, uint64_t *out_key, uint64_t *out_value);
