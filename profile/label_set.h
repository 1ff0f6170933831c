/*
 * The identity of a series: a set of name=value labels.
 *
 * Shape    labels sorted by name (byte order), each name once, no empty value: what
 *          label_set_sort() and the pipeline have made sure of. The array and the bytes
 *          belong to somebody else (an arena, a window).
 * Units    lengths are bytes.
 * Threads  none; read-only sets may be shared.
 * Source   read specification, 3.4.4
 */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/strbuf.h"

struct label {
	struct str name;
	struct str value;
};

struct label_set {
	struct label *labels;
	size_t count;
};

/* Sorts by name, stable: of two labels with one name the earlier one stays first. */
void label_set_sort(struct label_set *set);

/* The value of `name` in a sorted set, or NULL. */
const struct str *label_set_find(const struct label_set *set, struct str name);

/* The same; empty where there is none. */
static inline struct str label_set_value(const struct label_set *set, struct str name)
{
	const struct str *value = label_set_find(set, name);

	return value ? *value : STR("");
}

/* Pairwise by name, then value; a prefix comes first. */
int label_set_compare(const struct label_set *a, const struct label_set *b);

/* Equal sets have equal fingerprints; keyed, so that nobody can prepare equal ones. */
struct hash128 label_set_fingerprint(const struct label_set *set, uint64_t key);

/* Deep copy. False when the arena is full. */
bool label_set_copy(const struct label_set *set, struct arena *arena, struct label_set *out);

/* Appends {a="1", b="x"}: values quoted as Go does (%q). */
void label_set_format(const struct label_set *set, struct strbuf *out);
