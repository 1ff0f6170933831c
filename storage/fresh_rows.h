/*
 * Profiles that are in no block: a row each, and their samples.
 *
 * Errors   as storage/database.h; ERROR_TOO_LARGE when a profile does not fit.
 * Threads  the writer thread only, within its transaction.
 * Source   docs/formats/store.md, "A window file"
 */
#pragma once

#include "storage/block_builder.h"
#include "storage/database.h"

struct fresh_rows;

/* *next_sample is the id of the next samples, and counts up. */
int fresh_rows_open(struct database *database, int64_t *next_sample, struct fresh_rows **out,
                    struct error *err);
void fresh_rows_close(struct fresh_rows *rows);

/* `totals` of the profile are one a series of the samples, whose rows come in any order. */
int fresh_rows_put(struct fresh_rows *rows, const struct block_profile *profile,
                   const struct sample_columns *samples, struct error *err);
