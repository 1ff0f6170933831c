/*
 * From stacks of names and the query of /ingest to one profile with labels: what all
 * formats without a profile type of their own share (folded text; later trie, tree,
 * speedscope).
 *
 * Shape    the last dotted part of the application's name decides metric, sample type and
 *          unit, and is taken off; time-like metrics are scaled to nanoseconds by the
 *          sample rate.
 * Errors   ERROR_INVALID with the reference's words: an unknown suffix, a frame that is
 *          not UTF-8; those of profile_builder_finish().
 * Threads  none.
 * Source   ingest specification, 3.6
 */
#pragma once

#include "formats/format.h"
#include "formats/profile_builder.h"

/*
 * Puts the profile of `builder` into *out: none when it is empty, or when a label
 * profile_id says that it is an old client's exemplar. `payload` is the body, as in
 * struct ingest_profile.
 */
int text_profile_make(const struct profile_builder *builder, const struct format_input *input,
                      struct str payload, struct format_output *out, struct error *err);
