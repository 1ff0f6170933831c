/*
 * Folded stacks, "root;...;leaf count" a line, and plain lines, one stack each.
 *
 * Shape    format decoders (formats/format.h). Blanks belong to frames: only the last one
 *          separates the count. Lines without a blank are skipped (groups); so are empty
 *          ones (lines). A line may be as long as the body.
 * Errors   ERROR_INVALID for a count that is no number, and for stacks whose line breaks
 *          curl -d took out; those of text_profile_make().
 * Threads  none.
 * Source   ingest specification, 3.6 and 11.1
 */
#pragma once

#include "formats/format.h"

int folded_decode_groups(const struct format_input *input, struct format_output *out,
                         struct error *err);
int folded_decode_lines(const struct format_input *input, struct format_output *out,
                        struct error *err);
