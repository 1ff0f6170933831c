/*
 * The events of a recording, as if they happened now.
 *
 * Shape    at once: everything that there is, then the end. Paced: each input at its time
 *          from the begin of the replay; behind the last one all processes end, and after a
 *          pause it begins anew, with other processes of the same ids.
 * Errors   of opening: ERROR_CORRUPT, ERROR_IO. A recording that turns out to be broken
 *          later ends the source.
 * Threads  none: the collector's.
 * Source   docs/formats/recording.md
 */
#pragma once

#include "collector/event_source.h"

enum recorded_pace {
	RECORDED_AT_ONCE,
	RECORDED_PACED,
};

int recorded_source_open(const char *path, enum recorded_pace pace, struct event_source *out,
                         struct error *err);

/* The same of bytes that outlive the source. */
int recorded_source_open_bytes(struct str bytes, enum recorded_pace pace, struct event_source *out,
                               struct error *err);
