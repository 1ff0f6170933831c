/*
 * Samples of a recording as profiles with labels, for the pipeline of profile/ingest.h.
 *
 * Shape    a pair for each profile that has a sample, in the order of enum jfr_profile.
 *          They share strings, functions, locations and stacks, which the pipeline only
 *          reads or changes alike for all; mappings, samples and values are their own.
 * Errors   arena_error(), those of ingest_params_labels().
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "formats/format.h"
#include "formats/jfr_samples.h"
#include "formats/jfr_stacks.h"

/* `recording` is what jfr_events says; `sent` the body, as in struct ingest_profile. */
int jfr_profiles_make(const struct jfr_stacks *stacks, const struct jfr_samples *samples,
                      struct str recording, const struct format_input *input, struct str sent,
                      struct format_output *out, struct error *err);
