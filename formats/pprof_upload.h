/*
 * A pprof on /ingest: the bare body, or the part `profile` of a form.
 *
 * Shape    a format decoder (formats/format.h). Repairs what older clients got wrong,
 *          told by spyName: file names in front of function names (pyspy, rbspy), dashes
 *          in sample types and missing function ids (dotnetspy), times in 1970.
 * Errors   those of multipart.h, sample_type_config.h, pprof_bytes.h and pprof_read();
 *          ERROR_INVALID for a client that still sends its previous profile.
 * Threads  none.
 * Source   ingest specification, 3.7
 */
#pragma once

#include "formats/format.h"

int pprof_upload_decode(const struct format_input *input, struct format_output *out,
                        struct error *err);
