/*
 * What a recording holds of processes: their maps, files and memory, as they answered.
 *
 * Shape    answers are taken as they stand in the recording; a later answer to the same
 *          question replaces the earlier one. A view of a process finds what was taken up
 *          to then.
 * Units    bytes. All answers together take at most RECORDED_BYTES_MAX; what is over is not
 *          kept.
 * Errors   recorded_processes_take(): ERROR_CORRUPT for an answer that is none.
 * Threads  none.
 * Source   docs/formats/recording.md
 */
#pragma once

#include "base/cleanup.h"
#include "base/error.h"
#include "collector/identity/process_identity.h"
#include "collector/replay/recording.h"
#include "collector/unwind/process_view.h"

#define RECORDED_BYTES_MAX ((size_t)1 << 30)

struct recorded_processes;

struct recorded_processes *recorded_processes_new(void) __attribute__((returns_nonnull));
/* After the last view is closed. */
void recorded_processes_free(struct recorded_processes *processes);
DEFINE_FREEP(recorded_processes)

/* Whether a record of that kind is an answer. */
bool recorded_processes_answer(enum recording_kind kind);

int recorded_processes_take(struct recorded_processes *processes,
                            const struct recording_record *record, struct error *err);

/* ERROR_NOT_FOUND: nothing was recorded of it. */
int recorded_processes_view(struct recorded_processes *processes, uint32_t tgid,
                            struct process_view *out, struct error *err);

/* False: not recorded. */
bool recorded_processes_identity(const struct recorded_processes *processes, uint32_t tgid,
                                 struct process_identity *out);

/* A file in a record's bytes: its texts lie there. *out_rest is what follows them. */
int recorded_file_decode(struct str bytes, struct mapped_file *out, struct str *out_rest,
                         struct error *err);
