/*
 * speedscope's file format: JSON with one table of frames and profiles of samples or of
 * events.
 *
 * Shape    a format decoder (formats/format.h), in a pass over the text that copies
 *          nothing of it. Profiles of equal name, type, unit and start are one; each is a
 *          series, told apart by the label profile_name. Several are of the type that
 *          their unit says, one alone of the type that the application's name says.
 *          Weights keep their fractions until they are nanoseconds. Time in which no
 *          frame is open is nobody's; a sample without frames counts as one.
 * Units    at most SPEEDSCOPE_PROFILES_MAX profiles, SPEEDSCOPE_FRAMES_MAX frames in all
 *          stacks of a profile.
 * Errors   ERROR_INVALID for what is not the format, with what and where; ERROR_TOO_LARGE
 *          past a limit; those of base/json_reader.h and of formats/text_profile.h.
 * Threads  none.
 * Source   ingest specification, 3.9; https://www.speedscope.app/file-format-schema.json
 */
#pragma once

#include "formats/format.h"

#define SPEEDSCOPE_SCHEMA       "https://www.speedscope.app/file-format-schema.json"
#define SPEEDSCOPE_PROFILES_MAX 10000              /* a guess: py-spy has one a thread */
#define SPEEDSCOPE_FRAMES_MAX   ((size_t)64 << 20) /* a guess: a second of work */

int speedscope_decode(const struct format_input *input, struct format_output *out,
                      struct error *err);
