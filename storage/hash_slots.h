/*
 * From a hash to ids, looked up by many while one adds.
 *
 * Shape    open addressing with linear probes; a slot holds an id and its hash of 32
 *          bits. Whoever looks up compares the things themselves: ids of equal hashes
 *          come one after the other. A table that is three quarters full is replaced by
 *          one of twice the size; the old one is kept until the end, since a reader may
 *          be in it.
 * Units    ids below HASH_SLOTS_NONE; some 12 bytes an entry.
 * Threads  one adds; others find what was added before they began to look.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define HASH_SLOTS_NONE UINT32_MAX

struct hash_slots_table;

/* Zeroed, it is empty. */
struct hash_slots {
	uint32_t count; /* of the thread that adds */
	struct hash_slots_table *_Atomic table;
};

void hash_slots_fini(struct hash_slots *slots);

/* Whoever adds has made sure that the thing is not there, and has written it. */
void hash_slots_add(struct hash_slots *slots, uint32_t hash, uint32_t id);

/* A look-up under way. */
struct hash_probe {
	const struct hash_slots_table *table;
	uint32_t hash;
	uint32_t at;
};

struct hash_probe hash_slots_probe(const struct hash_slots *slots, uint32_t hash);

/* The next id that was added with the hash, or HASH_SLOTS_NONE. */
uint32_t hash_probe_next(struct hash_probe *probe);

/* Memory of all tables; for the thread that adds, or when nobody does. */
size_t hash_slots_bytes(const struct hash_slots *slots);
