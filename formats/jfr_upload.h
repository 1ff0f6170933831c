/*
 * JFR on /ingest: recordings of the JDK, of async-profiler and of the Java SDK.
 *
 * Shape    the body is a recording, or a form with the part "jfr" and perhaps the part
 *          "labels"; each may be gzip. A pair for each kind of event (jfr_profiles.h).
 * Units    a recording has at most ingest_limits.max_recording_bytes, labels
 *          JFR_LABELS_BYTES_MAX, when they are decompressed.
 * Errors   those of the files it is made of; ERROR_TOO_LARGE past a limit.
 * Threads  none.
 * Source   ingest specification, 3.8
 */
#pragma once

#include "formats/format.h"

#define JFR_LABELS_BYTES_MAX ((size_t)16 << 20) /* a guess: a recording's have some kB */

int jfr_upload_decode(const struct format_input *input, struct format_output *out,
                      struct error *err);
