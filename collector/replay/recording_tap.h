/*
 * A source that hands on what another one has, and writes it down.
 *
 * Shape    whatever comes from the inner source is appended to a recording before it is
 *          handed on, and so is what processes answer when they are looked into. Counters
 *          are not: a recording has what events tell.
 * Errors   of opening: those of the file. When writing fails later, that is its trouble,
 *          once, and the rest is handed on without being written.
 * Threads  none: the collector's.
 * Source   docs/formats/recording.md
 */
#pragma once

#include "collector/event_source.h"

/*
 * Takes the inner source, also when it fails; close() closes it and the file.
 */
int recording_tap_open(const char *path, const struct event_source *inner, struct event_source *out,
                       struct error *err);
