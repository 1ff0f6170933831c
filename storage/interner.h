/*
 * From a profile's stacks to the ids of a window: finds what is there, adds what is new.
 *
 * Shape    over a symbol table: contents by content_index, nodes of the stack tree by
 *          (parent, location), and whole stacks by the hash of a row. The last is a cache
 *          of bounded size: what is not in it walks the tree.
 * Errors   ERROR_TOO_LARGE when the window has no ids left.
 * Threads  none: the writer's.
 * Source   docs/architecture.md, "The store"
 */
#pragma once

#include "base/error.h"
#include "profile/series_profile.h"
#include "storage/profile_hashes.h"
#include "storage/symbol_table.h"

struct interner;

/*
 * Over `table`, whose entries are indexed at once; `key` is the store's. ERROR_CORRUPT
 * when one is there twice.
 */
int interner_new(struct symbol_table *table, uint64_t key, struct interner **out,
                 struct error *err);
void interner_free(struct interner *interner);
DEFINE_FREEP(interner)

/* Gives each row's stack id. New symbols are added to the table, not published. */
int interner_add(struct interner *interner, const struct series_profile *profile,
                 const struct profile_hashes *hashes, uint32_t *out_stacks, struct error *err);

/* Memory of the maps; the table is not counted. */
size_t interner_bytes(const struct interner *interner);
